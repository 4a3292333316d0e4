"""The labels of the axis of a trace are round times at their places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.server.axis import MOST_STEPS, ticks
from tooltrace.server.waterfall import MAX_DURATION_MS


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        (0, [0]),
        (351, [0, 100, 200, 300]),
        (0.8, [0, 0.2, 0.4, 0.6, 0.8]),
        (1000, [0, 250, 500, 750, 1000]),
        (81, [0, 25, 50, 75]),
        (8_100, [0, 3_000, 6_000]),
        (60_000, [0, 15_000, 30_000, 45_000, 60_000]),
        (140_000, [0, 60_000, 120_000]),
        (90 * 60_000, [0, 1_800_000, 3_600_000, 5_400_000]),
        (86_400_000 * 3, [0, 86_400_000, 172_800_000, 259_200_000]),
    ],
)
def test_they_are_round(total, expected):
    assert [tick.ms for tick in ticks(total)] == pytest.approx(expected)


@given(st.floats(0, MAX_DURATION_MS * 1000))
def test_they_begin_at_0_lie_on_the_axis_and_are_few(total):
    found = ticks(total)
    assert (found[0].ms, found[0].left) == (0, 0)
    if total <= MAX_DURATION_MS:
        assert len(found) <= MOST_STEPS + 1
        assert total < 0.004 or len(found) > 2
    lefts = [tick.left for tick in found]
    assert lefts == sorted(set(lefts))
    assert lefts[-1] <= 100.0001
