"""The time range of a page, and the one before it; language and layout of attempts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from tooltrace.report.time_range import TimeRange
from tooltrace.server.request import time_range
from tooltrace.server.time_navigation import length_seconds, navigate
from tooltrace.server.waterfall import bars
from tooltrace.wording.i18n import preferred_language


@pytest.mark.parametrize(
    ("address", "since", "until", "before"),
    [
        ("", "7d", None, "14d"),
        ("since=24h", "24h", None, "48h"),
        ("since=all", None, None, None),
        ("since=&until=", "7d", None, "14d"),
        ("since=2026-03-02&until=2026-03-04", "2026-03-02", "2026-03-04", datetime(2026, 2, 28)),
        ("since=2026-03-02T00:00:00%2B02:00&until=2026-03-02", "2026-03-02T00:00:00+02:00", "2026-03-02", datetime(2026, 3, 1, 20)),
        ("since=2026-03-04&until=2026-03-02", "2026-03-04", "2026-03-02", None),
        ("since=nonsense", "nonsense", None, None),
        ("since=0001-01-01&until=9999-01-01", "0001-01-01", "9999-01-01", None),
    ],
)  # fmt: skip
def test_an_address_selects_a_time_range(address, since, until, before):
    window = time_range(QueryParams(address))
    assert (window.since, window.until, window.before) == (since, until, before)


def test_a_span_up_to_a_time_has_one_before_it():
    before = TimeRange(since="2d", until="1d").before
    expected = datetime.now(UTC) - timedelta(days=3)
    assert abs(before.replace(tzinfo=UTC) - expected) < timedelta(minutes=1)


NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)


def steps(since, until=None):
    found = navigate(TimeRange(since=since, until=until), NOW)
    return {name: getattr(found, name) for name in ("earlier", "later", "wider", "narrower")}


def test_a_range_has_ranges_of_its_length_beside_it():
    assert steps("2026-03-02", "2026-03-04") == {
        "earlier": {"since": "2026-02-28T00:00:00Z", "until": "2026-03-02T00:00:00Z"},
        "later": {"since": "2026-03-04T00:00:00Z", "until": "2026-03-06T00:00:00Z"},
        "wider": {"since": "2026-03-01T00:00:00Z", "until": "2026-03-05T00:00:00Z"},
        "narrower": {"since": "2026-03-02T12:00:00Z", "until": "2026-03-03T12:00:00Z"},
    }


def test_a_range_that_ends_now_keeps_ending_now_and_has_none_after_it():
    found = steps("7d")
    assert (found["wider"], found["narrower"], found["later"]) == ({"since": "14d"}, {"since": "84h"}, None)
    assert found["earlier"] == {"since": "2026-03-06T12:00:00Z", "until": "2026-03-13T12:00:00Z"}


def test_a_wider_range_does_not_reach_beyond_now():
    assert steps("2026-03-20T08:00:00", "2026-03-20T11:00:00")["wider"] == {
        "since": "2026-03-20T06:00:00Z",
        "until": "2026-03-20T12:00:00Z",
    }


@pytest.mark.parametrize(
    ("since", "until"), [("soon", None), ("2026-03-04", "2026-03-02"), ("2026-03-02", "2026-03-02"), ("7d", "later")]
)
def test_an_invalid_range_has_no_steps(since, until):
    assert navigate(TimeRange(since=since, until=until), NOW) is None
    assert length_seconds(TimeRange(since=since, until=until)) is None


def test_the_complete_history_and_the_ends_of_time_have_the_steps_that_exist():
    assert set(steps(None).values()) == {None}
    assert length_seconds(TimeRange()) is None
    found = steps("0001-01-01", "9999-01-01")
    assert (found["earlier"], found["wider"]) == (None, None)
    assert steps("1s")["narrower"] is None


@given(
    since=st.datetimes(datetime(1990, 1, 1), datetime(2026, 3, 19)),
    length=st.timedeltas(timedelta(seconds=8), timedelta(days=3000)),
)
def test_earlier_and_later_are_inverse_and_zooming_halves_or_doubles(since, length):
    since = since.replace(microsecond=0)
    length -= timedelta(seconds=length.total_seconds() % 8)
    found = steps(since.isoformat(), (since + length).isoformat())
    back = steps(**found["earlier"])["later"]
    assert [datetime.fromisoformat(back[name]).replace(tzinfo=None) for name in ("since", "until")] == [
        since,
        since + length,
    ]
    for name, factor in (("wider", 2), ("narrower", 0.5)):
        low, high = (datetime.fromisoformat(found[name][end]) for end in ("since", "until"))
        assert abs((high - low) - factor * length) <= timedelta(seconds=1)


@pytest.mark.parametrize(
    ("header", "language"),
    [("", "en"), ("zh", "zh"), ("zh-Hans-CN, en", "zh"), ("fr, zh;q=0.2", "zh"), ("en;q=0.1, zh;q=0", "en"), ("zh;q=x, en", "en"), ("*", "en"), (";;,,q=", "en")],
)  # fmt: skip
def test_the_language_that_is_preferred(header, language):
    assert preferred_language(header) == language


def attempt(start_ms, duration_ms, consumer_ms=None):
    at = datetime(2026, 3, 1) + timedelta(milliseconds=start_ms)
    return {"started_at": at, "duration_ms": duration_ms, "consumer_ms": consumer_ms}


def test_bars_and_gaps_fill_the_time_of_the_call():
    first, second = bars([attempt(0, 100), attempt(300, 50, 50)])
    assert (first.left, first.width, first.gap_ms) == (0, 25, None)
    assert (second.left, second.width, second.gap_ms, second.gap_left, second.gap_width) == (75, 25, 200, 25, 50)


@pytest.mark.parametrize("ms", [None, 0.0, -5.0, 1e300, float("inf"), float("nan")])
def test_a_duration_beyond_all_reason_is_still_a_bar(ms):
    for bar in bars([attempt(0, ms), attempt(0, ms), attempt(-10, 5.0)]):
        assert 0 <= bar.left <= 100
        assert 0 < bar.width <= 100
        assert 0 <= bar.gap_width <= 100
