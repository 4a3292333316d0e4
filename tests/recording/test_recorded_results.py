"""Recorded results, confidences and sources of an attempt."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import tooltrace as tt
from tests.recording.shared_endings import Calls, R, one, raises
from tooltrace import toolutil
from tooltrace.core.confidence import Score


def test_a_result_is_recorded_as_it_is_normalized(calls: Calls) -> None:
    tool = tt.trace_tool(lambda x: x)
    for value in ("words", {"a": 1}, None, 0, False, [], ""):
        tool(value)
    seen = [(c.rule, c.rule_grade, c.text, c.result, c.status) for c in calls()]
    assert seen == [
        ("plain", "unread", "words", '"words"', "success"),
        ("plain", "unread", None, '{"a":1}', "success"),
        ("none", "unread", None, None, "success"),
        ("plain", "unread", None, "0", "success"),
        ("plain", "unread", None, "false", "success"),
        ("plain", "unread", None, "[]", "success"),
        ("plain", "unread", "", '""', "success"),
    ]


def test_everything_that_a_response_carries_is_recorded(calls: Calls) -> None:
    response = R.error(
        "ORDER_NOT_FOUND", "no such order", type="validation", retryable=True, suggestion="ask", user_message="Sorry",
        next_action="ask_user", text="the text", data={"n": 1}, confidence=0.5, signals={"overlap": 0.5},
        sources=[tt.Source(type="api", id="7", label="L", url="https://x.test", section="s")],
        stats={"rows": 1}, context={"k": "v"}, explanation="why", meta=tt.ResponseMeta(cached=True),
    )  # fmt: skip
    tool = tt.trace_tool(version="3", tool_type="datastore", name="orders", description="D")(lambda: response)
    assert tool() is response
    c = one(calls)
    assert (c.tool, c.tool_version, c.tool_type, c.tool_description) == ("orders", "3", "datastore", "D")
    assert (c.status, c.code, c.error_type, c.error_message) == (
        "error",
        "ORDER_NOT_FOUND",
        "validation",
        "no such order",
    )
    assert (c.retryable, c.suggestion, c.user_message, c.next_action) == (True, "ask", "Sorry", "ask_user")
    assert (c.text, c.result, c.confidence, c.signals) == ("the text", '{"n":1}', 0.5, '{"overlap":0.5}')
    assert json.loads(c.sources or "") == [
        {"type": "api", "id": "7", "label": "L", "url": "https://x.test", "section": "s"}
    ]
    assert (c.stats, c.context, c.explanation, c.cached) == ('{"rows":1}', '{"k":"v"}', "why", True)
    assert c.rule == "tool_response"


def test_secrets_in_the_signals_of_a_confidence_are_redacted(calls: Calls) -> None:
    """Also where nothing else in the call needs redaction."""
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    score = Score(0.9, {"password": "hunter2", "model": secret, "overlap": 0.5})
    tt.trace_tool(confidence=lambda _: score)(lambda: {"n": 1})()
    assert json.loads(one(calls).signals or "") == {"password": "[redacted]", "model": "[redacted]", "overlap": 0.5}


@pytest.mark.parametrize("good", [0, 1, 0.0, 1.0, 0.3, None])
def test_a_confidence_in_range_is_recorded(good: Any) -> None:
    assert R.success("x", confidence=good).confidence == good


@pytest.mark.parametrize("bad", [3, -1, math.nan, math.inf, "high", True])
def test_a_confidence_out_of_range_is_missing_and_flagged(calls: Calls, bad: Any) -> None:
    tt.trace_tool(confidence=lambda _: bad)(lambda: 1)()
    tt.trace_tool(lambda: R.model_construct(status="success", confidence=bad, meta=tt.ResponseMeta()))()
    for call in calls():
        assert call.confidence is None and call.flags == '["confidence_out_of_range"]'


def test_confidence_and_sources_of_the_decorator(calls: Calls) -> None:
    source = tt.Source(type="file", id="f")
    tt.trace_tool(confidence=0.25, sources=[source])(lambda: 1)()
    tt.trace_tool(confidence=lambda r: r / 10, sources=lambda r: [source])(lambda: 7)()
    tt.trace_tool(confidence=0.1)(lambda: R.success(confidence=0.9))()
    a, b, c = calls()
    assert (a.confidence, b.confidence, c.confidence) == (0.25, 0.7, 0.9)
    assert a.sources == b.sources == '[{"type":"file","id":"f"}]'


def test_a_reader_of_confidence_or_sources_that_raises_costs_neither_the_result_nor_the_record(calls: Calls) -> None:
    def bad(_: Any) -> Any:
        raise RuntimeError

    assert tt.trace_tool(confidence=bad, sources=bad)(lambda: 5)() == 5
    assert tt.trace_tool(sources=lambda _: ["no source"])(lambda: 5)() == 5
    assert [c.flags for c in calls()] == ['["confidence_failed","sources_failed"]', '["sources_failed"]']


def test_retryable_exceptions(calls: Calls) -> None:
    for options in ({}, {"retryable": KeyError}, {"retryable": [OSError, LookupError]}):
        with pytest.raises(KeyError):
            tt.trace_tool(**options)(raises(KeyError("k")))()
    assert [c.retryable for c in calls()] == [None, True, True]


@pytest.mark.parametrize(
    ("result", "stated"),
    [
        (R.error("TIMEOUT", "x"), (None, None)),
        ("错误: 文件不存在", (None, None)),
        (R.error("TIMEOUT", "x", retryable=True, next_action="retry"), (True, "retry")),
        ({"success": False, "error": {"type": "timeout", "message": "x", "retryable": False}, "nextAction": "stop"}, (False, "stop")),
        (toolutil.Fail("ORDER_NOT_FOUND", "x", False, "call list_orders"), (False, None)),
    ],
)  # fmt: skip
def test_a_row_has_the_advice_that_the_tool_stated_and_no_other(calls: Calls, result: Any, stated: Any) -> None:
    tt.trace_tool(lambda: result)()
    (call,) = calls()
    assert (call.retryable, call.next_action) == stated


def test_metadata_only(calls: Calls) -> None:
    tt.trace_tool(capture="metadata")(lambda secret: {"secret": secret})("x")
    tt.trace_tool(capture="metadata")(lambda: None)()
    tt.trace_tool(capture="metadata")(lambda: R.success("private", {"private": 1}, stats={"private": 1}))()
    list(tt.trace_tool(capture="metadata")(lambda: iter_private())())
    rows = calls()
    for call in rows:
        assert call.arguments is None and call.result is None and call.text is None
        assert "private" not in repr(call)
    assert [c.rule for c in rows] == ["plain", "none", "tool_response", "plain"]
    assert {c.status for c in rows} == {"success"}


def iter_private() -> Any:
    yield "private"


def test_an_unknown_option_is_refused_at_decoration() -> None:
    with pytest.raises(TypeError, match="nme"):
        tt.trace_tool(nme="x")  # type: ignore[call-overload]
    with pytest.raises(tt.TooltraceError):
        tt.trace_tool(capture="some")(lambda: 1)  # type: ignore[call-overload]
    with pytest.raises(tt.TooltraceError):
        tt.trace_tool(5)  # type: ignore[call-overload]


META = {"toolName": "searchDocs", "toolVersion": "7", "traceId": "tool_001", "durationMs": 183}


@pytest.mark.parametrize(
    ("result", "duration"),
    [
        ({"success": True, "data": 1, "meta": META}, 183),
        (tt.ToolResponse.success("x", stats={"time_ms": 245}), 245),
        ({"output": "x", "error": None, "tool_call_id": "c", "execution_time": 1.5}, 1500),
        ({"output": "x", "error": None, "tool_call_id": "c", "execution_time": 0.0}, None),
        (tt.ToolResponse.success("x", stats={"time_ms": "long"}), None),
        ("x", None),
    ],
)
def test_the_logger_records_the_duration_that_a_result_states(
    calls: Calls, result: Any, duration: float | None
) -> None:
    tt.TraceLogger().record("a", result)
    tt.TraceLogger().record("b", result, duration_ms=7)
    assert {call.tool: call.duration_ms for call in calls()} == {"a": duration, "b": 7}


def test_ids_of_an_envelope_that_are_not_the_records_own_are_kept(calls: Calls) -> None:
    envelope = {"success": True, "data": 1, "confidence": 0.5, "meta": META}
    tt.trace_tool(lambda: envelope, name="search")()
    tt.trace_tool(lambda: envelope, name="searchDocs", version="8")()
    tt.TraceLogger().record("logged", envelope)
    found = {call.tool: (json.loads(call.context or "{}"), call.tool_version) for call in calls()}
    ids = {"toolName": "searchDocs", "traceId": "tool_001"}
    assert found == {"search": (ids, "7"), "searchDocs": ({"traceId": "tool_001"}, "8"), "logged": (ids, "7")}


@pytest.mark.parametrize(
    "failed",
    [
        {"success": False, "data": None, "confidence": 0, "error": {"type": "timeout", "message": "late"}},
        {"success": False, "error": {"code": "MINE", "message": "no", "retryable": False}},
        {"output": "", "error": "no permission", "tool_call_id": "c", "name": "shell"},
        {"status": "error", "text": "no", "data": {}, "error": {"code": "MINE", "message": "no"}},
    ],
)
def test_a_failure_without_data_keeps_no_envelope_as_its_result(calls: Calls, failed: dict[str, Any]) -> None:
    tt.trace_tool(lambda: failed, name="f")()
    tt.TraceLogger().record("f", failed)
    registry = tt.ToolRegistry()
    registry.register(lambda: failed, name="f")
    registry.execute("f")
    assert [(call.status, call.result) for call in calls()] == [("error", None)] * 3
