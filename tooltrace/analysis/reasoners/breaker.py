"""Circuit breakers: a replay over each history, and the numbers of the breaker that would have helped most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, Final

import numpy as np

from tooltrace.analysis.reasoners.histories import histories
from tooltrace.statistics.arrays import Counts, Flags, cluster_sums, codes_of
from tooltrace.statistics.breaker import Trips, replay, streaks
from tooltrace.statistics.shares import ClusterSums, is_few, wilson
from tooltrace.store.result import Gathered

WITHIN: Final = ("code", "status", "rule", "rule_grade", "day", "hour")
"""Groups that do not split a history."""
THRESHOLDS: Final = (3, 5, 10)
TIMEOUTS: Final = (60, 300, 1800)
"""Numbers of the breakers that are compared, timeouts in seconds."""
_SECOND: Final = 1_000_000
_LONGEST: Final = 10**9

Row = dict[str, Any]


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the rows of the query ``breaker``."""
    within = [name for name in gathered.groups if name in WITHIN]
    for names, columns in histories(gathered, WITHIN):
        history = _History(columns, parameters)
        if not within:
            yield names | history.figures(slice(None))
            continue
        parts = list(zip(*(columns[name].tolist() for name in within), strict=True))
        numbers = {part: number for number, part in enumerate(dict.fromkeys(parts))}
        codes = np.fromiter(map(numbers.__getitem__, parts), np.int64, len(parts))
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes))
        for part, chosen in zip(numbers, np.split(order, ends[:-1]), strict=True):
            yield names | dict(zip(within, part, strict=True)) | history.figures(chosen)


class _History:
    """One history: what its breaker would have refused, and the breaker that is recommended for it."""

    def __init__(self, columns: Mapping[str, Any], parameters: Mapping[str, Any]) -> None:
        self._min_n = parameters["min_n"]
        self._columns = columns
        finished = columns["finished"] == 1
        at = np.flatnonzero(finished)
        started, failed = columns["started_us"][at].astype(np.int64), columns["failed"][at] == 1
        ended = started + np.rint(1000 * np.nan_to_num(columns["ms"][at].astype(float))).astype(np.int64)
        timeout = int(min(parameters["recovery_timeout"], _LONGEST)) * _SECOND
        streak = streaks(failed)
        trips = replay(started, ended, streak, int(parameters["failure_threshold"]), timeout)
        self.blocked = np.zeros(len(finished), dtype=bool)
        for first, end in zip(trips.first.tolist(), trips.end.tolist(), strict=True):
            self.blocked[at[first:end]] = True
        self.trips = np.zeros(len(finished), dtype=np.int64)
        self.trips[at[trips.at]] = 1
        self.open_us = np.zeros(len(finished), dtype=np.int64)
        if len(at):
            self.open_us[at[trips.at]] = np.maximum(np.minimum(trips.closed, started[-1]) - trips.opened, 0)
        self.advice = self._recommended(started, ended, failed, streak)

    def _recommended(self, started: Counts, ended: Counts, failed: Flags, streak: Counts) -> Row:
        """Return the columns about the breaker with the most prevented failures minus blocked good attempts that would help."""
        found: Row = dict.fromkeys(("recommended", "recommended_prevented", "recommended_blocked_good"))
        if len(failed) < self._min_n or not len(failed):
            return found
        failures_to = np.concatenate(([0], np.cumsum(failed)))
        best: tuple[int, int, int] | None = None
        found["recommended"] = "none"
        for threshold, timeout in product(THRESHOLDS, TIMEOUTS):
            trips = replay(started, ended, streak, threshold, timeout * _SECOND)
            blocked, prevented = _helps(trips, failures_to)
            key = (2 * prevented - blocked, -timeout, threshold)
            if blocked and (best is None or key > best):
                best = key
                found["recommended"] = f"failure_threshold={threshold}, recovery_timeout={timeout}"
                found["recommended_prevented"], found["recommended_blocked_good"] = prevented, blocked - prevented
        return found

    def figures(self, chosen: Any) -> Row:
        """Return the columns of the attempts ``chosen``."""
        own = {name: column[chosen] for name, column in self._columns.items()}
        finished, failed, blocked = own["finished"] == 1, own["failed"] == 1, self.blocked[chosen]
        prevented = blocked & failed
        clusters = codes_of(own["cluster"])
        precision = cluster_sums(clusters, prevented.astype(float), blocked.astype(float))
        attempts, refused = int(finished.sum()), int((own["refused"] == 1).sum())
        share = precision.proportion()
        return {
            "attempts": attempts,
            "failures": int(failed.sum()),
            "trips": int(self.trips[chosen].sum()),
            "would_block": share.n,
            "prevented": share.k,
            "blocked_good": share.n - share.k,
            **_sums("precision", precision),
            **_sums("prevented_share", cluster_sums(clusters, prevented.astype(float), failed.astype(float))),
            "time_open_ms": float(self.open_us[chosen].sum()) / 1000,
            "saved_ms": float(np.nansum(own["ms"][prevented].astype(float))),
            "left_out": len(finished) - attempts - refused,
            "refused": refused,
            **self.advice,
            "too_few": is_few(attempts, len(np.unique(clusters[finished])), self._min_n),
        }


def _helps(trips: Trips, failures_to: Counts) -> tuple[int, int]:
    """Return the blocked attempts and the failures among them, 0 where such a breaker would not help.

    ``failures_to``: the number of failures before each attempt, and before the end.

    It helps if the lower limit of its precision, with trips as clusters, is above a half and above the upper limit of the failure
    rate of the attempts that it lets through, or if every attempt failed.
    """
    n, s = trips.end - trips.first, failures_to[trips.end] - failures_to[trips.first]
    share = cluster_sums(np.arange(len(n)), s.astype(float), n.astype(float)).proportion()
    attempts, failures = len(failures_to) - 1, int(failures_to[-1])
    let_through, failing = attempts - share.n, failures - share.k
    if (
        share.n
        and share.low > 0.5
        and (failures == attempts or (let_through and share.low > wilson(failing, let_through)[1]))
    ):
        return share.n, share.k
    return 0, 0


def _sums(name: str, sums: ClusterSums) -> Row:
    return {f"{name}_{key}": value for key, value in sums._asdict().items()}
