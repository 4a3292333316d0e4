"""What the results of each group cost the context, as shares of all groups."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from tooltrace.analysis.reasoning import RowDict
from tooltrace.store.result import Gathered

_SUMS: Final = ("tokens", "carried_tokens", "repeated_tokens", "saved_tokens")


def reason(gathered: Gathered, _parameters: Mapping[str, Any]) -> list[RowDict]:
    """Return a row for each group, the most expensive first."""
    rows = gathered.rows()
    for row in rows:
        for name in _SUMS:
            row[name] = row[name] or 0
    whole = sum(row["tokens"] + row["carried_tokens"] for row in rows)
    rows.sort(key=lambda row: -row["results"])
    rows.sort(key=lambda row: [(row[name] is None, row[name] or "") for name in gathered.groups])
    rows.sort(key=lambda row: round(row["tokens"] + row["carried_tokens"], 6), reverse=True)
    return [row | _figures(row, whole) for row in rows]


def _figures(row: RowDict, whole: float) -> RowDict:
    """Return the shares of a group, its whole numbers, and the sources of its tokens."""
    everything = row["tokens"] + row["carried_tokens"]
    sources = {"counted": row["counted"], "usage": row["by_usage"], "turn": row["by_turn"]}
    sources["estimate"] = row["results"] - sum(sources.values())
    return {
        "share": _part(everything, whole),
        "mean_tokens": _part(row["tokens"], row["results"]),
        "repeated_share": _part(row["repeated_tokens"], row["tokens"]),
        "saved_share": _part(row["saved_tokens"], everything),
        "tokens_by": ", ".join(name for name, results in sources.items() if results > 0) or None,
        "p95_tokens": _whole(row["p95"]),
        "max_tokens": _whole(row["largest"]),
        **{name: _whole(row[name]) for name in _SUMS},
    }


def _part(part: float, of: float) -> float | None:
    return part / of if of else None


def _whole(tokens: float | None) -> int | None:
    """Return the nearest whole number; a half, up to the precision of a sum, is rounded up."""
    return None if tokens is None else math.floor(round(tokens, 6) + 0.5)
