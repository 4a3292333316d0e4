"""The time range of a page, and the one before it; language and layout of attempts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from starlette.datastructures import QueryParams

from tooltrace.report.i18n import preferred_language
from tooltrace.report.time_range import TimeRange
from tooltrace.server.request import time_range
from tooltrace.server.waterfall import bars


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
