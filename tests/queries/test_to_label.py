"""Which calls a person should label next: by strata of tool and band of confidence, where a label teaches most."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from tests.queries.answers import run
from tooltrace.core.records import Outcome

from .conftest import START


def label(span_id: str, *, correct: bool = True) -> Outcome:
    return Outcome(labeled_at=START, span_id=span_id, correct=correct)


def chosen(con, **given):
    return run(con, "to_label", **given).project("tool, band, span_id, gain, calls, labelled").fetchall()


def test_labelled_and_unfinished_attempts_are_left_out_and_a_call_counts_once(engine, make):
    done, open_, failed = make(confidence=0.9), make(confidence=0.9), make(confidence=0.9, call_id="r", status="error")
    again = make(confidence=0.9, call_id="r", attempt=2, started_at=START + timedelta(seconds=1))
    stopped = make(status=None, ending="cancelled", confidence=0.9)
    con = engine(done, open_, failed, again, stopped, label(done.span_id))
    found = chosen(con)
    assert {row[2] for row in found} == {open_.span_id, again.span_id}
    assert {row[4:] for row in found} == {(3, 1)}


def test_the_gain_is_the_reduction_of_the_variance(engine, make):
    high = [make(tool="find", confidence=0.9) for _ in range(6)]
    low = [make(tool="find", confidence=0.2) for _ in range(2)]
    con = engine(*high, *low, label(high[0].span_id), label(high[1].span_id, correct=False))
    found = {(row[1], place): row[3] for place, row in enumerate(chosen(con))}
    p, share = 2 / 4, 6 / 8
    assert found["high", 0] == pytest.approx(share**2 * p * (1 - p) / (4 * 5))
    assert [band for band, _ in found] == ["high", "high", "high", "low", "high", "low"], found
    assert found["low", 3] == pytest.approx((2 / 8) ** 2 / 4 / (2 * 3))


def test_calls_without_a_confidence_come_last_and_only_where_they_are_wanted(engine, make):
    con = engine(*(make(tool="silent") for _ in range(50)), *(make(tool="sure", confidence=0.99) for _ in range(3)))
    assert [row[0] for row in chosen(con, limit=5)] == ["sure"] * 3
    assert [row[0] for row in chosen(con, limit=5, without_confidence="yes")] == ["sure"] * 3 + ["silent"] * 2


def test_every_tool_and_band_has_its_turn(engine, make):
    records = [
        make(tool=tool, confidence=confidence)
        for tool in ("a", "b")
        for confidence in (0.1, 0.6, 0.95)
        for _ in range(200)
    ]
    found = Counter((tool, band) for tool, band, *_ in chosen(engine(*records), limit=24))
    assert found == dict.fromkeys([(tool, band) for tool in "ab" for band in ("low", "middle", "high")], 4)


def test_the_choice_is_the_same_for_a_seed_and_another_for_another(engine, make):
    con = engine(*(make(tool="a", confidence=0.9) for _ in range(200)))
    first = chosen(con, seed=1)
    assert first == chosen(con, seed=1)
    assert first != chosen(con, seed=2)
    assert len(first) == 20


def test_a_label_that_was_taken_back_leaves_the_call_to_label(engine, make):
    one = make(confidence=0.9)
    retraction = Outcome(labeled_at=START + timedelta(seconds=1), span_id=one.span_id)
    con = engine(one, label(one.span_id), retraction)
    assert [row[2] for row in chosen(con)] == [one.span_id]


def test_every_fifth_row_is_an_unread_result_while_there_are_any(engine, make):
    read = [make(tool="a", confidence=0.9) for _ in range(40)]
    unread = [make(tool=tool, rule_grade="unread") for tool in ("a", "b") for _ in range(30)]
    bands = [row[1] for row in chosen(engine(*read, *unread), limit=20)]
    assert bands == ["high", "high", "high", "high", "unread"] * 4
    assert [row[1] for row in chosen(engine(*read[:3], *unread), limit=5)] == ["high"] * 3 + ["unread"] * 2
    assert {row[1] for row in chosen(engine(*unread), limit=5)} == {"unread"}
    # an unread result with a confidence teaches about calibration like any other
    assert chosen(engine(make(confidence=0.9, rule_grade="unread")))[0][1] == "high"


@pytest.mark.long
def test_each_call_of_a_stratum_is_drawn_with_the_stated_probability(engine, make):
    """Over 200 seeds: 8 of 50 unlabelled calls of one band and 2 of 10 unread ones, whether they failed or not."""
    high = [make(tool="a", confidence=0.9, status="error" if i % 3 else "success") for i in range(50)]
    unread = [make(tool="a", rule_grade="unread") for _ in range(10)]
    con = engine(*high, *unread, make(tool="a", confidence=0.9, span_id="f" * 16), label("f" * 16))
    drawn: Counter[str] = Counter()
    for seed in range(200):
        rows = run(con, "to_label", seed=seed, limit=10).project("span_id, band, probability").fetchall()
        drawn.update(span for span, _, _ in rows)
        assert {row[1:] for row in rows} == {("high", 8 / 50), ("unread", 2 / 10)}
    # binomial: 32 of 200 with a standard deviation of 5.2, 40 with 5.7
    assert all(10 <= drawn[record.span_id] <= 56 for record in high)
    assert all(15 <= drawn[record.span_id] <= 66 for record in unread)
