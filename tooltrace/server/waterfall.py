"""Layout of a call's attempts on a time axis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MAX_DURATION_MS = 1e12
"""Longest valid duration, 31 years: imported records may contain any number."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One attempt: its start and length in percent of the call's time, and the wait before it."""

    row: dict[str, Any]
    start_ms: float
    left: float
    width: float
    gap_ms: float | None
    """Milliseconds since the end of the attempt before; None for the first."""
    gap_left: float
    gap_width: float


def bars(attempts: list[dict[str, Any]]) -> list[Bar]:
    """Return a bar for each of a call's ``attempts``, rows of the query ``call`` in their order."""
    first = min(row["started_at"] for row in attempts)
    spans = [((row["started_at"] - first).total_seconds() * 1000, _duration(row), row) for row in attempts]
    total = max([start + duration for start, duration, _ in spans]) or 1.0
    return list(_placed(spans, total))


def _placed(spans: list[tuple[float, float, dict[str, Any]]], total: float) -> Iterator[Bar]:
    ended: float | None = None
    for start, duration, row in spans:
        gap = None if ended is None else max(0.0, start - ended)
        yield Bar(
            row=row,
            start_ms=start,
            left=min(100 * start / total, 99.6),
            width=max(100 * duration / total, 0.4),
            gap_ms=gap,
            gap_left=100 * (ended or 0.0) / total,
            gap_width=100 * (gap or 0.0) / total,
        )
        ended = start + duration


def _duration(row: dict[str, Any]) -> float:
    total = (row["duration_ms"] or 0.0) + (row["consumer_ms"] or 0.0)
    return float(total) if 0 <= total <= MAX_DURATION_MS else 0.0
