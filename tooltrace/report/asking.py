"""The questions of a report, each put to the store once."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from tooltrace.address import Address, Place
from tooltrace.queries import Column, ask, find
from tooltrace.report import outline
from tooltrace.report.compare import Comparison
from tooltrace.report.outline import Part
from tooltrace.report.scope import Scope

Row = tuple[Any, ...]
Told = Callable[[str], None]
"""Told the name of the query that comes next."""

_OPTIONS = ("since", "until", "tool")


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows under columns, the group's first, and what was asked."""

    part: Part
    given: dict[str, Any]
    columns: tuple[Column, ...]
    rows: list[Row]

    @property
    def names(self) -> list[str]:
        """Names of all columns."""
        return [column.name for column in self.columns]

    def dicts(self) -> list[dict[str, Any]]:
        """The rows by name of column."""
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]

    def of(self, tool: str) -> Answer:
        """What it says of one tool, without the column that says so."""
        at = self.names.index("tool")
        columns = self.columns[:at] + self.columns[at + 1 :]
        return replace(self, columns=columns, rows=[row[:at] + row[at + 1 :] for row in self.rows if row[at] == tool])

    def shown(self) -> list[tuple[int, int | None, int | None]]:
        """Places of the columns to be shown, each with those of the ends of its interval. What is unknown throughout, and
        what stands beside the question and is 0 throughout, is left out."""
        names, part = self.names, self.part
        ends = {end.end_of: at for at, end in enumerate(self.columns) if end.end_of}
        places = [names.index(name) for name in part.columns if name in names]
        return [
            (at, ends.get(("low", names[at])), ends.get(("high", names[at]))) for at in places if self._is_worth(at)
        ]

    def _is_worth(self, at: int) -> bool:
        if self.columns[at].unit in ("aside", "mark"):
            return any(row[at] for row in self.rows)
        return any(row[at] is not None for row in self.rows)

    @property
    def command(self) -> str:
        """The same question for a shell."""
        words = ["tooltrace", "query", self.part.query]
        if self.part.by is not None:
            words += ["--by", ",".join(self.part.by) or "none"]
        for name, value in self.given.items():
            text = value.isoformat() + "Z" if isinstance(value, datetime) else str(value)
            words += [f"--{name}", text] if name in _OPTIONS else ["--param", f"{name}={text}"]
        return shlex.join(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All answers of a report."""

    store: Place
    made_at: datetime
    """UTC."""
    scope: Scope | None = None
    compared: Comparison | None = None
    figures: Answer | None = None
    gap: Answer | None = None
    tools: Answer | None = None
    sparks: Answer | None = None
    overview: tuple[Answer, ...] = ()
    of_tool: tuple[Answer, ...] = ()
    comparison: Answer | None = None

    @property
    def name(self) -> str:
        """The store's, for a reader who has another machine: no folder, no password."""
        return str(self.store) if isinstance(self.store, Address) else self.store.name

    @property
    def sections(self) -> list[str]:
        """Tools that have a section, the one to look at first before the others."""
        return [row["tool"] for row in self.tools.dicts()[: outline.MOST_TOOLS]] if self.tools else []

    def section(self, tool: str) -> Iterator[Answer]:
        """What is known of ``tool``; parts that have nothing to say of it are left out."""
        found = [answer.of(tool) for answer in self.of_tool]
        judged = any(row["n"] for answer in found if answer.part.query == "calibration" for row in answer.dicts())
        for answer in found:
            if answer.rows and (judged or answer.part.query not in outline.NEED_JUDGEMENTS):
                yield answer


def ask_all(store: Place, about: Scope | Comparison, told: Told = lambda _name: None) -> Report:
    """The report on ``store``. Raises StoreMissing, StoreLocked and the other errors of a question."""
    now = datetime.now(UTC)

    def put(part: Part, **more: Any) -> Answer:
        told(part.query)
        return _answer(store, part, {**about.given, **part.given, **more})

    if isinstance(about, Comparison):
        return Report(store=store, made_at=now, compared=about, comparison=put(outline.COMPARED))
    before = {} if about.before is None else {"before": about.before}
    return Report(
        store=store,
        made_at=now,
        scope=about,
        figures=put(outline.FIGURES, **before),
        gap=put(outline.GAP, **before),
        tools=put(outline.TOOLS),
        sparks=put(outline.SPARKS),
        overview=tuple(put(part) for part in outline.OVERVIEW),
        of_tool=tuple(put(part) for part in outline.TOOL),
    )


def asked_count(about: Scope | Comparison) -> int:
    """How many questions ``ask_all`` will put."""
    return 1 if isinstance(about, Comparison) else 4 + len(outline.OVERVIEW) + len(outline.TOOL)


def _answer(store: Place, part: Part, given: dict[str, Any]) -> Answer:
    query = find(part.query)
    groups = tuple(Column(name=name, unit="text", meaning="") for name in query.groups(part.by))
    rows = ask(store, part.query, by=part.by, **given).fetchall()
    return Answer(part, given, (*groups, *query.own_columns(part.by)), rows)
