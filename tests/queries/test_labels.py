"""The outcomes of one call and of its attempts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.queries.answers import run
from tooltrace.core.records import Outcome


def test_labels_of_the_call_and_of_its_attempts_in_the_order_they_came(engine, make):
    first, second = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC)
    con = engine(
        make(call_id="a", span_id="s1"),
        Outcome(span_id="s1", score=0.5, labeler="judge", labeled_at=second),
        Outcome(call_id="a", correct=True, reason="seen", labeled_at=first),
        Outcome(call_id="b", correct=False, labeled_at=first),
    )
    assert run(con, "labels", call_id="a").project("span_id, correct, score, labeler, reason").fetchall() == [
        (None, True, None, "human", "seen"),
        ("s1", None, 0.5, "judge", None),
    ]


def test_labels_of_one_microsecond_have_the_same_outcome_in_either_order(engine, make):
    call = make(call_id="c", span_id="5" * 16)
    at = call.started_at + timedelta(minutes=1)
    labels = [
        Outcome(span_id=call.span_id, correct=correct, labeler="ann", labeled_at=at, score=score)
        for correct, score in ((True, 0.9), (False, 0.2))
    ]
    found = {
        engine(call, *given).execute("SELECT correct, score FROM judged").fetchone() for given in (labels, labels[::-1])
    }
    assert found == {(False, 0.2)}
