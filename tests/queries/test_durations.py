"""Durations in ranges of equal ratio."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.queries.answers import run


def answer(con, **params):
    relation = run(con, "durations", **params)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


@settings(max_examples=examples(10))
@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=20))
def test_every_duration_is_in_exactly_one_range(engine, make, durations):
    rows = answer(engine(*(make(duration_ms=ms) for ms in durations)))
    assert sum(row["n"] for row in rows) == len(durations)
    assert abs(sum(row["share"] for row in rows) - 1) < 1e-9
    for row in rows:
        in_bin = [ms for ms in durations if row["from_ms"] * (1 - 1e-9) <= max(ms, 1e-3) < row["to_ms"] * (1 + 1e-9)]
        assert row["n"] <= len(in_bin)
    assert [row["from_ms"] for row in rows] == sorted({row["from_ms"] for row in rows})


def test_a_power_of_ten_begins_its_range(engine, make):
    rows = answer(engine(*(make(duration_ms=ms) for ms in (1.0, 10.0, 100.0, 1000.0))))
    assert [round(row["from_ms"], 9) for row in rows] == [1.0, 10.0, 100.0, 1000.0]


def test_cached_and_untimed_attempts_are_left_out(engine, make):
    con = engine(
        make(status="error"), make(cached=True), make(duration_ms=None), make(duration_ms=float("nan")),
        make(status=None, ending="abandoned"), make(duration_ms=-1.0),
    )  # fmt: skip
    assert [(row["n"], row["failures"]) for row in answer(con)] == [(1, 1)]
