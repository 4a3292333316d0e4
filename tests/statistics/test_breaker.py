"""A breaker replayed over arrays does what a breaker stepped through one attempt at a time does."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.statistics.breaker import replay, streaks

Attempt = tuple[int, int, bool]
"""Start, duration, and whether it failed."""
STEP = st.tuples(st.integers(0, 5), st.integers(0, 4), st.booleans() | st.just(True))


def stepped(attempts: list[Attempt], threshold: int, timeout: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Return when the breaker opened and closed, and the numbers of the attempts that it refused."""
    in_a_row, trips, refused = 0, [], []
    opened, closed = -1, -1
    for number, (began, took, failed) in enumerate(attempts):
        if began <= closed:
            if began >= opened:
                refused.append(number)
            continue
        if closed >= 0:
            closed, in_a_row = -1, 0
        in_a_row = in_a_row + 1 if failed else 0
        if in_a_row == threshold:
            opened, closed = began + took, began + took + timeout
            trips.append((opened, closed))
    return trips, refused


@given(st.lists(STEP, min_size=1, max_size=60), st.integers(1, 4), st.integers(1, 15))
def test_any_history_is_replayed_as_if_stepped_through(steps: list[Attempt], threshold: int, timeout: int) -> None:
    attempts, now = [], 0
    for gap, took, failed in steps:
        now += gap
        attempts.append((now, took, failed))
    began, took, failed = (np.array(column) for column in zip(*attempts, strict=True))
    trips = replay(began, began + took, streaks(failed), threshold, timeout)
    refused = [number for first, end in zip(trips.first, trips.end, strict=True) for number in range(first, end)]
    expected = list(zip(trips.opened.tolist(), trips.closed.tolist(), strict=True)), refused
    assert stepped(attempts, threshold, timeout) == expected
    assert all(failed[trips.at])


def test_no_attempts_are_no_trips() -> None:
    none = np.array([], dtype=np.int64)
    assert len(replay(none, none, streaks(none == 1), 3, 300).at) == 0
