"""Execution of a report's queries, each once."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from tooltrace.analysis import ask
from tooltrace.report import sections
from tooltrace.report.compare import Comparison
from tooltrace.report.sections import Section
from tooltrace.report.time_range import TimeRange
from tooltrace.store.base import Store, StoreBackend, open_store
from tooltrace.store.result import QueryResult

Told = Callable[[str], None]
"""Callback for progress, called with the name of the next query."""

_OPTIONS = ("since", "until", "tool")


@dataclass(frozen=True, slots=True)
class PartResult:
    """One section of the report with the result of its query."""

    part: Section
    given: dict[str, Any]
    """Parameters of the query."""
    result: QueryResult

    def of(self, tool: str) -> PartResult:
        """Return the rows of one tool, without the column ``tool``."""
        at = self.result.columns.index("tool")
        rows = [row for row in self.result.rows if row[at] == tool]
        rest = [place for place in range(len(self.result.columns)) if place != at]
        return replace(self, result=self.result.with_rows(rows).with_columns_at(rest))

    def shown(self) -> list[tuple[int, int | None, int | None]]:
        """Return the positions of the columns to show, each with those of the ends of its interval.

        Columns that are NULL throughout, and auxiliary counts and marks that are 0 throughout, are omitted.
        """
        names, part = self.result.columns, self.part
        ends = {end.end_of: at for at, end in enumerate(self.result.fields) if end.end_of}
        places = [names.index(name) for name in part.columns if name in names]
        return [
            (at, ends.get(("low", names[at])), ends.get(("high", names[at]))) for at in places if self._is_worth(at)
        ]

    def _is_worth(self, at: int) -> bool:
        if self.result.fields[at].unit in ("aside", "mark"):
            return any(row[at] for row in self.result.rows)
        return any(row[at] is not None for row in self.result.rows)

    @property
    def command(self) -> str:
        """The shell command that runs the same query."""
        words = ["tooltrace", "query", self.part.query]
        if self.part.by is not None:
            words += ["--by", ",".join(self.part.by) or "none"]
        for name, value in self.given.items():
            text = value.isoformat() + "Z" if isinstance(value, datetime) else str(value)
            words += [f"--{name}", text] if name in _OPTIONS else ["--param", f"{name}={text}"]
        return shlex.join(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All results of a report."""

    store: StoreBackend
    made_at: datetime
    """Time of creation, UTC."""
    scope: TimeRange | None = None
    compared: Comparison | None = None
    figures: PartResult | None = None
    gap: PartResult | None = None
    tools: PartResult | None = None
    sparks: PartResult | None = None
    overview: tuple[PartResult, ...] = ()
    of_tool: tuple[PartResult, ...] = ()
    comparison: PartResult | None = None

    @property
    def name(self) -> str:
        """Location of the store for a reader on another machine: without folder and password."""
        return self.store.location

    @property
    def sections(self) -> list[str]:
        """Tools that have a section, the most important first."""
        return [row["tool"] for row in self.tools.result.dicts()[: sections.MOST_TOOLS]] if self.tools else []

    def section(self, tool: str) -> Iterator[PartResult]:
        """Yield the results about ``tool``, without parts that are empty for it."""
        found = [answer.of(tool) for answer in self.of_tool]
        judged = any(n for answer in found if answer.part.query == "calibration" for n in answer.result.values("n"))
        for answer in found:
            if answer.result.rows and (judged or answer.part.query not in sections.NEED_JUDGEMENTS):
                yield answer


def build_report(store: Store, about: TimeRange | Comparison, told: Told = lambda _name: None) -> Report:
    """Build the report on ``store``. Raises StoreMissing, StoreLocked and the other errors of a query."""
    store, now = open_store(store), datetime.now(UTC)

    def put(part: Section, **more: Any) -> PartResult:
        told(part.query)
        given = {**about.given, **part.given, **more}
        return PartResult(part, given, ask(store, part.query, by=part.by, **given).detached())

    if isinstance(about, Comparison):
        return Report(store=store, made_at=now, compared=about, comparison=put(sections.COMPARED))
    before = {} if about.before is None else {"before": about.before}
    return Report(
        store=store,
        made_at=now,
        scope=about,
        figures=put(sections.FIGURES, **before),
        gap=put(sections.GAP, **before),
        tools=put(sections.TOOLS),
        sparks=put(sections.SPARKS),
        overview=tuple(put(part) for part in sections.OVERVIEW),
        of_tool=tuple(put(part) for part in sections.TOOL),
    )


def query_count(about: TimeRange | Comparison) -> int:
    """Return the number of queries that ``build_report`` executes."""
    return 1 if isinstance(about, Comparison) else 4 + len(sections.OVERVIEW) + len(sections.TOOL)
