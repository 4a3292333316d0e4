"""Intervals of percentiles of durations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tooltrace.analysis.reasoning import RowDict, sums_of
from tooltrace.statistics.quantiles import percentile_limits
from tooltrace.store.result import Gathered


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> Iterator[RowDict]:
    """Yield each group with the intervals of its median and its 95th percentile."""
    for row in gathered.rows():
        median = sums_of(row, "p50").proportion()
        yield {
            **row,
            **limits(row, "p50", 0.5),
            **limits(row, "p95", 0.95),
            "n": median.n,
            "clusters": median.clusters,
            "design_effect": median.design_effect if median.n else None,
            "too_few": median.is_below(parameters["min_n"]),
        }


def limits(row: RowDict, name: str, p: float) -> RowDict:
    """Return the ends ``name_low`` and ``name_high`` of the percentile ``name`` of share ``p``.

    ``row`` has the percentiles of ``percentiles(…) AS ms``, and the sums of the items above this one as ``sums(…) AS name``.
    """
    low, high = percentile_limits(p, row["ms_grid"], sums_of(row, name).effective_n)
    value = row[name]
    return {
        f"{name}_low": None if low is None else min(low, value),
        f"{name}_high": None if high is None else max(high, value),
    }
