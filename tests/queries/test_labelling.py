"""How far a list of attempts is labelled."""

from __future__ import annotations

from tests.queries.answers import run
from tooltrace.core.records import Outcome

from .conftest import START


def label(**given) -> Outcome:
    return Outcome(**{"labeled_at": START, **given})


def test_the_list_keeps_its_order_and_has_the_labels_of_attempt_and_call(engine, make):
    first, second, third = make(call_id="a", confidence=0.9), make(call_id="b"), make(call_id="c")
    con = engine(
        first,
        second,
        third,
        label(span_id=third.span_id, correct=False, labeler="x"),
        label(span_id=third.span_id, correct=False, labeler="y"),
        label(call_id="a", score=0.8),
    )
    spans = f"{third.span_id},nothing,{first.span_id},{second.span_id}"
    found = run(con, "labelling", spans=spans).project("span_id, correct, labelers").fetchall()
    assert found == [(third.span_id, False, 2), (first.span_id, True, 1), (second.span_id, None, 0)]
    assert run(con, "labelling").fetchall() == []
