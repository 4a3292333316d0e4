"""The terms of the glossary that explain panels and columns of the pages."""

from __future__ import annotations

from typing import Final

PANEL_TERMS: Final = {
    "incidents": "incident",
    "retry_survival": "attempt",
    "reliability": "calibration",
    "confidence_bands": "confidence",
    "thresholds": "threshold",
    "next_action": "next-action",
    "sources": "source",
    "gates": "approval",
    "audit": "rule",
}
"""The term that explains a query's panel best: its anchor on the page of the glossary."""

_COLUMNS_OF: Final = {
    "accuracy": "accuracy band_low precision",
    "approval": "approved approved_share declined expired waiting wait_p50 wait_p95",
    "attempt": "attempt attempts attempts_failed",
    "baseline": "before_rate",
    "calibration": "auroc ece ece_null_p95 miscalibrated",
    "call": "calls call_id",
    "confidence": "band confidence mean_confidence",
    "conversation": "conversation clusters counted",
    "ending": "ending",
    "failure-rate": "rate call_rate failed_calls failures",
    "gap": "gap confidence_gap",
    "incident": "by_chance",
    "interval": "interval",
    "label": "label labelled labelled_share",
    "latency": "duration_ms p50 p90 p95 p99",
    "next-action": "advice followed_share succeeded_when_followed",
    "retryable": "retryable retryable_share",
    "rule": "heuristic rule rule_grade unread",
    "source": "missing_id_share source",
    "status": "status",
    "threshold": "lower_bound threshold",
    "time-lost": "hurt_ms",
    "trace": "span_id trace_id",
}
COLUMN_TERMS: Final = {column: term for term, columns in _COLUMNS_OF.items() for column in columns.split()}
"""The term that explains a column of a table; ``interval`` is every interval."""
