"""Tool results in the blocks and messages of the model APIs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.normalize.junk import JUNK, lost
from tooltrace.core.response import ToolResponse
from tooltrace.normalize import normalize
from tooltrace.normalize.protocols.langchain import RULE as LANGCHAIN
from tooltrace.normalize.protocols.mcp import RULES as MCP_RULES
from tooltrace.normalize.protocols.tool_blocks import RULES as BLOCK_RULES

RULES = (*MCP_RULES, LANGCHAIN, *BLOCK_RULES)


def read(value: Any) -> ToolResponse:
    return normalize(value, rules=RULES)


FAULT = '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}}'


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


# Anthropic


@pytest.mark.parametrize("content", ["connection refused", [text("connection refused")]])
@pytest.mark.parametrize("failed", [True, False, None])
def test_anthropics_tool_result(content, failed):
    block = {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": content,
        "cache_control": {"type": "ephemeral"},
    }
    block |= {} if failed is None else {"is_error": failed}
    found = read(block)
    assert found.status == ("error" if failed else "success")
    assert found.code == ("NETWORK_ERROR" if failed else None)
    assert (found.text, found.meta.call_id) == ("connection refused", "toolu_1")
    assert found.context == {"cache_control": {"type": "ephemeral"}}
    assert (found.meta.rule, found.meta.rule_grade) == ("anthropic_tool_result", "certain")
    assert read([block]) == found
    assert read({"role": "user", "content": [block]}) == found


def test_two_blocks_are_not_one_result():
    block = {"type": "tool_result", "tool_use_id": "a", "content": "x", "is_error": True}
    assert read([block, block]).meta.rule == "plain"
    assert read({"role": "user", "content": [block, text("go on")]}).meta.rule == "plain"


def test_mcps_content_of_that_name_has_other_spellings():
    found = read(
        {
            "type": "tool_result",
            "toolUseId": "t",
            "content": [text("no")],
            "structuredContent": {"n": 1},
            "isError": True,
        }
    )
    assert (found.status, found.meta.call_id, found.payload) == ("error", "t", {"n": 1})


def test_a_failure_inside_a_successful_block_is_found():
    for block in (
        {"type": "tool_result", "tool_use_id": "a", "content": FAULT},
        {"role": "tool", "tool_call_id": "a", "content": FAULT},
        {"type": "function_call_output", "call_id": "a", "output": FAULT},
        {"functionResponse": {"id": "a", "name": "f", "response": {"output": FAULT}}},
        {"toolResult": {"toolUseId": "a", "content": [{"text": FAULT}], "status": "success"}},
    ):
        found = read(block)
        assert (found.status, found.code, found.meta.call_id) == ("error", "NOT_FOUND", "a")
        assert found.meta.rule.endswith("/json_rpc")


RAN = {"type": "code_execution_result", "stdout": "1\n", "stderr": "", "return_code": 0, "content": []}
TRACE = 'Traceback (most recent call last):\n  File "/usr/lib/json/network.py", line 1\nValueError: boom\n'


def test_code_that_ran():
    found = read(RAN)
    assert (found.status, found.text, found.payload["return_code"]) == ("success", "1\n", 0)
    assert found.meta.rule == "anthropic_server_tool"


def test_code_that_printed_a_failure_and_ended_well_succeeded():
    assert read({**RAN, "stdout": FAULT}).status == "success"


@pytest.mark.parametrize(
    ("stderr", "status", "code", "message"),
    [
        (TRACE, 1, "EXECUTION_ERROR", "ValueError: boom"),
        ("cat: x: No such file or directory", 1, "NOT_FOUND", "cat: x: No such file or directory"),
        ("", 124, "TIMEOUT", "1\n"),
        ("", 2, "EXECUTION_ERROR", "1\n"),
    ],
)
def test_code_that_failed(stderr, status, code, message):
    inner = {**RAN, "type": "bash_code_execution_result", "stderr": stderr, "return_code": status}
    outer = {"type": "bash_code_execution_tool_result", "tool_use_id": "s1", "content": inner}
    for value in (inner, outer):
        found = read(value)
        assert (found.status, found.code, found.error.message) == ("error", code, message)
        assert found.payload == {name: value for name, value in inner.items() if name != "type"}
    assert read(outer).meta.call_id == "s1"


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("too_many_requests", "RATE_LIMIT"),
        ("unavailable", "SERVICE_UNAVAILABLE"),
        ("overloaded", "SERVICE_UNAVAILABLE"),
        ("execution_time_exceeded", "TIMEOUT"),
        ("invalid_tool_input", "INVALID_PARAM"),
        ("query_too_long", "INVALID_PARAM"),
        ("url_not_allowed", "PERMISSION_DENIED"),
        ("unsupported_content_type", "INVALID_FORMAT"),
        ("file_not_found", "NOT_FOUND"),
        ("something_new", "EXECUTION_ERROR"),
    ],
)
def test_the_error_codes_of_anthropics_own_tools(word, code):
    error = {"type": "web_fetch_tool_result_error", "error_code": word}
    for value in (error, {"type": "web_fetch_tool_result", "tool_use_id": "s", "content": error}):
        assert (read(value).status, read(value).code, read(value).error.type) == ("error", code, word)


def test_a_search_that_used_all_its_turns_is_not_to_be_tried_again():
    found = read({"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"})
    assert (found.code, found.error.retryable, found.next_action) == ("RATE_LIMIT", False, "continue")


def test_a_search_about_errors_is_a_success():
    hits = [{"type": "web_search_result", "title": "Error: timeout", "url": "http://x/error"}]
    found = read({"type": "web_search_tool_result", "tool_use_id": "s", "content": hits})
    assert (found.status, found.payload) == ("success", hits)


# OpenAI


def test_openais_tool_message():
    found = read({"role": "tool", "tool_call_id": "call_1", "name": "f", "content": "sunny"})
    assert (found.status, found.text, found.context) == ("success", "sunny", None)
    assert (found.meta.call_id, found.meta.tool_name, found.meta.rule) == ("call_1", "f", "openai_tool_output")
    assert (
        read({"role": "tool", "tool_call_id": "c", "content": "too many requests", "status": "error"}).code
        == "RATE_LIMIT"
    )


@pytest.mark.parametrize(
    "message", [{"role": "user", "content": "x"}, {"role": "tool", "content": "x"}, {"role": "tool", "id": 1}]
)
def test_other_messages_are_not_matched(message):
    assert (read(message).meta.rule, read(message).payload) == ("plain", message)


@pytest.mark.parametrize("kind", ["function_call_output", "custom_tool_call_output"])
def test_openais_output_item(kind):
    item = {
        "id": "i",
        "type": kind,
        "call_id": "c",
        "output": [{"type": "input_text", "text": "sunny"}],
        "status": "completed",
    }
    found = read(item)
    assert (found.status, found.text, found.context, found.meta.call_id) == ("success", "sunny", {"id": "i"}, "c")
    unfinished = read({**item, "status": "incomplete"})
    assert (unfinished.status, unfinished.reason, unfinished.text) == ("partial", "incomplete", "sunny")


def test_openais_patch_that_failed():
    found = read(
        {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": "no such file: a.py"}
    )
    assert (found.status, found.code) == ("error", "NOT_FOUND")


@pytest.mark.parametrize(
    ("outcome", "status", "code"),
    [
        ({"type": "exit", "exit_code": 0}, "success", None),
        ({"type": "exit", "exit_code": 127}, "error", "NOT_FOUND"),
        ({"type": "timeout"}, "error", "TIMEOUT"),
    ],
)
def test_openais_shell(outcome, status, code):
    runs = [{"stdout": "a", "stderr": "", "outcome": outcome}]
    found = read({"type": "shell_call_output", "call_id": "c", "output": runs, "status": "completed"})
    assert (found.status, found.code, found.text, found.payload) == (status, code, "a", runs)


def test_openais_mcp_call():
    call = {"type": "mcp_call", "id": "m", "name": "f", "server_label": "s", "arguments": "{}", "output": None}
    assert read({**call, "error": "timed out"}).code == "TIMEOUT"
    assert read({**call, "error": {"type": "http_error", "code": 404, "message": "gone"}}).code == "NOT_FOUND"
    execution = read({**call, "error": {"type": "mcp_tool_execution_error", "content": [text("permission denied")]}})
    assert (execution.code, execution.error.message) == ("PERMISSION_DENIED", "permission denied")
    assert read({**call, "output": "fine", "error": None}).text == "fine"


# Gemini


def test_geminis_function_response():
    block = {"id": "c", "name": "f", "response": {"output": {"t": 3}, "unit": "C"}, "scheduling": "SILENT"}
    found = read(block)
    assert (found.status, found.payload, found.context) == ("success", {"t": 3}, {"scheduling": "SILENT", "unit": "C"})
    assert (found.meta.call_id, found.meta.tool_name, found.meta.rule) == ("c", "f", "gemini_function_response")
    parts = [{"functionResponse": block}, {"function_response": block, "text": None}, [{"functionResponse": block}]]
    for value in (*parts, {"role": "user", "parts": [{"functionResponse": block}]}):
        assert read(value) == found


@pytest.mark.parametrize(
    ("response", "status"),
    [
        ({"error": "quota exceeded"}, "error"),
        ({"error": {"message": "quota exceeded"}, "output": "half"}, "error"),
        ({"error": None, "output": "all"}, "success"),
        ({"error": "", "output": "all"}, "success"),
        ({"error": 0.03, "value": 1.2}, "success"),
        ({"temperature": 3}, "success"),
        ({}, "success"),
    ],
)
def test_geminis_error_key(response, status):
    found = read({"functionResponse": {"name": "f", "response": response}})
    assert (found.status, found.code) == (status, "RATE_LIMIT" if status == "error" else None)
    assert lost(response, found) == []


def test_a_person_with_a_response_is_not_geminis():
    person = {"name": "Bob", "response": {"error": "x"}, "age": 3}
    assert read(person).payload == person
    assert read({"name": "Bob", "response": "yes"}).meta.rule == "plain"


# Bedrock


@pytest.mark.parametrize("status", ["success", "error"])
def test_bedrocks_tool_result(status):
    inner = {"toolUseId": "t", "content": [{"text": "no such key"}, {"json": {"n": 1}}], "status": status}
    found = read({"toolResult": inner})
    assert (found.status, found.code) == (status, "NOT_FOUND" if status == "error" else None)
    assert (found.text, found.payload, found.context, found.meta.call_id) == ("no such key", {"n": 1}, None, "t")
    for value in (inner, [inner], {"role": "user", "content": [{"toolResult": inner}]}):
        assert read(value) == found


def test_several_json_blocks_are_a_list():
    found = read({"toolUseId": "t", "content": [{"json": 1}, {"json": {"n": 2}}, {"image": {"format": "png"}}]})
    assert (found.payload, found.context) == ([1, {"n": 2}], {"content": [{"image": {"format": "png"}}]})


# content without a message


def test_content_blocks_alone():
    image = {"type": "image", "data": "AAAA"}
    found = read([text("see"), image])
    assert (found.text, found.payload, found.context, found.meta.rule) == (
        "see\n<image>",
        None,
        {"content": [image]},
        "content_blocks",
    )
    assert read([text(FAULT)]).code == "NOT_FOUND"
    for value in ([text("a"), {"type": "row", "text": "b"}], [{"type": "image", "data": "A"}], [text("a"), 1], []):
        assert read(value).payload == value


# all


class Block(BaseModel):
    type: str
    tool_use_id: str
    content: list[dict[str, Any]]
    is_error: bool | None = None
    cache_control: dict[str, Any] | None = None


def test_an_object_reads_as_its_dump():
    block = Block(type="tool_result", tool_use_id="t", content=[text("no such file")], is_error=True)
    assert read(block) == read(block.model_dump()) == read(block.model_dump_json(exclude_none=True))
    assert read(block).code == "NOT_FOUND"


NAMES = st.text(max_size=8) | st.sampled_from(
    ["Content", "context", "content_", "is_error", "output_", "said", "error", "name"]
)
EXTRA = st.dictionaries(NAMES, JUNK, max_size=3)
WORDS = st.sampled_from(["success", "error", "failed", "completed", "incomplete"]) | JUNK
BLOCKS = st.lists(JUNK | st.builds(text, st.text()) | st.fixed_dictionaries({"json": JUNK}), max_size=3) | JUNK
RUNS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["code_execution_result", "bash_code_execution_result"]),
        "return_code": st.integers(0, 3) | JUNK,
    },
    optional={"stdout": JUNK, "stderr": JUNK, "content": BLOCKS},
)
ERRORS = st.fixed_dictionaries(
    {"type": st.just("web_fetch_tool_result_error"), "error_code": st.text() | JUNK},
    optional={"error_message": JUNK, "x": JUNK},
)
OUTCOME = st.fixed_dictionaries({"type": st.sampled_from(["exit", "timeout"]), "exit_code": st.integers(0, 2) | JUNK})
SHELL = st.lists(JUNK | st.fixed_dictionaries({"stdout": JUNK, "stderr": JUNK, "outcome": OUTCOME | JUNK}), max_size=3)


def shape(required: dict[str, Any], **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    known = st.fixed_dictionaries(
        {n: s if isinstance(s, st.SearchStrategy) else st.just(s) for n, s in required.items()}, optional=optional
    )
    return st.builds(lambda extra, own: {**extra, **own}, EXTRA, known)


FUNCTION = shape(
    {"name": JUNK, "response": JUNK | shape({}, output=JUNK, error=JUNK)}, id=JUNK, parts=JUNK, willContinue=JUNK
)
INNER = shape({"toolUseId": JUNK, "content": BLOCKS}, status=WORDS)
SHAPES = st.one_of(
    shape(
        {"type": "tool_result", "content": BLOCKS},
        tool_use_id=JUNK,
        is_error=JUNK,
        status=WORDS,
        structuredContent=JUNK,
    ),
    shape({"type": "web_fetch_tool_result", "content": RUNS | ERRORS | BLOCKS}, tool_use_id=JUNK),
    RUNS,
    ERRORS,
    shape({"role": "tool", "content": BLOCKS, "tool_call_id": JUNK}, status=WORDS, is_error=JUNK, name=JUNK),
    shape({"type": "function_call_output", "output": BLOCKS}, call_id=JUNK, status=WORDS),
    shape({"type": "shell_call_output", "output": SHELL | JUNK}, call_id=JUNK, status=WORDS),
    shape({"type": "mcp_call", "output": JUNK, "error": JUNK | shape({}, content=BLOCKS, code=JUNK)}, status=WORDS),
    FUNCTION,
    shape({"functionResponse": FUNCTION | JUNK}),
    INNER,
    shape({"toolResult": INNER | JUNK}, cachePoint=JUNK),
    BLOCKS,
)
CONSTANTS = {
    "tool_result", "web_fetch_tool_result", "web_fetch_tool_result_error", "code_execution_result",
    "bash_code_execution_result", "tool", "function_call_output", "shell_call_output", "mcp_call", "text",
    "success", "error", "failed", "completed", "incomplete",
}  # fmt: skip


@given(SHAPES, st.booleans())
def test_any_field_values_are_accepted_and_preserved(value, listed):
    found = read([value] if listed else value)
    assert set(lost(value, found)) <= CONSTANTS


@pytest.mark.parametrize("failed", [True, False])
def test_lettas_tool_return(failed: bool) -> None:
    found = read({"type": "tool_return", "tool_call_id": "c7", "content": "no such memory", "is_error": failed})
    assert (found.status, found.text, found.meta.call_id) == ("error" if failed else "success", "no such memory", "c7")
    assert found.code == ("NOT_FOUND" if failed else None)
