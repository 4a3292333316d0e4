"""Execution of a report's queries, each once."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from tooltrace.analysis import find
from tooltrace.analysis.sides import Comparison
from tooltrace.diagnosis.diagnose import diagnose_in, within
from tooltrace.diagnosis.summary import Summary, summarize
from tooltrace.report import sections
from tooltrace.report.sections import Section
from tooltrace.report.time_range import TimeRange
from tooltrace.store.base import QuerySession, Store, StoreBackend, open_store
from tooltrace.store.files.prices import read_prices
from tooltrace.store.result import QueryResult, with_columns_at, with_rows

OnQuery = Callable[[str], None]
"""Callback for progress, called with the name of the next query."""

THREADS = 1
"""Threads of a query: one needs less memory and CPU time than several."""
MEMORY_MIB = 160
"""Memory of the queries, before DuckDB writes to temporary files."""

_OPTIONS = ("since", "until", "tool")


def query_command(name: str, by: Sequence[str] | None, params: Mapping[str, Any]) -> str:
    """Return the shell command that runs the query ``name``."""
    words = ["tooltrace", "query", name]
    if by is not None:
        words += ["--by", ",".join(by) or "none"]
    for key, value in params.items():
        text = value.isoformat() + "Z" if isinstance(value, datetime) else str(value)
        words += [f"--{key}", text] if key in _OPTIONS else ["--param", f"{key}={text}"]
    return shlex.join(words)


@dataclass(frozen=True, slots=True)
class SectionResult:
    """One section of the report with the result of its query."""

    part: Section
    params: dict[str, Any]
    """Parameters of the query."""
    result: QueryResult

    def of(self, tool: str) -> SectionResult:
        """Return the rows of one tool, without the column ``tool``."""
        at = self.result.columns.index("tool")
        rows = [row for row in self.result.rows if row[at] == tool]
        rest = [index for index in range(len(self.result.columns)) if index != at]
        return replace(self, result=with_columns_at(with_rows(self.result, rows), rest))

    def shown(self) -> list[tuple[int, int | None, int | None]]:
        """Return the positions of the columns to show, each with those of the ends of its interval.

        Columns that are NULL throughout, and auxiliary counts and marks that are 0 throughout, are omitted.
        """
        names = self.result.columns
        ends = {end.end_of: at for at, end in enumerate(self.result.fields) if end.end_of}
        indexes = [names.index(name) for name in self.part.columns if name in names]
        return [
            (at, ends.get(("low", names[at])), ends.get(("high", names[at]))) for at in indexes if self._has_values(at)
        ]

    def _has_values(self, at: int) -> bool:
        if self.result.fields[at].unit in ("aside", "mark"):
            return any(row[at] for row in self.result.rows)
        return any(row[at] is not None for row in self.result.rows)

    @property
    def command(self) -> str:
        """The shell command that runs the same query."""
        return query_command(self.part.query, self.part.by, self.params)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All results of a report."""

    store: StoreBackend
    made_at: datetime
    """Time of creation, UTC."""
    scope: TimeRange[datetime] | None = None
    compared: Comparison | None = None
    figures: SectionResult | None = None
    gap: SectionResult | None = None
    tools: SectionResult | None = None
    sparks: SectionResult | None = None
    overview: tuple[SectionResult, ...] = ()
    of_tool: tuple[SectionResult, ...] = ()
    comparison: SectionResult | None = None
    summary: Summary | None = None
    """The findings of the time range; None for a comparison."""

    @property
    def name(self) -> str:
        """Location of the store for a reader on another machine: without folder and password."""
        return self.store.location

    @property
    def notes(self) -> list[str]:
        """The notes of the results on removed content, each once."""
        parts = (self.figures, self.gap, self.tools, self.sparks, *self.overview, *self.of_tool, self.comparison)
        return sorted({part.result.note for part in parts if part is not None and part.result.note})

    @property
    def sections(self) -> list[str]:
        """Tools that have a section, the most important first."""
        return [row["tool"] for row in self.tools.result.dicts()[: sections.MAX_TOOLS]] if self.tools else []

    @property
    def failing(self) -> frozenset[str]:
        """Tools with a failed call in the time range."""
        return (
            frozenset(row["tool"] for row in self.tools.result.dicts() if row["failed_calls"])
            if self.tools
            else frozenset()
        )

    @property
    def audit(self) -> SectionResult | None:
        """The audit of all tools."""
        return next((section for section in self.of_tool if section.part.query == sections.AUDIT), None)

    def section(self, tool: str) -> Iterator[SectionResult]:
        """Yield the results about ``tool``, without parts that are empty for it."""
        found = [section.of(tool) for section in self.of_tool]
        labelled = any(
            n for section in found if section.part.query == "calibration" for n in section.result.values("n")
        )
        for section in found:
            if section.result.rows and (labelled or section.part.query not in sections.NEED_LABELS):
                yield section


def build_report(
    store: Store, about: TimeRange[datetime] | Comparison, on_query: OnQuery = lambda _name: None
) -> Report:
    """Build the report on ``store``. Raises StoreMissing, StoreLocked and the other errors of a query."""
    store = open_store(store)
    with store.session(threads=THREADS, memory_mib=MEMORY_MIB) as session:
        return _build(store, session, about, on_query)


def _build(
    store: StoreBackend, session: QuerySession, about: TimeRange[datetime] | Comparison, on_query: OnQuery
) -> Report:
    now = datetime.now(UTC)

    def run(part: Section, **more: Any) -> SectionResult:
        on_query(part.query)
        params = {**about.params, **part.params, **more}
        if part.query == "timeline" and isinstance(about, TimeRange) and (length := about.length) is not None:
            params["span_s"] = max(round(length.total_seconds()), 1)  # a chart shows the complete window
        result = session.query(find(part.query).statement(part.by, only=part.only, **params))
        # Detached: the report is written after the session is closed.
        return SectionResult(part, params, result)

    if isinstance(about, Comparison):
        return Report(store=store, made_at=now, compared=about, comparison=run(sections.COMPARED))
    before = {} if about.before is None else {"before": about.before}
    tools = run(sections.TOOLS)
    on_query("findings")
    found = within(diagnose_in(session, read_prices(store.files), until=about.until), about.since, about.tool)
    return Report(
        store=store,
        made_at=now,
        scope=about,
        figures=run(sections.FIGURES, **before),
        gap=run(sections.GAP, **before),
        tools=tools,
        summary=summarize(found, tools.result),
        sparks=run(sections.SPARKS),
        overview=tuple(run(part) for part in sections.OVERVIEW),
        of_tool=tuple(run(part) for part in sections.TOOL),
    )


def query_count(about: TimeRange[datetime] | Comparison) -> int:
    """Return the number of queries that ``build_report`` executes."""
    return 1 if isinstance(about, Comparison) else 5 + len(sections.OVERVIEW) + len(sections.TOOL)
