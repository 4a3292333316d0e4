"""MCP's results and JSON-RPC's answers, as objects and as data."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel

from tests.normalize.junk import JUNK, lost
from tooltrace.core.response import ToolResponse
from tooltrace.normalize import normalize
from tooltrace.normalize.protocols.langchain import RULE as LANGCHAIN
from tooltrace.normalize.protocols.mcp import RULES as MCP_RULES
from tooltrace.normalize.protocols.tool_blocks import RULES as BLOCK_RULES

RULES = (*MCP_RULES, LANGCHAIN, *BLOCK_RULES)


def read(value: Any) -> ToolResponse:
    return normalize(value, rules=RULES)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


class Mcp1(BaseModel):
    """The fields of mcp 1.x's class."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)
    meta: dict[str, Any] | None = Field(alias="_meta", default=None)
    content: list[Any]
    structuredContent: dict[str, Any] | None = None
    isError: bool = False


class Mcp2(BaseModel):
    """The fields of mcp 2.x's class."""

    model_config = ConfigDict(populate_by_name=True)
    meta: dict[str, Any] | None = Field(alias="_meta", default=None)
    content: list[Any]
    structured_content: Any = Field(alias="structuredContent", default=None)
    is_error: bool = Field(alias="isError", default=False)
    result_type: str = Field(alias="resultType", default="complete")


for kind, module in ((Mcp1, "mcp.types"), (Mcp2, "mcp_types._types")):
    kind.__module__, kind.__qualname__ = module, "CallToolResult"


@pytest.mark.parametrize("kind", [Mcp1, Mcp2])
@pytest.mark.parametrize("failed", [True, False])
@pytest.mark.parametrize("structured", [None, {"rows": 3}])
def test_object_and_every_dump_of_it_read_the_same(kind, failed, structured):
    result = kind.model_validate(
        {
            "content": [text("Rate limit exceeded"), {"type": "image", "data": "AAAA", "mimeType": "image/png"}],
            "structuredContent": structured,
            "isError": failed,
            "_meta": {"trace": "t1"},
        }
    )
    forms = [
        result,
        result.model_dump(),
        result.model_dump(by_alias=True),
        result.model_dump(by_alias=True, exclude_none=True),
        result.model_dump_json(),
        result.model_dump_json(by_alias=True),
    ]
    first, *others = map(read, forms)
    assert [other == first for other in others] == [True] * 5
    assert first.status == ("error" if failed else "success")
    assert first.code == ("RATE_LIMIT" if failed else None)
    assert first.text == "Rate limit exceeded\n<image>"
    assert first.payload == structured
    assert first.context == {
        "_meta": {"trace": "t1"},
        "content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}],
    }
    assert (first.meta.rule, first.meta.rule_grade) == ("mcp", "certain")


def test_a_failure_has_otels_error_type_and_its_text_for_message():
    found = read({"content": [text("Input validation error: 'x' is a required property")], "isError": True})
    assert found.error.type == "tool_error"
    assert found.error.message == "Input validation error: 'x' is a required property"
    assert found.code == "INVALID_PARAM"
    assert read({"content": [], "isError": True}).code == "EXECUTION_ERROR"


def test_a_failure_that_is_written_as_json_is_read_by_its_members():
    words = '{"error": {"code": "E_QUOTA", "message": "come back", "retryable": true, "suggestion": "wait", "type": "limit"}}'
    for result in ({"content": [text(words)], "isError": True}, {"content": words, "is_error": True}):
        found = read(result)
        assert (found.code, found.error.message, found.error.retryable) == ("E_QUOTA", "come back", True)
        assert (found.error.suggestion, found.error.type) == ("wait", "limit")
        assert found.text == words
    structured = read(
        {"content": [text("failed")], "structuredContent": {"status_code": 404, "message": "gone"}, "isError": True}
    )
    assert (structured.code, structured.error.message) == ("NOT_FOUND", "gone")
    assert structured.payload == {"status_code": 404, "message": "gone"}


def test_similar_members_are_not_an_error_code():
    found = read({"content": [text("boom")], "structuredContent": {"name": "Bob", "kind": "user"}, "isError": True})
    assert (found.code, found.error.message) == ("EXECUTION_ERROR", "boom")


@pytest.mark.parametrize("flag", ["true", "TRUE", 1])
def test_isError_that_is_not_a_boolean_counts_and_is_preserved(flag):
    found = read({"content": [text("no")], "structuredContent": None, "isError": flag})
    assert found.status == "error"
    assert found.context == {"is_error": flag}
    assert read({"content": [text("no")], "structuredContent": None, "isError": "false"}).status == "success"


@pytest.mark.parametrize(
    "value",
    [
        {"content": []},
        {"content": "plain words"},
        {"content": [text("a")], "role": "assistant"},
        {"content": [text("a")], "type": "message", "id": "msg_1"},
        {"content": [text("a")], "author": "me"},
        {"content": ["a", 1]},
        {"title": "x", "isError": True},
    ],
)
def test_objects_similar_to_a_result_are_not_matched(value):
    assert read(value).meta.rule == "plain"
    assert read(value).payload == value


def test_blocks_alone_under_content_are_a_result():
    found = read({"content": [text("a"), text("b")]})
    assert (found.meta.rule, found.text, found.payload, found.context) == ("mcp", "a\nb", None, None)


def test_a_message_with_a_role_is_another_protocols():
    message = {"role": "tool", "tool_call_id": "c1", "content": [text("no")], "is_error": True}
    found = read(message)
    assert (found.status, found.meta.rule, found.meta.call_id) == ("error", "openai_tool_output", "c1")


def test_a_mark_counts_though_it_is_null():
    found = read({"content": [text("a")], "structured_content": None, "meta": None, "note": "n"})
    assert (found.meta.rule, found.text, found.context) == ("mcp", "a", {"note": "n"})


def test_no_block_is_lost():
    blocks = [
        text("see"),
        {"type": "text", "text": "noted", "annotations": {"priority": 0.5}},
        {"type": "audio", "data": "UklG", "mimeType": "audio/wav"},
        {"type": "resource_link", "name": "log", "uri": "file:///e.log"},
        {"type": "resource", "resource": {"uri": "file:///d", "text": "inside"}},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": "QUJD"}},
    ]
    found = read({"content": blocks, "isError": False})
    assert found.text == "see\nnoted\n<audio>\n<resource_link>\ninside\n<resource>"
    assert found.context == {"content": blocks[1:]}


def test_fastmcps_repeated_structured_content_appears_once():
    result = {"content": [], "structured_content": {"result": [1, 2]}, "meta": None, "data": [1, 2], "is_error": False}
    assert (read(result).payload, read(result).context) == ({"result": [1, 2]}, None)
    assert read({**result, "data": "other"}).context == {"data": "other"}


def test_a_result_that_requests_input_is_partial():
    found = read({"resultType": "input_required", "inputRequests": {"r1": {"method": "elicitation/create"}}})
    assert (found.status, found.next_action, found.reason) == ("partial", "ask_user", "input required")
    assert found.context == {"inputRequests": {"r1": {"method": "elicitation/create"}}}


def test_a_failure_inside_a_successful_result_is_found():
    found = read(
        {"content": [text('{"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": "no"}}')], "isError": False}
    )
    assert (found.status, found.code, found.meta.rule) == ("error", "NOT_FOUND", "mcp/json_rpc")


@pytest.mark.parametrize("wrap", [lambda result: result, lambda result: {"jsonrpc": "2.0", "id": 1, "result": result}])
def test_words_are_content_in_an_answer_that_is_not_an_error(wrap):
    result = {"content": [text("Error: connection refused")]}
    assert normalize(wrap({**result, "isError": False})).status == "success"
    assert normalize(wrap(result)).status == "error"


@pytest.mark.parametrize(
    ("code", "message", "expected"),
    [
        (-32700, "Parse error", "INVALID_FORMAT"),
        (-32600, "Invalid Request", "INVALID_PARAM"),
        (-32601, "Method not found", "NOT_FOUND"),
        (-32602, "Invalid params", "INVALID_PARAM"),
        (-32602, "Unknown tool: nope", "NOT_FOUND"),
        (-32603, "connection pool", "INTERNAL_ERROR"),
        (-32000, "Connection closed", "NETWORK_ERROR"),
        (-32000, "Rate limit exceeded", "RATE_LIMIT"),
        (-32001, "Request timed out", "TIMEOUT"),
        (-32001, "Session not found", "NOT_FOUND"),
        (-32050, "it broke", "API_ERROR"),
        (-32050, "too many requests", "RATE_LIMIT"),
        (408, "no answer within 5 s", "TIMEOUT"),
        (12, "it broke", "API_ERROR"),
    ],
)
def test_json_rpcs_codes(code, message, expected):
    found = read({"jsonrpc": "2.0", "id": "q1", "error": {"code": code, "message": message, "data": {"tool": "x"}}})
    assert (found.status, found.code, found.error.type, found.error.message) == ("error", expected, str(code), message)
    assert (found.payload, found.context, found.meta.rule) == ({"tool": "x"}, {"id": "q1"}, "json_rpc")


def test_json_rpcs_success_is_opened():
    assert read({"jsonrpc": "2.0", "id": 1, "result": {"n": 2}}).payload == {"n": 2}
    assert read({"jsonrpc": "2.0", "id": 1, "error": None, "result": "done"}).text == "done"
    assert read({"jsonrpc": "2.0", "id": 1, "result": None}).status == "success"
    inner = {"jsonrpc": "2.0", "id": 1, "result": {"content": [text("no such file")], "isError": True}}
    assert (read(inner).status, read(inner).code, read(inner).meta.rule) == ("error", "NOT_FOUND", "mcp")
    assert read(inner).context == {"id": 1}


def test_json_rpc_requests_are_not_results():
    assert read({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "error": "x"}).meta.rule == "plain"


def test_the_classes_of_json_rpc():
    class ErrorData(BaseModel):
        code: int
        message: str
        data: Any = None

    class JSONRPCError(BaseModel):
        jsonrpc: str = "2.0"
        id: int
        error: ErrorData

    class JSONRPCMessage(RootModel[JSONRPCError]):
        pass

    ErrorData.__module__, ErrorData.__qualname__ = "mcp.types", "ErrorData"
    JSONRPCMessage.__module__, JSONRPCMessage.__qualname__ = "mcp.types", "JSONRPCMessage"
    error = ErrorData(code=-32602, message="Unknown tool: x")
    for value in (error, JSONRPCError(id=1, error=error), JSONRPCMessage(JSONRPCError(id=1, error=error))):
        assert (read(value).code, read(value).error.type) == ("NOT_FOUND", "-32602")


BLOCK = JUNK | st.one_of(
    st.builds(text, st.text()),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["image", "resource", "text"]), "data": JUNK, "resource": JUNK, "text": JUNK}
    ),
    st.fixed_dictionaries({"json": JUNK}),
)
NAMES = st.text(max_size=8) | st.sampled_from(
    ["Content", "is_error", "_meta", "meta", "data", "context", "content_", "rule", "said", "cls"]
)
RESULTS = st.builds(
    lambda extra, known: {**extra, **known},
    st.dictionaries(NAMES, JUNK, max_size=4),
    st.fixed_dictionaries(
        {"content": st.lists(BLOCK, max_size=4) | JUNK},
        optional={"isError": st.booleans() | JUNK, "structuredContent": JUNK, "_meta": JUNK, "resultType": JUNK},
    ),
)
ANSWERS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0")},
    optional={
        "is_error": JUNK,
        "content": JUNK,
        "id": JUNK,
        "result": RESULTS | JUNK,
        "error": JUNK
        | st.fixed_dictionaries(
            {}, optional={"code": st.integers(-32800, 600) | JUNK, "message": JUNK, "data": JUNK, "x": JUNK}
        ),
    },
)
CONSTANTS = {"text", "2.0", "input_required"}


@given(RESULTS | ANSWERS)
def test_any_field_values_are_accepted_and_preserved(value):
    found = read(value)
    assert set(lost(value, found)) <= CONSTANTS


@given(RESULTS)
def test_an_object_reads_as_its_fields_do(value):
    class CallToolResult(BaseModel):
        model_config = ConfigDict(extra="allow")

    CallToolResult.__module__, CallToolResult.__qualname__ = "mcp.types", "CallToolResult"
    held = CallToolResult()
    held.__pydantic_extra__.update(value)  # any name, also those that a constructor has for itself
    found = read(held)
    assert found.meta.rule.startswith("mcp")
    assert set(lost(value, found)) <= CONSTANTS
    if read(value).meta.rule.startswith("mcp"):
        assert read(value) == found
