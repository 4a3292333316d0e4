"""Results of reviewed calls: messages for the model, attempts after a pause, repeated reads of the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agno.db.in_memory import InMemoryDb
from agno.tools import tool

import tooltrace as tt
from tests.integrations.agno.shared_review import HOWS, delete, go_on, send, shell, start
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import decode

pytestmark = pytest.mark.usefixtures("installed")


def test_an_unanswered_review_stays_paused(agent_of: Callable, calls: Callable) -> None:
    agent = agent_of([shell], [("shell", {"command": "ls"}, "call_1")], db=InMemoryDb())
    output = start(agent, "run")
    try:
        go_on(agent, "run", output)
    except Exception:  # how Agno refuses is its own affair
        pass
    assert {call.ending for call in calls()} == {"paused"}


def test_the_models_message_is_recorded(agent_of: Callable, store: Path) -> None:
    from tooltrace.core.records import Message

    def fail() -> str:
        raise ValueError("bad; api_key=sk-1234567890abcdef1234")

    turn = [
        ("delete", {"path": "a"}, "c1"),
        ("fail", {}, "c2"),
        ("nobody", {}, "c3"),
        ("shell", {"command": "x"}, "c4"),
    ]
    agent = agent_of([delete, fail, shell], turn, db=InMemoryDb())
    output = start(agent, "run")
    by_id = {requirement.tool_execution.tool_call_id: requirement for requirement in output.requirements}
    by_id["c1"].reject("no")
    by_id["c4"].set_external_execution_result("done")
    go_on(agent, "run", output)
    assert tt.flush(None)
    files = StorePaths.of(store).journal.glob("*.jsonl")
    records = [decode(line) for file in files for line in file.read_bytes().splitlines(keepends=True)]
    messages_by_call = {record.call_id: record for record in records if isinstance(record, Message)}
    model_input = dict(agent.model.seen[-1])
    assert {key: messages_by_call[key].text for key in ("c1", "c3", "c4")} == {
        key: model_input[key] for key in ("c1", "c3", "c4")
    }
    assert "sk-1234567890abcdef1234" not in messages_by_call["c2"].text
    assert {key: message.error for key, message in messages_by_call.items()} == {
        "c1": False,
        "c2": True,
        "c3": True,
        "c4": False,
    }
    spans = {record.span_id: record.call_id for record in records if getattr(record, "ending", "paused") != "paused"}
    assert all(spans[message.span_id] == call_id for call_id, message in messages_by_call.items())


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("answer", ["Error: no such command", "sh: exit status 2"])
def test_an_external_failure_reaches_the_model(agent_of: Callable, store: Path, how: str, answer: str) -> None:
    agent = agent_of([shell], [("shell", {"command": "ls"}, "call_1")], db=InMemoryDb())
    output = start(agent, how)
    output.requirements[0].set_external_execution_result(answer)
    output.requirements[0].tool_execution.tool_call_error = answer.startswith("sh")
    go_on(agent, how, output)
    with tt.connect(store) as db:
        rows = db.execute("SELECT ending, status, seen_text, seen_error FROM tool_calls ORDER BY started_at").fetchall()
    assert rows == [("paused", None, None, None), ("returned", "error", answer, True)]


@pytest.mark.parametrize("how", HOWS)
def test_a_decline_is_not_an_error_whatever_its_note(agent_of: Callable, store: Path, how: str) -> None:
    agent = agent_of([delete], [("delete", {"path": "a.txt"}, "call_1")], db=InMemoryDb())
    output = start(agent, how)
    output.requirements[0].reject("Error: access denied")
    go_on(agent, how, output)
    with tt.connect(store) as db:
        rows = db.execute("SELECT ending, status, seen_text, seen_error FROM tool_calls ORDER BY started_at").fetchall()
    assert rows == [("paused", None, None, None), ("declined", None, "Error: access denied", False)]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("answer", ["confirm", "reject"])
def test_the_call_continues_as_the_same_attempt(agent_of: Callable, calls: Callable, how: str, answer: str) -> None:
    again = [("delete", {"path": "a.txt"}, "call_1")]
    agent = agent_of([delete], again, db=InMemoryDb())
    output = start(agent, how)
    getattr(output.requirements[0], answer)()
    go_on(agent, how, output)
    assert [(call.ending, call.attempt) for call in calls()] == [
        ("paused", 1),
        ({"confirm": "returned", "reject": "declined"}[answer], 1),
    ]


def test_an_external_result_continues_the_same_attempt(agent_of: Callable, calls: Callable) -> None:
    agent = agent_of([shell], [("shell", {"command": "ls"}, "call_1")], db=InMemoryDb())
    output = start(agent, "run")
    output.requirements[0].set_external_execution_result("a.txt")
    go_on(agent, "run", output)
    assert [(call.ending, call.attempt) for call in calls()] == [("paused", 1), ("returned", 1)]


def test_a_retry_after_the_pause_is_the_next_attempt(agent_of: Callable, calls: Callable) -> None:
    ran: list[str] = []

    @tool(requires_confirmation=True)
    def fetch(url: str) -> str:
        ran.append(url)
        if len(ran) == 1:
            raise ConnectionError("gone")
        return "page"

    def stubborn(function_name: str, function_call: Callable, arguments: dict) -> Any:
        try:
            return function_call(**arguments)
        except ConnectionError:
            return function_call(**arguments)

    agent = agent_of([fetch], [("fetch", {"url": "u"}, "call_1")], db=InMemoryDb(), tool_hooks=[stubborn])
    output = start(agent, "run")
    output.requirements[0].confirm()
    go_on(agent, "run", output)
    assert [(call.ending, call.attempt) for call in calls()] == [("paused", 1), ("raised", 1), ("returned", 2)]


@pytest.mark.parametrize("how", ["run", "arun"])
def test_an_input_that_was_refused(agent_of: Callable, calls: Callable, gates: Callable, how: str) -> None:
    agent = agent_of([send], [("send", {"subject": "hello"}, "call_1")], db=InMemoryDb())
    output = start(agent, how)
    execution = output.requirements[0].tool_execution  # as Agno leaves it when an approval is refused
    execution.answered, execution.requires_user_input = True, False
    execution.requires_confirmation, execution.confirmed = True, False
    go_on(agent, how, output)
    paused, declined = calls()
    assert declined.ending == "declined"
    assert [(g.kind, g.decision, g.span_id) for g in gates()] == [
        ("input", None, paused.span_id),
        ("input", "declined", paused.span_id),
    ]


def test_the_store_has_each_question_once(agent_of: Callable, store: Path) -> None:
    agent = agent_of(
        [delete], [("delete", {"path": "a"}, "c1")], "done", [("delete", {"path": "b"}, "c2")], db=InMemoryDb()
    )
    output = start(agent, "run")
    output.requirements[0].confirm()
    go_on(agent, "run", output)
    agent.run("go", session_id="s")
    tt.flush(None)
    with tt.connect(store) as db:
        gates = db.execute("SELECT call_id, kind, decision FROM gates ORDER BY call_id").fetchall()
        rows = db.execute("SELECT call_id, ending, seen_text FROM tool_calls ORDER BY started_at").fetchall()
        attempts = db.execute("SELECT call_id, attempts FROM calls ORDER BY call_id").fetchall()
    assert gates == [("c1", "confirmation", "approved"), ("c2", "confirmation", None)]
    assert rows == [("c1", "paused", None), ("c1", "returned", "deleted a"), ("c2", "paused", None)]
    assert attempts == [("c1", 1), ("c2", 0)]


def test_a_result_that_the_run_has_already_is_not_recorded_again(agent_of: Callable, calls: Callable) -> None:
    from agno.agent import _tools
    from agno.run.messages import RunMessages

    agent = agent_of([shell], [("shell", {"command": "ls"}, "call_1")], db=InMemoryDb())
    output = start(agent, "run")
    execution, messages = output.requirements[0].tool_execution, RunMessages()
    execution.result = "a.txt"
    for _ in range(2):
        _tools.handle_external_execution_update(agent, run_messages=messages, tool=execution, run_response=output)
    assert [call.ending for call in calls()] == ["paused", "returned"]
