"""The gap of a window and of the one before: the one that calibration tells of each."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from tests.queries.answers import run
from tooltrace.core.records import Outcome

from .conftest import START

LATER = START + timedelta(days=1)


def answer(con, name="gap", **given):
    relation = run(con, name, **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def judged(make, n=600, seed=2):
    draw = random.Random(seed)
    for number in range(n):
        call = make(
            started_at=draw.choice([START, LATER]), confidence=draw.choice([None, draw.random(), 7.0]), status=draw.choice([None, "success", "error"]),
            conversation_id=draw.choice([None, f"s{number // 6}"]), tool=draw.choice(["search", "fetch"]),
        )  # fmt: skip
        yield call
        if draw.random() < 0.8:
            yield Outcome(span_id=call.span_id, correct=draw.random() < 0.6, labeled_at=LATER)


@pytest.mark.parametrize("tool", [None, "search"])
def test_the_gap_equals_that_of_calibration(engine, make, tool):
    con = engine(*judged(make))
    now, before = answer(con, since=LATER, before=START, tool=tool)
    assert (now["period"], before["period"]) == ("now", "before")
    for row, window in ((now, {"since": LATER}), (before, {"since": START, "until": LATER})):
        (whole,) = answer(con, "calibration", by=[], tool=tool, **window)
        for name in ("n", "mean_confidence", "accuracy", "gap", "gap_low", "gap_high", "too_few"):
            assert row[name] == pytest.approx(whole[name]), name
        assert row["n"] > 10


def test_tools_without_labels_have_no_row(engine, make):
    con = engine(make(confidence=0.5), make(confidence=0.9))
    assert answer(con) == []


def test_one_conversation_alone_has_no_interval(engine, make):
    call = make(confidence=0.75)
    (row,) = answer(engine(call, Outcome(span_id=call.span_id, correct=False, labeled_at=LATER)))
    assert (row["n"], row["gap"], row["gap_low"], row["gap_high"], row["too_few"]) == (1, 0.75, None, None, True)
