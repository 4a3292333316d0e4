"""A circuit breaker replayed over a history: which attempts it would have refused."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tooltrace.statistics.arrays import Counts, Flags


class Trips(NamedTuple):
    """The trips of a replayed breaker, in the order of time; one element for each."""

    at: Counts
    """Position of the attempt that opened it."""
    opened: Counts
    closed: Counts
    first: Counts
    """Position of the first attempt that it would have refused."""
    end: Counts
    """Position behind the last one."""


def streaks(failed: Flags) -> Counts:
    """Return for each attempt how many failures in a row end with it."""
    numbers = np.arange(len(failed))
    return numbers - np.maximum.accumulate(np.where(failed, -1, numbers))


def replay(started: Counts, ended: Counts, streak: Counts, threshold: int, timeout: int) -> Trips:
    """Return the trips of a breaker that opens after ``threshold`` failures in a row, for ``timeout``.

    ``started``, ``ended``: times of the attempts, whole numbers of one unit, in the order of ``started``; ``streak``: from streaks.
    The breaker opens at the end of the last failure. Attempts that start while it is open are refused and change nothing; those
    that were running go on and change nothing either. It closes by itself, and counts anew from the attempts that start later.
    """
    # the attempts at which a closed breaker opens, if it had closed before the streak of failures started
    possible = np.flatnonzero(streak >= threshold)
    opens = ended[possible]
    closes = opens + timeout
    following = np.searchsorted(started[possible - threshold + 1], closes, side="right").tolist()
    taken, at = [], 0
    while at < len(following):
        taken.append(at)
        at = following[at]
    chosen = np.array(taken, dtype=np.int64)
    at_trip, opened, closed = possible[chosen], opens[chosen], closes[chosen]
    first = np.maximum(np.searchsorted(started, opened, side="left"), at_trip + 1)
    return Trips(at_trip, opened, closed, first, np.maximum(np.searchsorted(started, closed, side="right"), first))
