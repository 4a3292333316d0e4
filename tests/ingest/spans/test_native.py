"""Spans of tooltrace itself that come from elsewhere: the record is what it was."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from msgspec import structs

from tests.ingest.spans.conftest import Take, calls_of, mcp, tool
from tests.recording.test_span_codec import tool_calls
from tooltrace.core.records import Span, ToolCall
from tooltrace.ingest.spans import Assembler
from tooltrace.otel.span_codec import encode
from tooltrace.recording.settings import Settings
from tooltrace.redact.snapshot import Json

CALL = ToolCall(
    tool="add",
    call_id="c1",
    trace_id="0af7651916cd43dd8448eb211c80319c",
    span_id="b7ad6b7169203331",
    started_at=datetime(2026, 11, 1, tzinfo=UTC),
    duration_ms=12.5,
    status="partial",
    code="SHORT",
    confidence=0.75,
    signals=Json('{"title":0.5}'),
    arguments=Json('{"a":1}'),
    result=Json('{"sum":3}'),
    text="three",
    attributes=Json('{"user.note":"x"}'),
    service="shop",
    host="box",
    pid=7,
    recorder_version="0.0.1",
)


def test_a_record_comes_back_as_it_was(take: Take) -> None:
    assert take(encode(CALL)) == [CALL]


@given(tool_calls())
def test_any_record_comes_back_as_it_was(call: ToolCall) -> None:
    call = structs.replace(call, recorder_version="1")
    (read,) = Assembler(Settings(store=None)).convert([encode(call)])
    (again,) = Assembler(Settings(store=None)).convert([encode(read)] if isinstance(read, ToolCall) else [])
    assert again == read, "redaction takes nothing out twice"
    assert (read.span_id, read.trace_id) == (call.span_id, call.trace_id)
    if not read.redacted:
        assert read == call


def test_secrets_of_another_recorder_are_redacted(take: Take) -> None:
    secret = "sk-abcdefghijklmnopqrstuvwx"
    leaky = structs.replace(
        CALL, arguments=Json(f'{{"password":"hunter22","x":"{secret}"}}'), text=secret, error_message=secret
    )
    (call,) = calls_of(take(encode(leaky)))
    assert secret not in str(call)
    assert "hunter22" not in str(call)
    assert call.redacted is True
    assert (call.confidence, call.result, call.span_id) == (CALL.confidence, CALL.result, CALL.span_id)


def test_capture_metadata_applies_to_incoming_spans(take: Take) -> None:
    (call,) = calls_of(take(encode(CALL), capture="metadata"))
    assert (call.arguments, call.result, call.text, call.signals) == (None, None, None, None)
    assert (call.status, call.confidence) == ("partial", 0.75)


@pytest.mark.parametrize(
    ("name", "value"),
    [("tooltrace.duration_ms", "long"), ("tooltrace.attempt", 2**70), ("tooltrace.signals", "{"), ("tooltrace.cached", 1),
     ("tooltrace.status", 5), ("gen_ai.tool.name", None), ("tooltrace.version", 3)],
)  # fmt: skip
def test_an_incomplete_native_span_is_read_as_an_external_one(take: Take, name: str, value: Any) -> None:
    form = encode(CALL)
    (call,) = calls_of(take(replace(form, attributes={**form.attributes, name: value})))
    assert (call.tool, call.span_id, call.rule != CALL.rule) == ("add", CALL.span_id, True)
    assert call.confidence is None


@pytest.mark.parametrize("around", [True, False])
def test_a_call_with_native_and_external_spans_is_one_native_row(take: Take, around: bool) -> None:
    ours = encode(CALL)
    if around:
        other = tool("add", None, "c1")
        ours = replace(ours, trace_id=other.trace_id, parent_span_id=other.span_id)
    else:
        other = mcp("add", ours)
    records = take(other, ours)
    assert calls_of(records) == [structs.replace(CALL, trace_id=ours.trace_id, parent_span_id=ours.parent_span_id)]
    assert [record.span_id for record in records if isinstance(record, Span)] == [other.span_id]


def test_native_spans_are_never_duplicates_of_each_other(take: Take) -> None:
    inner = structs.replace(CALL, span_id="00000000000000aa", parent_span_id=CALL.span_id)
    assert take(encode(CALL), encode(inner)) == [CALL, inner]


def test_one_that_is_known_needs_no_record() -> None:
    outer = tool("add", None, "c1")
    ours = replace(encode(CALL), trace_id=outer.trace_id, parent_span_id=outer.span_id)
    assembler = Assembler(Settings(store=None))
    assembler.know([ours])
    (record,) = assembler.convert([outer])
    assert isinstance(record, Span)
