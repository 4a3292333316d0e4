"""Transcripts of Claude Code: which rows they become."""

from __future__ import annotations

import json

import pytest

from .claude_lines import MODEL, SESSION, answers, asks, prompt
from .conftest import imported, write_lines

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit …)."
)
BY_PERSON = {"toolDenialKind": "user-rejected", "permissionDecision": {"decision": "reject", "source": "user"}}
BY_MODE = {"toolDenialKind": "user-rejected", "permissionDecision": {"decision": "reject", "source": "config"}}

ENDINGS = [
    # content, is_error, further members of the line → status, ending, code
    ("ok", None, {}, "success", "returned", None),
    ("", False, {}, "success", "returned", None),
    ("Exit code 3", True, {}, "error", "returned", "EXECUTION_ERROR"),
    ("Exit code 127\nsh: tsc: command not found", True, {}, "error", "returned", "NOT_FOUND"),
    ("Exit code 143\nCommand timed out after 2m", True, {}, "error", "returned", "TIMEOUT"),
    ([{"type": "text", "text": "MCP error -32000: connection closed"}], True, {}, "error", "returned", "NETWORK_ERROR"),
    (
        "<tool_use_error>String to replace not found in file.</tool_use_error>",
        True,
        {},
        "error",
        "returned",
        "NOT_FOUND",
    ),
    ("<tool_use_error>Error: No such tool available: Foo</tool_use_error>", True, {}, None, "refused", "NOT_FOUND"),
    ("<tool_use_error>InputValidationError: Read failed</tool_use_error>", True, {}, None, "refused", "INVALID_PARAM"),
    ("Permission to use Bash with command rm has been denied.", True, {}, None, "refused", "BLOCKED"),
    ("This command requires approval", True, BY_MODE, None, "refused", "BLOCKED"),
    ("denied by a rule", True, {"toolDenialKind": "permission-rule"}, None, "refused", "BLOCKED"),
    (REJECTED, True, {}, None, "declined", None),
    ("please run the tests first", True, BY_PERSON, None, "declined", None),
    ("stopped", True, {"toolDenialKind": "interrupted"}, None, "cancelled", "CANCELLED"),
    ("half", False, {"toolUseResult": {"stdout": "half", "interrupted": True}}, None, "cancelled", "CANCELLED"),
]


@pytest.mark.parametrize(("content", "is_error", "members", "status", "ending", "code"), ENDINGS)
def test_a_result_says_how_the_call_ended(read, content, is_error, members, status, ending, code):
    found = read(prompt(0), asks(1, "toolu_1"), answers(3, "toolu_1", content, is_error, **members))
    (call,) = found.calls
    assert (call.status, call.ending, call.code) == (status, ending, code)
    assert not found.losses and not found.result.skipped


def test_a_call_has_its_place(read):
    lines = [
        prompt(0),
        asks(1, "toolu_1", "mcp__github__create_issue", arguments={"title": "t"}),
        answers(3.5, "toolu_1", "done"),
    ]
    found = read(*lines)
    (call,), (span,) = found.calls, found.spans
    assert (call.tool, call.call_id, call.conversation_id) == ("mcp__github__create_issue", "toolu_1", SESSION)
    assert (call.duration_ms, call.model, call.service, call.release, call.agent) == (
        2500,
        MODEL,
        "claude-code",
        "2.1.332",
        None,
    )
    assert json.loads(call.arguments) == {"title": "t"}
    assert json.loads(call.attributes) == {
        "project": "/home/ada/shop", "branch": "main", "mcp.server.name": "github", "mcp.tool.name": "create_issue",
    }  # fmt: skip
    usage = json.loads(span.attributes)
    assert (span.trace_id, usage["gen_ai.usage.input_tokens"], usage["gen_ai.usage.output_tokens"]) == (
        call.trace_id,
        105,
        7,
    )


def test_the_duration_is_that_of_the_tool_where_it_states_one(read):
    stated = {"toolUseResult": {"durationMs": 40}}
    (call,) = read(prompt(0), asks(1, "toolu_1", "Glob"), answers(9, "toolu_1", "a.txt", **stated)).calls
    assert call.duration_ms == 40


@pytest.mark.parametrize(
    ("more", "open_", "endings", "waiting"),
    [
        ([], True, [], 1),  # it may still run
        ([], False, ["lost"], 0),  # the session is over
        ([prompt(5)], True, ["lost"], 0),  # the session went on
        ([asks(5, "toolu_2"), answers(6, "toolu_2", "ok")], True, ["lost", "returned"], 0),
        ([prompt(5, "[Request interrupted by user for tool use]")], True, ["cancelled"], 0),
        ([answers(5, "toolu_1", "ok")], True, ["returned"], 0),
    ],
)
def test_a_call_without_a_result(read, more, open_, endings, waiting):
    found = read(prompt(0), asks(1, "toolu_1"), *more, open_=open_)
    assert sorted(call.ending for call in found.calls) == endings
    assert found.result.waiting == waiting


def test_calls_of_one_answer_end_in_any_order(read):
    found = read(
        asks(1, "toolu_1", turn="m"),
        asks(1.1, "toolu_2", "Read", turn="m"),
        answers(2, "toolu_2", "two"),
        answers(3, "toolu_1", "one"),
        open_=True,
    )
    assert [(call.call_id, call.text) for call in found.calls] == [("toolu_2", "two"), ("toolu_1", "one")]
    assert len(found.spans) == 1


def test_a_subagent_has_its_type_and_the_call_that_began_it(tmp_path):
    outer = write_lines(
        tmp_path / "s.jsonl", [prompt(0), asks(1, "toolu_task", "Task"), answers(9, "toolu_task", "done")]
    )
    inner = tmp_path / "s" / "subagents" / "agent-a1.jsonl"
    about = {"isSidechain": True, "agentId": "a1"}
    write_lines(inner, [prompt(2, "look", **about), asks(3, "toolu_1", **about), answers(4, "toolu_1", "ok", **about)])
    inner.with_name("agent-a1.meta.json").write_text(json.dumps({"agentType": "Explore", "toolUseId": "toolu_task"}))
    (task,), (call,) = imported(outer).calls, imported(inner).calls
    assert (call.agent, call.parent_span_id, call.conversation_id) == ("Explore", task.span_id, SESSION)


def test_a_subagent_within_the_file_of_its_session(read):
    about = {"isSidechain": True, "version": "1.0.128"}
    found = read(
        prompt(0),
        asks(1, "toolu_task", "Task", arguments={"prompt": "look", "subagent_type": "Explore"}),
        prompt(2, "look", uuid="a", **about),
        asks(3, "toolu_1", uuid="b", **about | {"parentUuid": "a"}),
        answers(4, "toolu_1", "ok", uuid="c", **about | {"parentUuid": "b"}),
        answers(9, "toolu_task", "done"),
    )
    call, task = found.calls
    assert (call.agent, call.parent_span_id, task.ending) == ("Explore", task.span_id, "returned")


def test_a_session_in_two_files_is_one(tmp_path):
    lines = [prompt(0), asks(1, "toolu_01ABCDEFGHIJKLMNOPQRSTUV"), answers(2, "toolu_01ABCDEFGHIJKLMNOPQRSTUV", "ok")]
    copied = [{**one, "sessionId": "another"} for one in lines]
    first, second = (
        imported(write_lines(tmp_path / name, each)) for name, each in (("a.jsonl", lines), ("b.jsonl", copied))
    )
    assert [call.span_id for call in first.calls] == [call.span_id for call in second.calls]
    assert [span.span_id for span in first.spans] == [span.span_id for span in second.spans]


def test_what_was_imported_before_is_left_out(tmp_path):
    lines = [prompt(0), asks(1, "toolu_1"), {"type": "nobody-knows-this"}, "{torn}"]
    path = write_lines(tmp_path / "a.jsonl", lines, open_=True)
    answer = json.dumps(answers(2, "toolu_1", "ok"))
    with path.open("a") as file:
        file.write(answer[:40])  # it is being written
    before = imported(path)
    with path.open("a") as file:
        file.write(answer[40:] + "\n" + json.dumps(asks(3, "toolu_2")) + "\n")
    after = imported(path, start=before.result.position)
    assert (before.calls, [call.call_id for call in after.calls]) == ([], ["toolu_1"])
    assert (sum(before.losses.values()), after.losses) == (1, {})
    assert (before.result.skipped, after.result.skipped) == (1, 0)


def test_what_is_not_known_is_counted_with_the_version(read):
    strange = asks(1, "toolu_1")
    strange["message"]["content"].append({"type": "hologram"})
    found = read(prompt(0), strange, {"type": "telepathy"}, {"type": "telepathy"}, answers(2, "toolu_9", "ok"), "{torn")
    assert found.losses == {
        "claude-code 2.1.332: blocks of the type hologram": 1,
        "claude-code 2.1.332: lines of the type telepathy": 2,
        "claude-code 2.1.332: results without their calls": 1,
    }
    assert found.result.skipped == 1


def test_secrets_are_removed(read):
    secret = "ghp_" + "a1B2" * 9
    found = read(
        prompt(0),
        asks(1, "toolu_1", arguments={"command": f"curl -H {secret}"}),
        answers(2, "toolu_1", f"token {secret}"),
    )
    assert found.calls[0].redacted
    assert secret not in str(found.records)
