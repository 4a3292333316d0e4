"""Transcripts of Codex: which rows they become."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .claude_lines import at

SESSION = "01a22766-2498-7eb2-a752-01065867ecd8"
CALL = "call_0010abcdefghijklmnop"
META = {"id": SESSION, "cwd": "/home/ada/shop", "cli_version": "0.171.0", "source": "cli", "git": {"branch": "main"}}


def line(second: float, kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": at(second), "type": kind, "payload": payload}


def item(second: float, kind: str, **members: Any) -> dict[str, Any]:
    return line(second, "response_item", type=kind, **members)


def event(second: float, kind: str, **members: Any) -> dict[str, Any]:
    return line(second, "event_msg", type=kind, **members)


def asks(second: float, call_id: str = CALL, name: str = "exec_command", **more: Any) -> dict[str, Any]:
    return item(second, "function_call", call_id=call_id, name=name, arguments='{"cmd": "make"}', **more)


def answers(second: float, output: Any, call_id: str = CALL) -> dict[str, Any]:
    return item(second, "function_call_output", call_id=call_id, output=output)


BEGIN = (line(0, "session_meta", **META), line(0.1, "turn_context", turn_id="t1", model="gpt-5.2-codex"))
HEAD = "Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code {}\nOriginal token count: 9\nOutput:\n{}"

ENDINGS = [
    # output → status, ending, code
    (HEAD.format(0, "error.log\n"), "success", "returned", None),
    (HEAD.format(3, ""), "error", "returned", "EXECUTION_ERROR"),
    (HEAD.format(2, "ls: cannot access 'x': No such file or directory"), "error", "returned", "NOT_FOUND"),
    ("Exit code: 124\nWall time: 10 seconds\nOutput:\ncommand timed out after 10000 milliseconds", "error", "returned", "TIMEOUT"),
    ('{"output":"boom","metadata":{"exit_code":2,"duration_seconds":0.5}}', "error", "returned", "EXECUTION_ERROR"),
    ({"content": "it broke", "success": False}, "error", "returned", "EXECUTION_ERROR"),
    ([{"type": "input_text", "text": "fine"}, {"type": "input_image", "image_url": "data:…"}], "success", "returned", None),
    ("unsupported call: foo", None, "refused", "NOT_FOUND"),
    ("failed to parse function arguments: missing field `cmd`", None, "refused", "INVALID_PARAM"),
    ("approval policy is Never; reject command — you cannot ask", None, "refused", "BLOCKED"),
    ("exec command rejected by user", None, "declined", None),
    ("aborted by user after 3.2s", None, "cancelled", "CANCELLED"),
]  # fmt: skip


@pytest.mark.parametrize(("output", "status", "ending", "code"), ENDINGS)
def test_a_result_says_how_the_call_ended(read, output, status, ending, code):
    found = read(*BEGIN, asks(1), answers(3, output))
    (call,) = found.calls
    assert (call.status, call.ending, call.code, call.duration_ms) == (status, ending, code, 2000)
    assert not found.losses and not found.result.skipped


def test_a_call_has_its_place(read):
    usage = {"input_tokens": 1000, "cached_input_tokens": 500, "output_tokens": 20}
    tokens = line(1.1, "token_usage_record", response_id="resp_1", usage=usage)
    again = event(3.1, "token_count", info={"total_token_usage": usage, "last_token_usage": usage})
    found = read(*BEGIN, asks(1), tokens, answers(3, "ok"), again)
    (call,), (span,) = found.calls, found.spans
    assert (call.service, call.release, call.model) == ("codex", "0.171.0", "gpt-5.2-codex")
    assert (call.tool, call.conversation_id, json.loads(call.arguments)) == ("exec_command", SESSION, {"cmd": "make"})
    assert json.loads(call.attributes) == {"project": "/home/ada/shop", "branch": "main"}
    assert span.trace_id == call.trace_id
    assert json.loads(span.attributes)["gen_ai.usage.input_tokens"] == 1000


def test_other_kinds_of_calls(read):
    action = {"type": "exec", "command": ["ls"]}
    found = read(
        *BEGIN,
        item(1, "custom_tool_call", call_id="call_patch", name="apply_patch", input="*** Begin Patch"),
        item(2, "custom_tool_call_output", call_id="call_patch", output="Success. Updated the following files:\nM a"),
        item(3, "local_shell_call", call_id="call_shell", status="completed", action=action),
        answers(4, "Exit code: 1\nWall time: 0 seconds\nOutput:\nls: nope", "call_shell"),
        item(5, "web_search_call", id="ws_1", status="completed", action={"type": "search", "query": "tea"}),
        asks(6, "call_mcp", "search", namespace="mcp__docs__"),
        event(7, "mcp_tool_call_end", call_id="call_mcp", duration={"secs": 0, "nanos": 5_000_000},
              result={"Ok": {"content": [{"type": "text", "text": "no route"}], "isError": True}}),
        answers(8, "no route", "call_mcp"),
    )  # fmt: skip
    rows = [(call.tool, call.status, call.duration_ms) for call in found.calls]
    assert rows == [
        ("apply_patch", "success", 1000),
        ("local_shell", "error", 1000),
        ("web_search", "success", None),
        ("mcp__docs__search", "error", 5),
    ]
    assert json.loads(found.calls[3].attributes)["mcp.server.name"] == "docs"


@pytest.mark.parametrize(
    ("more", "open_", "ending"),
    [
        ([], False, "lost"),
        ([line(5, "turn_context", turn_id="t2", model="m")], True, "lost"),
        ([event(5, "turn_aborted", reason="interrupted")], True, "cancelled"),
    ],
)
def test_a_call_without_a_result(read, more, open_, ending):
    assert [call.ending for call in read(*BEGIN, asks(1), *more, open_=open_).calls] == [ending]


def test_a_subagent_has_its_role(read):
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "p", "agent_role": "explorer"}}}
    begin = line(0, "session_meta", **{**META, "session_id": "root", "source": source})
    (call,) = read(begin, asks(1), answers(2, "ok")).calls
    assert (call.agent, call.conversation_id) == ("explorer", "root")


def test_a_file_of_before_lines_had_times(read):
    begin = {
        "id": "01a22766-2498-7eb2-a752-01065867ecd8",
        "timestamp": at(0),
        "instructions": None,
        "git": {"branch": "main"},
    }
    old = [json.dumps(begin, separators=(",", ":")), {"record_type": "state"}]
    old += [{"type": "function_call", "call_id": CALL, "name": "shell", "arguments": "{}"}]
    old += [{"type": "function_call_output", "call_id": CALL, "output": '{"output":"x","metadata":{"exit_code":1}}'}]
    found = read(*old)
    assert [(call.status, call.duration_ms) for call in found.calls] == [("error", None)]
    assert not found.losses


def test_what_is_not_known_is_counted_with_the_version(read):
    found = read(*BEGIN, item(1, "telepathy"), line(2, "dream"), answers(3, "ok", "call_gone"))
    assert found.losses == {
        "codex 0.171.0: items of the type telepathy": 1,
        "codex 0.171.0: lines of the type dream": 1,
        "codex 0.171.0: results without their calls": 1,
    }
