"""The stops of one call: asked, decided, and how long that took."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.queries.answers import run
from tooltrace.core.records import Gate
from tooltrace.redact.snapshot import Json

ASKED = datetime(2026, 3, 1, tzinfo=UTC)


def test_a_stop_is_one_row_with_its_wait_and_another_calls_is_not_there(engine, make):
    asked = {"call_id": "a", "span_id": "s1", "kind": "confirmation", "asked_at": ASKED}
    answered = {"decision": "approved", "answered_at": ASKED + timedelta(milliseconds=1500), "answered_by": "ann"}
    con = engine(
        make(call_id="a", span_id="s1", ending="paused", status=None),
        Gate(**asked),
        Gate(**asked, **answered, changed=Json('{"n":1}'), resumed_span_id="s2"),
        Gate(call_id="a", span_id="s3", kind="input", asked_at=ASKED + timedelta(seconds=9)),
        Gate(call_id="b", span_id="s4", kind="input", asked_at=ASKED),
    )
    rows = (
        run(con, "call_gates", call_id="a")
        .project("span_id, kind, decision, waited_ms, answered_by, changed")
        .fetchall()
    )
    assert rows == [
        ("s1", "confirmation", "approved", 1500.0, "ann", '{"n":1}'),
        ("s3", "input", None, None, None, None),
    ]
