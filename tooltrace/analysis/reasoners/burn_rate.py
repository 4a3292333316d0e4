"""Burn rates: how fast each group spends the error budget, in pairs of a long and a short window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tooltrace.statistics.shares import ClusterSums, Proportion
from tooltrace.store.result import Gathered

PAIRS: Final = (
    ("1 h and 5 min", 14.4, 3600, 300),
    ("6 h and 30 min", 6.0, 21600, 1800),
    ("3 d and 6 h", 1.0, 259200, 21600),
)
"""Name, factor, and seconds of the long and the short window (Beyer and others 2018, chapter 5)."""
_WITHIN: Final = ("code", "status", "rule", "rule_grade", "day", "hour")
"""Groups that are parts of a history, and measured against all of its attempts."""

Row = dict[str, Any]


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> list[Row]:
    """Return a row for each group and pair of windows: first the groups that alert, each sorted by its names."""
    histories: dict[tuple[Any, ...], dict[tuple[Any, ...], dict[int, Row]]] = {}
    for row in gathered.rows():
        history = tuple(row[name] for name in gathered.groups if name not in _WITHIN)
        group = tuple(row[name] for name in gathered.groups)
        histories.setdefault(history, {}).setdefault(group, {})[row["window_s"]] = row
    found = []
    for groups in histories.values():
        totals = {seconds: _total(groups, seconds) for _, _, *pair in PAIRS for seconds in pair}
        found += [(group, list(_pairs(windows, totals, parameters))) for group, windows in groups.items()]
    found.sort(
        key=lambda each: (not any(row["alerting"] for row in each[1]), [(value is None, value) for value in each[0]])
    )
    return [dict(zip(gathered.groups, group, strict=True)) | row for group, rows in found for row in rows]


def _total(groups: Mapping[Any, Mapping[int, Row]], seconds: int) -> ClusterSums:
    """Return the sums of all attempts of a history in the window, none of which counts yet."""
    rows = [windows[seconds] for windows in groups.values() if seconds in windows]
    clusters, n, nn = (sum(row[name] or 0 for row in rows) for name in ("clusters", "group_n", "nn"))
    return ClusterSums(clusters=round(clusters), n=n, nn=nn)


def _pairs(
    windows: Mapping[int, Row], totals: Mapping[int, ClusterSums], parameters: Mapping[str, Any]
) -> Iterator[Row]:
    objective = parameters["objective"] / 100 if parameters["objective"] > 1 else parameters["objective"]
    budget = 1 - objective
    for name, factor, long_s, short_s in PAIRS:
        long, short = (_of_group(windows.get(seconds), totals[seconds]) for seconds in (long_s, short_s))
        burn_long, burn_short = _burns(long, budget), _burns(short, budget)
        burn = None if burn_long[0] is None or burn_short[0] is None else min(burn_long[0], burn_short[0])
        yield {
            "objective": objective,
            "windows": name,
            "factor": factor,
            "burn": burn,
            # 144 failures of 1000 burn at 14.4, not above it: the tolerance absorbs floating-point error
            "alerting": burn is not None and burn - factor > 1e-9 and long.k >= parameters["min_failures"],
            "attempts": long.n,
            "failures": long.k,
            "burn_long": burn_long[0],
            "burn_low": burn_long[1],
            "burn_high": burn_long[2],
            "short_attempts": short.n,
            "short_failures": short.k,
            "burn_short": burn_short[0],
            "short_low": burn_short[1],
            "short_high": burn_short[2],
            "cut_off": windows[long_s]["cut_off"] if long_s in windows else 0,
            "left_out": windows[long_s]["left_out"] if long_s in windows else 0,
            "refused": windows[long_s]["refused"] if long_s in windows else 0,
            "quiet": not (long.n and short.n),
            "too_few": long.is_below(parameters["min_n"]),
            "clusters": long.clusters,
            "design_effect": long.design_effect if long.n else None,
        }


def _of_group(row: Row | None, total: ClusterSums) -> Proportion:
    """Return the failures of one group as a share of all attempts of its history."""
    counted = total if row is None else total._replace(s=row["failures"], ss=row["ss"], sn=row["sn"] or 0.0)
    return counted.proportion()


def _burns(share: Proportion, budget: float) -> tuple[float | None, float | None, float | None]:
    """Return the burn with its limits; unknown without attempts or without a budget."""
    if not share.n or budget <= 0:
        return None, None, None
    return share.share / budget, share.low / budget, share.high / budget
