"""Percentiles of durations and their intervals, where attempts that were cut off took at least their time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tooltrace.analysis.reasoning import RowDict, sums_of
from tooltrace.statistics.quantiles import percentile, percentile_limits, with_censored
from tooltrace.store.result import Gathered

_SHARES: Final = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> Iterator[RowDict]:
    """Yield each group with its percentiles and the intervals of its median and its 95th percentile."""
    for row in gathered.rows():
        median = sums_of(row, "p50").proportion()
        yield {
            **row,
            **durations(row),
            "n": median.n + row["cut_n"],
            "cut_off": row["cut_n"],
            "clusters": median.clusters,
            "design_effect": median.design_effect if median.n else None,
            "too_few": median.is_below(parameters["min_n"]),
        }


def durations(row: RowDict) -> RowDict:
    """Return the percentiles of ``row``, the intervals of those with gathered sums, and whether p95 is only a lower limit.

    ``row`` has the percentiles of finished attempts as ``percentiles(…) AS ms``, of cut-off ones as ``percentiles(…) AS cut``, their
    numbers ``timed_n`` and ``cut_n``, and the sums of the attempts above a percentile as ``sums(…) AS p95``.
    """
    # without attempts, one engine has no percentiles, and the other unknown ones
    grid, cut = (row[name] if row[n] else None for name, n in (("ms_grid", "timed_n"), ("cut_grid", "cut_n")))
    known: RowDict = {name: row[name] for name in _SHARES if name in row}
    longest = max((part[-1] for part in (grid, cut) if part), default=None)
    if row["cut_n"] and longest is not None:
        grid = with_censored(grid, row["timed_n"], cut or (), row["cut_n"])
        known = {name: min(percentile(_SHARES[name], grid), longest) for name in known}
    ends: RowDict = {}
    for name, value in known.items():
        if f"{name}_n" not in row:
            continue
        low, high = percentile_limits(_SHARES[name], grid, sums_of(row, name).effective_n)
        ends[f"{name}_low"] = None if low is None else min(low, value)
        ends[f"{name}_high"] = None if high is None else max(high, value)
    is_open = bool(row["cut_n"]) and grid is not None and not math.isfinite(percentile(_SHARES["p95"], grid))
    return {**known, **ends, "max": longest, "at_least": is_open}
