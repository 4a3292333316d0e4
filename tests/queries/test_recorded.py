"""The query counts what was recorded, and shows what is missing for other queries."""

from __future__ import annotations

from datetime import timedelta

from tests.queries.answers import run
from tests.queries.conftest import START
from tooltrace.core.records import Gate, Outcome


def test_each_kind_of_data_is_counted(engine, make):
    calls = [
        make(confidence=0.9, next_action="continue", tool_version="1"),
        make(confidence=0.4, sources='[{"type":"document","id":"a"},{"type":"document","id":"b"}]'),
        make(status="error"),
        make(status="error", attempt=2),
        make(status=None, ending="paused", started_at=START + timedelta(minutes=1)),
        make(tool="fetch"),
        make(status=None, ending="refused", code="CALL_LIMIT"),
    ]
    labels = [
        Outcome(call_id=call.call_id, span_id=call.span_id, correct=True, labeler="h", labeled_at=START)
        for call in (calls[0], calls[2])
    ]
    gate = Gate(call_id=calls[4].call_id, span_id=calls[4].span_id, kind="confirmation", asked_at=START)
    relation = run(engine(*calls, *labels, gate), "recorded")
    rows = {row[0]: dict(zip(relation.columns[1:], row[1:], strict=True)) for row in relation.fetchall()}
    last = rows["search"].pop("last_at")
    assert last.minute == START.minute + 1
    assert rows["search"] == {
        "attempts": 5, "finished": 4, "failed": 2, "refused": 1, "confidence": 2, "labelled": 2, "calibrated": 1, "sourced": 1, "advised": 1,
        "approvals": 1, "retries": 1, "versioned": 1,
    }  # fmt: skip
    assert {name for name, value in rows["fetch"].items() if value} == {"attempts", "finished", "last_at"}
