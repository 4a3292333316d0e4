"""Lists of chat messages, as the clients of OpenAI and Anthropic write them."""

from __future__ import annotations

import json

import pytest

from tooltrace.core.records import ToolCall
from tooltrace.ingest.files import import_file
from tooltrace.recording.settings import Settings

from .conftest import CallList


def asked(*calls):
    """A completion of the Chat Completions API in which the model asks for ``calls``."""
    message = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    made = {"id": "c1", "object": "chat.completion", "created": 1_700_000_000, "model": "m", "choices": [choice]}
    from openai.types.chat import ChatCompletion  # here: each worker of a parallel run collects this module

    return ChatCompletion.model_validate(made)


def function(call_id, name, arguments):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def completion():
    return asked(
        function("call_a", "search", {"q": "tea"}),
        {"id": "call_b", "type": "custom", "custom": {"name": "shell", "input": "ls"}},
        function("call_c", "pay", {"sum": 1}),
    )


def chat():
    return [
        {"role": "user", "content": 'say "tool_use"'},
        completion().choices[0].message.model_dump(),
        {"role": "tool", "tool_call_id": "call_b", "content": [{"type": "text", "text": "a.txt"}]},
        {"role": "tool", "tool_call_id": "call_a", "content": "Error: no network"},
    ]


OF_CHAT = [
    ("search", "call_a", "error", "returned", '{"q":"tea"}', "Error: no network"),
    ("shell", "call_b", "success", "returned", '{"input":"ls"}', "a.txt"),
    ("pay", "call_c", None, "handed_over", '{"sum":1}', None),
]


def response():
    from openai.types.responses import Response

    return Response.model_validate({
        "id": "resp_1", "object": "response", "created_at": 1_700_000_000, "model": "m", "parallel_tool_calls": True,
        "tool_choice": "auto", "tools": [],
        "output": [
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": '{"a":1}', "status": "completed"},
            {"type": "mcp_call", "id": "mcp_1", "name": "roll", "server_label": "dice", "arguments": '{"n":1}', "output": "4"},
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "tea"}},
        ],
    })  # fmt: skip


def items():
    return [
        {"role": "user", "content": "add"},
        *response().model_dump(mode="json", exclude_none=True)["output"],
        {"type": "function_call_output", "call_id": "call_1", "output": '{"sum":3}'},
    ]


OF_ITEMS = [
    ("add", "call_1", "success", "returned", '{"a":1}', '{"sum":3}'),
    ("roll", "mcp_1", "success", "returned", '{"n":1}', "4"),
    ("web_search", "ws_1", "success", "returned", '{"type":"search","query":"tea"}', None),
]


def blocks():
    from anthropic.types import Message

    message = Message.model_validate({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 1},
        "content": [
            {"type": "text", "text": "I look"},
            {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "X"}, "caller": {"type": "direct"}},
            {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {"city": "Y"}, "caller": {"type": "direct"}},
        ],
    })  # fmt: skip
    return [
        {"role": "user", "content": "weather?"},
        message.model_dump(mode="json"),
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "city not found"}], "is_error": True},
        ]},
    ]  # fmt: skip


OF_BLOCKS = [
    ("weather", "toolu_1", "success", "returned", '{"city":"X"}', "sunny"),
    ("weather", "toolu_2", "error", "returned", '{"city":"Y"}', "city not found"),
]


def imported(path, text):
    """The calls of a file with this ``text``, and the result of the import."""
    path.write_text(text)
    kept = CallList()
    return kept.calls, import_file(path, Settings(store=None), kept)


def facts(call: ToolCall):
    return call.tool, call.call_id, call.status, call.ending, call.arguments, call.text


@pytest.mark.parametrize(("sample", "expected"), [(chat, OF_CHAT), (items, OF_ITEMS), (blocks, OF_BLOCKS)])
def test_requests_and_their_results_become_calls(tmp_path, sample, expected):
    messages = sample()
    one, many = json.dumps(messages), json.dumps({"conversation_id": "chat-1", "messages": messages}, indent=1)
    for text in (one, many, "\n".join(map(json.dumps, messages))):
        calls, result = imported(tmp_path / "messages.json", text)
        assert (result.format, result.skipped) == ("messages", 0)
        assert [facts(call) for call in calls] == expected
        assert [call.started_at for call in calls] == sorted(call.started_at for call in calls)
    lines, _ = imported(tmp_path / "messages.jsonl", f"{one}\n{one.replace('user', 'system', 1)}\n")
    assert [facts(call) for call in lines] == expected * 2
    assert len({call.conversation_id for call in lines}) == 2
    assert len({call.span_id for call in lines}) == len(lines)


def test_whole_responses_and_their_times_are_read(tmp_path):
    calls, _ = imported(tmp_path / "r.json", response().model_dump_json())
    assert [facts(call)[:4] for call in calls] == [
        ("add", "call_1", None, "handed_over"),
        *[f[:4] for f in OF_ITEMS[1:]],
    ]
    assert {(call.conversation_id, f"{call.started_at:%Y-%m-%d %H:%M:%S}") for call in calls} == {
        ("resp_1", "2023-11-14 22:13:20")
    }
    calls, _ = imported(tmp_path / "c.json", completion().model_dump_json())
    assert [call.tool for call in calls] == ["search", "shell", "pay"]


def test_a_conversation_that_grew_keeps_the_ids_of_its_calls(tmp_path):
    early, _ = imported(tmp_path / "chat.json", json.dumps(blocks()))
    late, _ = imported(tmp_path / "chat.json", json.dumps([*blocks(), *blocks()[1:]]))
    assert [call.span_id for call in late][:2] == [call.span_id for call in early]
    assert [(call.call_id, call.attempt, call.first_span_id == call.span_id) for call in late][2:] == [
        ("toolu_1", 1, True),
        ("toolu_2", 2, False),
    ], "only the second failed before"


@pytest.mark.parametrize(
    "odd", [{"role": "assistant", "tool_calls": "x"}, {"role": "assistant", "tool_calls": [1, {"function": 2}]},
            {"role": "tool"}, {"type": "function_call"}, {"role": "user", "content": [{"type": "tool_use"}, 3]}]
)  # fmt: skip
def test_an_odd_message_stops_no_import(tmp_path, odd):
    calls, _ = imported(tmp_path / "chat.json", json.dumps([*blocks(), odd]))
    assert [facts(call) for call in calls][:2] == OF_BLOCKS


def test_a_call_that_the_conversation_left_behind_did_not_run(tmp_path):
    call = {"id": "call_1", "type": "function", "function": {"name": "pay", "arguments": '{"sum": 1}'}}
    asked = [{"role": "user", "content": "pay"}, {"role": "assistant", "tool_calls": [call]}]
    left, _ = imported(tmp_path / "left.json", json.dumps([*asked, {"role": "user", "content": "never mind"}]))
    assert [(each.ending, each.code, each.status, each.duration_ms) for each in left] == [
        ("refused", "ORPHANED", None, None)
    ]
    unknown, _ = imported(tmp_path / "last.json", json.dumps(asked))
    assert [(each.ending, each.code, each.status) for each in unknown] == [("handed_over", None, None)]
    answered = [
        *asked,
        {"role": "tool", "tool_call_id": "call_1", "content": "paid"},
        {"role": "user", "content": "thanks"},
    ]
    assert [each.ending for each in imported(tmp_path / "answered.json", json.dumps(answered))[0]] == ["returned"]
