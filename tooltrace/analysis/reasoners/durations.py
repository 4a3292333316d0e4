"""Shares of the attempts of a group, by duration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tooltrace.analysis.reasoning import RowDict
from tooltrace.store.result import Gathered


def reason(gathered: Gathered, _parameters: Mapping[str, Any]) -> Iterator[RowDict]:
    """Yield each step of duration with its share of the group's attempts."""
    rows = gathered.rows()
    totals = Counter[tuple[Any, ...]]()
    for row in rows:
        totals[tuple(row[name] for name in gathered.groups)] += row["n"]
    for row in rows:
        total = totals[tuple(row[name] for name in gathered.groups)]
        yield {**row, "share": row["n"] / total if total else None}
