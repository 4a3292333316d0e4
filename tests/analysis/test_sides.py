"""The two sides of a comparison, parsed from texts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tooltrace as tt
from tooltrace.analysis import find
from tooltrace.analysis.sides import Comparison, parse_words
from tooltrace.errors import BadParameter

times = st.datetimes(datetime(2001, 1, 1), datetime(2020, 1, 1))


def day(number: int) -> datetime:
    return datetime(2026, 11, number)


def windows(text, **more):
    found = Comparison.parse(*parse_words(text), **more)
    return [(side.since, side.until) for side in (found.before, found.after)]


def test_a_time_compares_two_equally_long_windows():
    assert windows("2026-11-08", until="2026-11-11") == [(day(5), day(8)), (day(8), day(11))]
    (begin, middle), (again, end) = windows("7d")
    assert middle == again
    assert end - again == middle - begin == timedelta(days=7)
    assert abs(end.replace(tzinfo=UTC) - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-01 2026-11-08", [(day(1), day(8)), (day(8), day(20))]),
        ("2026-11-01..2026-11-08 2026-11-08", [(day(1), day(8)), (day(8), day(20))]),
        ("2026-11-01..2026-11-03 2026-11-05..2026-11-08", [(day(1), day(3)), (day(5), day(8))]),
        ("..2026-11-03 2026-11-05..", [(None, day(3)), (day(5), day(20))]),
        ("2026-11-05..2026-11-08 2026-11-01..2026-11-03", [(day(5), day(8)), (day(1), day(3))]),
    ],
)
def test_two_windows_are_named_by_their_ends(text, expected):
    assert windows(text, until="2026-11-20") == expected


@given(st.lists(times, min_size=4, max_size=4, unique=True))
def test_the_windows_are_parsed_as_written(moments):
    a, b, c, d = sorted(moments)
    text = "{}..{} {}..{}".format(*(moment.isoformat() for moment in (a, b, c, d)))
    assert windows(text) == [(a, b), (c, d)]
    found = Comparison.parse(*parse_words(text))
    assert Comparison.parse(**found.params) == found


@pytest.mark.parametrize(
    "dimension", ["version", "agent", "model", "release", "environment", "attributes.region", "day"]
)
def test_two_values_share_a_window(dimension):
    given = {"since": "2026-11-01", "until": "2026-11-08", "tool": "search"}
    found = Comparison.parse(f"{dimension}:1:2", f"{dimension}:b c", **given)
    assert [(side.dimension, side.value) for side in (found.before, found.after)] == [
        (dimension, "1:2"),
        (dimension, "b c"),
    ]
    assert (found.before.since, found.after.until, found.tool) == (day(1), day(8), "search")
    assert Comparison.parse(**found.params) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "one or two sides, separated by a blank"),
        ("a b c", "one or two sides, separated by a blank"),
        ("yesterday", "must be one of two values of one dimension"),
        ("agnt:x agnt:y", "did you mean 'agent'"),
        ("1d..7d 7d", "ends before it begins"),
        ("2026-11-01..2026-11-05 2026-11-04..2026-11-08", "overlap"),
        ("version:1", "needs a value to be compared with, as version:OTHER version:1"),
        ("version:1 version:1", "two different values"),
        ("version: version:2", "needs a value behind the colon"),
        ("version:1 7d", "not values of one dimension"),
        ("version:1 agent:1", "not values of one dimension"),
        ("0001-01-02", "no equally long window exists before"),
    ],
)
def test_an_invalid_comparison_is_refused(text, message):
    with pytest.raises(BadParameter, match=message):
        windows(text)


def test_a_start_is_refused_with_windows():
    with pytest.raises(BadParameter, match="'since' is for two values of a dimension"):
        windows("7d", since="1d")


def test_values_of_any_dimension_are_compared(tmp_path):
    tt.configure(store=tmp_path / "sides.duckdb")
    log = tt.TraceLogger(version="1")
    for number in range(40):
        for agent, failing in (("clerk", 5), ("support", 30)):
            with tt.context(conversation_id=f"{agent}{number}", agent=agent, attributes={"region": agent[0]}):
                log.record("pay", ValueError("no") if number < failing else "done")
    tt.flush()
    for before, after in (("agent:clerk", "agent:support"), ("attributes.region:c", "attributes.region:s")):
        result = tt.query("compare", before=before, after=after)
        (row,) = [row for row in result.dicts() if row["measure"] == "call_failure_rate"]
        assert (row["tool"], row["before"], row["after"], row["verdict"]) == ("pay", 0.125, 0.75, "worse")
    tt.shutdown()


def test_a_group_by_the_compared_dimension_is_refused_and_never_gone():
    query = find("compare")
    assert query.statement(before="tool:a", after="tool:b").groups == ()
    assert query.statement(before="agent:a", after="agent:b").groups == ("tool",)
    with pytest.raises(BadParameter, match="must not have 'agent', whose values are compared"):
        query.statement("agent", before="agent:a", after="agent:b")
    with pytest.raises(BadParameter, match="needs two sides, such as before='agent:A', after='agent:B'"):
        query.statement("agent")
