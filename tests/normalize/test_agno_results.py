"""Agno's results: ToolResult, FunctionExecutionResult and ToolExecution."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.normalize.junk import JUNK, lost
from tooltrace.core.response import ToolResponse
from tooltrace.normalize import normalize
from tooltrace.normalize.protocols.agno import RULES as AGNO_RULES
from tooltrace.normalize.protocols.mcp import RULES as MCP_RULES

RULES = (*AGNO_RULES, *MCP_RULES)


def read(value: Any) -> ToolResponse:
    return normalize(value, rules=RULES)


class ToolResult(BaseModel):
    """The fields of Agno's class."""

    content: Any
    metadata: dict[str, Any] | None = None
    images: list[Any] | None = None
    videos: list[Any] | None = None
    audios: list[Any] | None = None
    files: list[Any] | None = None


class FunctionExecutionResult(BaseModel):
    """The fields of Agno's class."""

    status: str
    result: Any = None
    error: str | None = None
    updated_session_state: dict[str, Any] | None = None
    images: list[Any] | None = None
    videos: list[Any] | None = None
    audios: list[Any] | None = None
    files: list[Any] | None = None


@dataclasses.dataclass
class ToolExecution:
    """The fields of Agno's class."""

    tool_call_id: str | None = None
    tool_name: str | None = None
    tool_args: dict[str, Any] | None = None
    tool_call_error: bool | None = None
    result: str | None = None
    metrics: dict[str, Any] | None = None
    stop_after_tool_call: bool = False
    created_at: int = 1_700_000_000
    requires_confirmation: bool | None = None
    confirmed: bool | None = None
    confirmation_note: str | None = None
    requires_user_input: bool | None = None
    external_execution_required: bool | None = None


ToolResult.__module__ = FunctionExecutionResult.__module__ = "agno.tools.function"
ToolExecution.__module__ = "agno.models.response"


def both(value: Any) -> ToolResponse:
    """The reading of an object, which is that of its dump."""
    dump = dataclasses.asdict(value) if dataclasses.is_dataclass(value) else value.model_dump()
    assert read(dump) == read(value)
    return read(value)


def test_the_media_of_a_tool_result_are_recorded():
    found = both(ToolResult(content="a chart", images=[{"url": "http://x/y.png"}]))
    assert (found.status, found.text, found.payload) == ("success", "a chart", None)
    assert found.context == {"images": [{"url": "http://x/y.png"}]}
    assert found.meta.rule == "agno_tool_result"


def test_a_tool_results_structured_content_is_its_data():
    found = both(ToolResult(content="1", metadata={"meta": {"m": 1}, "structured_content": {"n": 1}}))
    assert (found.payload, found.context) == ({"n": 1}, {"metadata": {"meta": {"m": 1}}})


def test_an_execution_that_succeeded():
    found = both(FunctionExecutionResult(status="success", result={"n": 1}, updated_session_state={"s": 2}))
    assert (found.status, found.payload, found.context) == ("success", {"n": 1}, {"updated_session_state": {"s": 2}})
    assert both(FunctionExecutionResult(status="success", result="words")).text == "words"


def test_an_execution_has_the_status_of_its_tool_result():
    inner = ToolResult(content="a chart", images=[{"url": "u"}])
    found = both(FunctionExecutionResult(status="success", result=inner))
    assert (found.text, found.payload) == ("a chart", None)
    assert found.context == {"images": [{"url": "u"}]}


def test_an_execution_that_failed():
    found = both(FunctionExecutionResult(status="failure", error="request timed out", result={"so": "far"}))
    assert (found.status, found.code, found.error.message) == ("error", "TIMEOUT", "request timed out")
    assert found.payload == {"so": "far"}
    assert both(FunctionExecutionResult(status="failure")).code == "EXECUTION_ERROR"


def test_a_call_on_record():
    metrics = {"start_time": 5.0, "duration": 0.25}
    found = both(ToolExecution("c1", "fetch", {"q": "x"}, tool_call_error=False, result="words", metrics=metrics))
    assert (found.status, found.text) == ("success", "words")
    assert (found.meta.call_id, found.meta.tool_name, found.meta.duration_ms) == ("c1", "fetch", 250.0)
    assert found.stats == metrics
    assert found.context["tool_args"] == {"q": "x"}


def test_a_call_on_record_that_failed():
    found = both(ToolExecution("c1", "fetch", tool_call_error=True, result="permission denied"))
    assert (found.status, found.code, found.meta.rule) == ("error", "PERMISSION_DENIED", "agno_tool_execution")


@pytest.mark.parametrize("result", [None, "Function call was rejected by the user"])
@pytest.mark.parametrize("flag", [True, None])
def test_a_declined_call_is_not_a_failure(flag, result):
    call = ToolExecution("c1", "rm", tool_call_error=flag, result=result, requires_confirmation=True, confirmed=False)
    found = both(dataclasses.replace(call, confirmation_note="too risky"))
    assert (found.status, found.code, found.meta.rule) == ("success", "DECLINED", "agno_declined")
    assert found.text == (result or "too risky")
    assert found.context["confirmation_note"] == "too risky"
    assert found.context["confirmed"] is False


def test_an_approved_call_can_fail():
    call = ToolExecution(
        "c1", "rm", tool_call_error=True, result="no such file", requires_confirmation=True, confirmed=True
    )
    assert (both(call).status, both(call).code) == ("error", "NOT_FOUND")


@pytest.mark.parametrize(
    ("gate", "step"),
    [
        ("requires_confirmation", "human_review"),
        ("requires_user_input", "ask_user"),
        ("external_execution_required", None),
    ],
)
def test_a_call_that_waits_is_partial(gate, step):
    found = both(ToolExecution("c1", "rm", **{gate: True}))
    assert (found.status, found.next_action, found.code) == ("partial", step, None)
    assert found.reason.startswith("waits for")


def test_a_failure_inside_a_success_is_found():
    words = '{"jsonrpc": "2.0", "error": {"code": -32601, "message": "no"}}'
    for value in (ToolResult(content=words), FunctionExecutionResult(status="success", result=words)):
        assert (both(value).status, both(value).code) == ("error", "NOT_FOUND")
    assert (
        both(ToolExecution("c", "n", tool_call_error=False, result=words)).meta.rule == "agno_tool_execution/json_rpc"
    )


@pytest.mark.parametrize(
    "value",
    [
        {"content": "a page", "images": ["x.png"]},
        {"status": "success", "result": 1, "error": None},
        {"tool_name": "saw", "result": "sharp"},
    ],
)
def test_similar_objects_are_not_matched(value):
    assert (read(value).meta.rule, read(value).payload) == ("plain", value)


NAMES = st.text(max_size=8) | st.sampled_from(["Content", "context", "metadata_", "status_", "Result", "is_error"])
EXTRA = st.dictionaries(NAMES, JUNK, max_size=4)


def shaped(kind: Any, **known: Any) -> st.SearchStrategy[Any]:
    """Objects of ``kind`` and their dicts, with anything in the fields that are not ``known``."""
    fields = getattr(kind, "model_fields", None) or kind.__dataclass_fields__
    values = {name: known.get(name, JUNK) for name in fields}
    return st.builds(lambda extra, own: (kind, {**extra, **own}), EXTRA, st.fixed_dictionaries(values))


SHAPES = st.one_of(
    shaped(
        ToolResult,
        content=st.text() | JUNK,
        metadata=JUNK | st.fixed_dictionaries({"structured_content": JUNK, "x": JUNK}),
    ),
    shaped(
        FunctionExecutionResult,
        status=st.sampled_from(["success", "failure"]) | JUNK,
        result=JUNK | st.fixed_dictionaries({"content": JUNK, "images": JUNK, "videos": JUNK, "audios": JUNK}),
    ),
    shaped(
        ToolExecution,
        tool_call_error=st.booleans() | JUNK,
        confirmed=st.booleans() | JUNK,
        requires_confirmation=st.booleans(),
        metrics=JUNK | st.fixed_dictionaries({"duration": JUNK}),
    ),
)


@given(SHAPES)
def test_any_field_values_are_accepted_and_preserved(shape):
    kind, fields = shape
    found = read(fields)
    assert set(lost(fields, found)) <= {"success", "failure"}
    if set(fields) == set(getattr(kind, "model_fields", None) or kind.__dataclass_fields__):
        held = kind.model_construct(**fields) if issubclass(kind, BaseModel) else kind(**fields)
        assert read(held) == found
