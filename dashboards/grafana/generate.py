"""Generate the Grafana dashboards over a store in ClickHouse from the named queries.

``python -m dashboards.grafana.generate [folder]``, run at the top of the repository, writes one file per dashboard. To
change the query of a panel, change it in ``queries/`` and generate the files again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dashboards.grafana.panel_sql import PanelQuery
from dashboards.grafana.panels import (
    AMPLIFICATION,
    COVER,
    GAP,
    PLUGIN,
    RATE,
    SOURCE,
    Json,
    Panel,
    bars,
    figures,
    over_time,
    table,
    target,
)

SCHEMA: Final = 41
"""Version of Grafana's dashboard schema: that of 11.6, the oldest that supports the plugin.

Newer versions migrate it.
"""
WIDTH: Final = 24
TAG: Final = "tooltrace"

LATENCY: Final = ("n", "p50", "p90", "p95", "p99", "max", "untimed_share", "too_few")
ERRORS: Final = (
    "code",
    "type",
    "n",
    "share",
    "share_low",
    "share_high",
    "retryable_share",
    "first_seen",
    "last_seen",
    "message",
)
RETRIES: Final = ("calls", "attempts", "amplification", "retried", "recovered", "gave_up", "wasted_ms", "wasted_share",
    "backoff_violations", "ignored_retry_after", "too_few")  # fmt: skip
BANDS: Final = ("band", "n", "mean_confidence", "accuracy", "low", "high", "labelled_share", "too_few")
JUDGED: Final = ("period", "n", "mean_confidence", "accuracy", "gap", "gap_low", "gap_high", "too_few")
INCIDENTS: Final = ("started", "ended", "failures", "attempts", "lasted_ms", "code", "may_be_older", "too_few")
GATES: Final = ("n", "approved", "declined", "expired", "waiting", "approved_share", "wait_p50", "wait_p95", "failure_rate",
    "failure_low", "failure_high", "too_few")  # fmt: skip
CALIBRATED: Final = ("n", "labelled_share", "labelled_low", "labelled_high", "missing_confidence_share", "missing_low",
    "missing_high", "mean_confidence", "accuracy", "accuracy_low", "accuracy_high", "gap", "gap_low", "gap_high", "ece",
    "ece_low", "ece_high", "ece_null_p95", "miscalibrated", "auroc", "too_few")  # fmt: skip
RELIABLE: Final = ("series", "confidence_from", "confidence_to", "n", "confidence", "accuracy", "low", "high", "band_low",
    "band_high", "outside", "too_few")  # fmt: skip
THRESHOLDS: Final = ("precision_asked", "threshold", "n", "precision", "lower_bound", "coverage", "coverage_low",
    "coverage_high", "judged", "too_few")  # fmt: skip
BREAKER: Final = ("attempts", "failures", "trips", "would_block", "prevented", "blocked_good", "precision", "low", "high",
    "prevented_share", "prevented_low", "prevented_high", "time_open_ms", "saved_ms", "too_few")  # fmt: skip
NOW: Final = ("calls", "call_rate", "retried_share", "p95")
COMPARED: Final = ("period", "calls", "call_rate", "call_low", "call_high", "retried_share", "retried_low", "retried_high",
    "p95", "p95_low", "p95_high", "too_few")  # fmt: skip


def overview_panels() -> list[Panel]:
    """Return the panels of the overview."""
    tool = ("tool",)
    return [
        figures("In this time range", PanelQuery("overview"), NOW, colours={"call_rate": RATE}, width=8, height=6),
        table("Compared with the time before", PanelQuery("overview"), COMPARED, colours={"call_rate": RATE}, width=16, height=6),
        over_time("Failure rate", PanelQuery("timeline", tool), "rate", limits=RATE, width=12),
        over_time("Attempts", PanelQuery("timeline", tool), "attempts", bars=True, width=12),
        table("Tools to look at first", PanelQuery("ranking", tool), ("tool", "excess_failures", "excess_low", "excess_high", "failed_calls",
            "calls", "rate", "low", "high", "baseline_rate", "hurt_ms", "hurt_share", "amplification", "cost_ms", "p95",
            "last_failed_at", "too_few"),
            colours={"rate": RATE, "amplification": AMPLIFICATION}),
        table("Codes", PanelQuery("errors", tool), ("tool", *ERRORS)),
        over_time("p50", PanelQuery("timeline", tool), "p50", width=12),
        over_time("p95", PanelQuery("timeline", tool), "p95", width=12),
        table("Duration", PanelQuery("latency", tool), ("tool", *LATENCY)),
        table("Retries", PanelQuery("retries", tool), ("tool", *RETRIES), colours={"amplification": AMPLIFICATION}),
        table("Confidence and accuracy", PanelQuery("gap"), JUDGED, colours={"gap": GAP}, width=12),
        table("Confidence bands", PanelQuery("confidence_bands", tool), ("tool", *BANDS), width=12),
        table("Calibration of the confidence", PanelQuery("calibration", tool), ("tool", *CALIBRATED), colours={"gap": GAP}),
        table("Confidence thresholds", PanelQuery("thresholds", tool), ("tool", *THRESHOLDS)),
        table("Incidents", PanelQuery("incidents", tool), ("tool", *INCIDENTS)),
        table("Waiting for a person", PanelQuery("gates", tool), ("tool", *GATES), colours={"waiting": COVER}),
        table("New tools, versions and codes", PanelQuery("changes"), PanelQuery("changes").columns),
        table("Circuit breaker simulation", PanelQuery("breaker", tool), ("tool", *BREAKER)),
    ]  # fmt: skip


def tool_panels() -> list[Panel]:
    """Return the panels of the tool in the variable ``tool``."""
    version = ("version",)
    return [
        figures("In this time range", _of("overview"), NOW, colours={"call_rate": RATE}, width=8, height=6),
        table("Compared with the time before", _of("overview"), COMPARED, colours={"call_rate": RATE}, width=16, height=6),
        over_time("Failure rate, with its 95 % interval", _of("timeline"), "rate", band=("low", "high"), limits=RATE, width=12),
        over_time("Failure rate by version", _of("timeline", version), "rate", limits=RATE, width=12),
        over_time("p50", _of("timeline"), "p50", width=12),
        over_time("p95", _of("timeline"), "p95", width=12),
        table("Duration by version", _of("latency", version), ("version", *LATENCY)),
        table("Codes", _of("errors"), ERRORS),
        table("Retries by version", _of("retries", version), ("version", *RETRIES), colours={"amplification": AMPLIFICATION}),
        table("Success by number of attempts", _of("retry_survival"), ("k", "at_risk", "succeeded", "gave_up", "km", "km_low",
            "km_high", "naive", "too_few"), width=12),
        table("Recommended next action", _of("next_action"), ("advice", "n", "followed_share", "succeeded_when_followed",
            "succeeded_when_not", "too_few"), width=12),
        table("Confidence and accuracy", _of("gap"), JUDGED, colours={"gap": GAP}, width=12),
        table("Confidence bands", _of("confidence_bands"), BANDS, width=12),
        bars("Confidence and accuracy by band", _of("confidence_bands"), "band", ("mean_confidence", "accuracy"),
            width=8),
        table("Reliability", _of("reliability"), RELIABLE, width=16),
        table("Calibration of the confidence", _of("calibration"), CALIBRATED, colours={"gap": GAP},
            height=5),
        table("Confidence thresholds", _of("thresholds"), THRESHOLDS, width=12),
        table("Circuit breaker simulation", _of("breaker"), BREAKER, width=12),
        table("Incidents", _of("incidents"), INCIDENTS),
        table("Waiting for a person", _of("gates"), GATES, colours={"waiting": COVER}),
        table("Latest attempts", _of("recent", limit=100), ("ended_at", "status", "ending", "code", "duration_ms",
            "attempt", "message", "agent", "call_id")),
    ]  # fmt: skip


def overview() -> Json:
    """Return the dashboard of all tools."""
    return dashboard("tooltrace: overview", "tooltrace-overview", overview_panels(), one_tool=False)


def tool() -> Json:
    """Return the dashboard of one tool."""
    return dashboard("tooltrace: one tool", "tooltrace-tool", tool_panels(), one_tool=True)


DASHBOARDS: Final = {"overview.json": overview, "tool.json": tool}
"""Function that creates each dashboard, by file name."""


def _of(name: str, by: tuple[str, ...] = (), **params: object) -> PanelQuery:
    return PanelQuery(name, by, params, one_tool=True)


def dashboard(title: str, uid: str, panels: Sequence[Panel], *, one_tool: bool) -> Json:
    """Return the dashboard as JSON for Grafana's import."""
    variables = [_source(), _database()]
    return {
        "uid": uid,
        "title": title,
        "description": "Tool calls of LLM agents, from the spans that the OpenTelemetry collector wrote into ClickHouse.",
        "tags": [TAG],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "",
        "time": {"from": "now-24h", "to": "now"},
        "timepicker": {},
        "timezone": "browser",
        "links": [_others()],
        "templating": {"list": [*variables, _tool()] if one_tool else variables},
        "annotations": {"list": [_incidents(one_tool=one_tool)]},
        "panels": layout(panels),
    }


def layout(panels: Sequence[Panel]) -> list[Json]:
    """Arrange the panels from left to right, then downwards."""
    made: list[Json] = []
    x = y = height = 0
    for number, panel in enumerate(panels, 1):
        if x + panel.width > WIDTH:
            x, y, height = 0, y + height, 0
        made.append(panel.json(number, x, y))
        x, height = x + panel.width, max(height, panel.height)
    return made


def _source() -> Json:
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": PLUGIN,
        "refresh": 1,
        "current": {"text": "", "value": ""},
        "options": [],
        "regex": "",
        "hide": 0,
        "includeAll": False,
        "multi": False,
    }


def _database() -> Json:
    sql = "SELECT database FROM system.tables WHERE name = 'tool_calls' ORDER BY database"
    return _query_variable("database", "Database", sql, refresh=1)


def _tool() -> Json:
    return _query_variable("tool", "Tool", PanelQuery("failure_rate", ("tool",)).sql({"tool": "tool"}), refresh=2)


def _query_variable(name: str, label: str, sql: str, refresh: int) -> Json:
    """Return a variable with the values of ``sql``.

    ``refresh``: 1 on opening the dashboard, 2 on a change of the time range.
    """
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": SOURCE,
        "query": target(sql),
        "refresh": refresh,
        "current": {"text": "", "value": ""},
        "options": [],
        "regex": "",
        "sort": 0,
        "hide": 0,
        "includeAll": False,
        "multi": False,
    }


def _incidents(*, one_tool: bool) -> Json:
    """Return the incidents as marks over every panel with a time axis."""
    columns = {"time": "started", "timeEnd": "ended", "title": "tool", "text": "code"}
    query = PanelQuery("incidents", ("tool",), one_tool=one_tool)
    return {
        "name": "Incidents",
        "datasource": SOURCE,
        "enable": True,
        "hide": False,
        "iconColor": "red",
        "target": target(query.sql(columns, "time")),
    }


def _others() -> Json:
    return {
        "title": "tooltrace",
        "type": "dashboards",
        "tags": [TAG],
        "asDropdown": False,
        "icon": "external link",
        "includeVars": True,
        "keepTime": True,
        "targetBlank": False,
        "tooltip": "",
    }


def text(made: Json) -> str:
    """Return the text of a dashboard's file."""
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def write(folder: Path) -> list[Path]:
    """Write the dashboards into ``folder`` and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in DASHBOARDS.items():
        (folder / name).write_text(text(make()), encoding="utf-8")
    return [folder / name for name in DASHBOARDS]


if __name__ == "__main__":
    for written in write(Path(*sys.argv[1:2] or ["dashboards/grafana"])):
        print(written)  # noqa: T201  output of the command
