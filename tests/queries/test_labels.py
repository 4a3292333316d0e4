"""The outcomes of one call and of its attempts."""

from __future__ import annotations

from datetime import UTC, datetime

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
