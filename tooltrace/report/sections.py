"""Sections of a report, each the result of one named query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One query of a report, and how its result is shown."""

    title: str
    """Translation key of the title."""
    query: str
    by: tuple[str, ...] | None = None
    columns: tuple[str, ...]
    """Result columns shown in the table; an interval is shown with its figure."""
    chart: str = ""
    help: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    """Fixed parameters of the query."""
    rows: int = 12
    """Maximum number of rows shown."""
    printed: bool = True
    """Whether the section is also on paper; a tool has one page there."""
    only: tuple[str, ...] = ()
    """Columns that the query returns; empty: all."""
    brief: bool = False
    """Whether the section is also part of the short report (Markdown)."""


def _part(title: str, query: str, columns: str, **more: Any) -> Section:
    return Section(title=title, query=query, columns=tuple(columns.split()), **more)


_OF_TOOL = ("tool",)

FIGURES = _part("overview.figures", "overview", "period calls call_rate rate retried_share p95 left_out", brief=True)
GAP = _part("tiles.gap", "gap", "period n mean_confidence accuracy gap", brief=True)
TOOLS = _part(
    "overview.tools",
    "ranking",
    "tool calls failed_calls rate cut_off p95 code message hurt_ms",
    help="overview.tools.help",
    rows=500,
    brief=True,
)
SPARKS = _part(
    "overview.spark",
    "timeline",
    "",
    by=_OF_TOOL,
    params={"parts": 40},
    only=(*_OF_TOOL, "started", "seconds", "attempts", "failures", "cut_off"),
)
OVERVIEW = (
    _part(
        "overview.time",
        "timeline",
        "started attempts failures cut_off rate p50 p95",
        by=(),
        chart="timeline",
        params={"parts": 60},
        rows=61,
    ),
    _part(
        "overview.changes",
        "changes",
        "first_seen kind tool name attempts rate before_rate",
        help="overview.changes.help",
        rows=20,
        brief=True,
    ),
)
"""Sections over all tools together, after the findings, the figures and the table of tools."""

TOOL = (
    _part(
        "report.rates",
        "failure_rate",
        "calls failed_calls call_rate attempts failures rate partial_rate cancelled abandoned unread heuristic",
        by=_OF_TOOL,
        brief=True,
    ),
    _part(
        "tool.time",
        "timeline",
        "version started attempts failures cut_off rate p50 p95",
        by=("tool", "version"),
        chart="timeline",
        params={"parts": 30},
        rows=30,
    ),
    _part("tool.errors", "errors", "code type n share retryable_share last_seen message", by=_OF_TOOL, brief=True),
    _part("report.latency", "latency", "n p50 p90 p95 p99 max time_to_first_item left_out", by=_OF_TOOL, brief=True),
    _part("tool.durations", "durations", "from_ms to_ms n failures share", by=_OF_TOOL, chart="durations", rows=30),
    _part(
        "report.retries",
        "retries",
        "calls attempts amplification retried recovered gave_up wasted_ms wasted_share flag_precision backoff_violations",
        by=_OF_TOOL,
        brief=True,
    ),
    _part(
        "tool.survival",
        "retry_survival",
        "k at_risk succeeded gave_up km naive",
        by=_OF_TOOL,
        chart="survival",
        help="tool.survival.help",
        rows=20,
    ),
    _part(
        "report.calibration",
        "calibration",
        "n labelled_share missing_confidence_share mean_confidence accuracy gap ece ece_null_p95 miscalibrated auroc",
        by=_OF_TOOL,
        brief=True,
    ),
    _part(
        "tool.reliability",
        "reliability",
        "series confidence_from confidence_to confidence n accuracy band_low band_high outside",
        by=_OF_TOOL,
        chart="reliability",
        help="tool.reliability.help",
        rows=12,
        printed=False,
    ),
    _part(
        "tool.bands",
        "confidence_bands",
        "band n accuracy mean_confidence attempts labelled_share",
        by=_OF_TOOL,
        printed=False,
    ),
    _part(
        "tool.thresholds",
        "thresholds",
        "precision_asked threshold n precision lower_bound coverage",
        by=_OF_TOOL,
        help="tool.thresholds.help",
        printed=False,
    ),
    _part(
        "tool.next",
        "next_action",
        "advice n observed followed_share succeeded_when_followed succeeded_when_not",
        by=_OF_TOOL,
        printed=False,
    ),
    _part(
        "tool.gates",
        "gates",
        "n approved declined expired waiting approved_share wait_p50 wait_p95 failure_rate",
        by=_OF_TOOL,
        printed=False,
    ),
    _part("tool.audit", "audit", "point name passed n evidence fix", by=_OF_TOOL, brief=True),
)
"""Sections of each tool. Each query runs once for all tools; a tool's section shows the rows of that tool."""

AUDIT = "audit"
"""The query whose section is one matrix of all tools in a document."""

NEED_LABELS = frozenset({"reliability", "confidence_bands", "thresholds"})
"""Queries whose results are meaningless without labelled attempts."""

COMPARED = _part(
    "report.compared",
    "compare",
    "tool measure before after difference verdict n_before n_after counted",
    rows=600,
    brief=True,
)

MAX_FINDINGS = 20
"""Maximum number of findings shown."""
MAX_TOOLS = 16
"""Maximum number of tools with a section, the most important first. The others are only in the table."""
