"""Reviews by a person in Agno: approvals, rejections, inputs and external results."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agno.db.in_memory import InMemoryDb
from agno.tools import tool
from agno.tools.user_control_flow import UserControlFlowTools
from agno.tools.user_feedback import UserFeedbackTools

import tooltrace as tt
from tests.integrations.agno.shared_review import HOWS, delete, go_on, send, shell, start

pytestmark = pytest.mark.usefixtures("installed")


pytest.importorskip("agno", reason="not installed: pip install 'tooltrace-recorder[agno]'")


@pytest.mark.parametrize("how", HOWS)
def test_confirmed(agent_of: Callable, calls: Callable, gates: Callable, how: str) -> None:
    agent = agent_of([delete], [("delete", {"path": "a.txt"}, "call_1")], db=InMemoryDb())
    output = start(agent, how)
    assert output.is_paused
    (paused,) = calls()
    assert (paused.ending, paused.status, paused.call_id) == ("paused", None, "call_1")
    assert (paused.agent, paused.conversation_id, paused.arguments) == ("clerk", "s", '{"path":"a.txt"}')
    (opened_gate,) = gates()
    assert (opened_gate.kind, opened_gate.decision, opened_gate.span_id, opened_gate.call_id) == (
        "confirmation",
        None,
        paused.span_id,
        "call_1",
    )

    output.requirements[0].confirm()
    output = go_on(agent, how, output)
    assert agent.model.seen[-1] == [("call_1", "deleted a.txt")]
    paused, done = calls()
    assert (done.ending, done.status, done.result, done.call_id) == ("returned", "success", '"deleted a.txt"', "call_1")
    assert done.conversation_id == "s"
    _, answered = gates()
    assert (answered.decision, answered.resumed_span_id) == ("approved", done.span_id)
    assert (answered.span_id, answered.kind, answered.asked_at) == (
        opened_gate.span_id,
        opened_gate.kind,
        opened_gate.asked_at,
    )
    assert answered.answered_at >= answered.asked_at
    assert answered.changed is None


@pytest.mark.parametrize("how", HOWS)
def test_rejected(agent_of: Callable, calls: Callable, gates: Callable, how: str) -> None:
    agent = agent_of([delete], [("delete", {"path": "a.txt"}, "call_1")], db=InMemoryDb())
    output = start(agent, how)
    output.requirements[0].reject("it is needed; password=hunter22")
    go_on(agent, how, output)
    assert agent.model.seen[-1][0][0] == "call_1"
    paused, declined = calls()
    assert (declined.ending, declined.status, declined.call_id, declined.code) == ("declined", None, "call_1", None)
    opened_gate, answered = gates()
    assert (answered.decision, answered.span_id) == ("declined", paused.span_id)
    assert answered.note.startswith("it is needed")
    assert "hunter22" not in answered.note


@pytest.mark.parametrize("how", HOWS)
def test_input(agent_of: Callable, calls: Callable, gates: Callable, how: str) -> None:
    agent = agent_of([send], [("send", {"subject": "hello"}, "call_1")], db=InMemoryDb())
    output = start(agent, how)
    output.requirements[0].provide_user_input({"to": "Ann"})
    go_on(agent, how, output)
    paused, done = calls()
    assert (paused.ending, paused.arguments) == ("paused", '{"subject":"hello"}')
    assert (done.result, json.loads(done.arguments)) == ('"sent hello to Ann"', {"subject": "hello", "to": "Ann"})
    opened_gate, answered = gates()
    assert (answered.kind, answered.decision, answered.span_id) == ("input", "approved", paused.span_id)
    assert (answered.changed, answered.resumed_span_id) == ('{"to":"Ann"}', done.span_id)


@pytest.mark.parametrize("how", HOWS)
def test_external(agent_of: Callable, calls: Callable, gates: Callable, how: str) -> None:
    agent = agent_of([shell], [("shell", {"command": "ls"}, "call_1")], db=InMemoryDb())
    output = start(agent, how)
    output.requirements[0].set_external_execution_result("a.txt")
    go_on(agent, how, output)
    assert agent.model.seen[-1] == [("call_1", "a.txt")]
    paused, done = calls()
    assert (done.ending, done.status, done.result, done.duration_ms) == ("returned", "success", '"a.txt"', None)
    assert (done.agent, done.conversation_id, done.arguments) == ("clerk", "s", '{"command":"ls"}')
    opened_gate, answered = gates()
    assert (answered.kind, answered.decision, answered.span_id) == ("external", "approved", paused.span_id)
    assert answered.resumed_span_id == done.span_id
    assert answered.asked_at == opened_gate.asked_at


@pytest.mark.parametrize("how", HOWS)
def test_questions_of_the_agent_to_the_user_are_gates(
    agent_of: Callable, calls: Callable, gates: Callable, how: str
) -> None:
    fields = [{"field_name": "city", "field_type": "str", "field_description": "where"}]
    agent = agent_of(
        [UserControlFlowTools()], [("get_user_input", {"user_input_fields": fields}, "call_1")], db=InMemoryDb()
    )
    output = start(agent, how)
    output.requirements[0].provide_user_input({"city": "Rome"})
    go_on(agent, how, output)
    paused, done = calls()
    assert (paused.ending, done.result, done.duration_ms) == ("paused", '{"city":"Rome"}', None)
    opened_gate, answered = gates()
    assert (answered.kind, answered.changed, answered.span_id) == ("input", '{"city":"Rome"}', paused.span_id)


def test_feedback(agent_of: Callable, calls: Callable, gates: Callable) -> None:
    questions = [{"question": "Which?", "header": "h", "options": [{"label": "A"}, {"label": "B"}]}]
    agent = agent_of([UserFeedbackTools()], [("ask_user", {"questions": questions}, "call_1")], db=InMemoryDb())
    output = start(agent, "run")
    output.requirements[0].provide_user_feedback({"Which?": ["B"]})
    go_on(agent, "run", output)
    paused, done = calls()
    assert (paused.ending, done.result) == ("paused", '{"Which?":["B"]}')
    assert [gate.decision for gate in gates()] == [None, "approved"]


def test_the_spans_are_linked(agent_of: Callable, store: Path) -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tt.configure(store=store, tracer_provider=provider)
    agent = agent_of([delete], [("delete", {"path": "a.txt"}, "call_1")], db=InMemoryDb())
    output = start(agent, "run")
    output.requirements[0].confirm()
    go_on(agent, "run", output)
    paused, done = exporter.get_finished_spans()
    assert [link.context for link in done.links] == [paused.context]


def test_arguments_that_a_person_changed_are_on_record(agent_of: Callable, calls: Callable, gates: Callable) -> None:
    agent = agent_of([delete], [("delete", {"path": "a.txt"}, "call_1")], db=InMemoryDb())
    output = start(agent, "run")
    output.requirements[0].tool_execution.tool_args = {"path": "b.txt", "password": "x"} and {"path": "b.txt"}
    output.requirements[0].confirm()
    go_on(agent, "run", output)
    assert [call.arguments for call in calls()] == ['{"path":"a.txt"}', '{"path":"b.txt"}']
    assert gates()[1].changed == '{"path":"b.txt"}'


def test_inputs_are_redacted(agent_of: Callable, gates: Callable) -> None:
    @tool(requires_user_input=True, user_input_fields=["password"])
    def log_in(user: str, password: str) -> str:
        return "in"

    agent = agent_of([log_in], [("log_in", {"user": "ann"}, "call_1")], db=InMemoryDb())
    output = start(agent, "run")
    output.requirements[0].provide_user_input({"password": "hunter22"})
    go_on(agent, "run", output)
    assert gates()[1].changed == '{"password":"[redacted]"}'


def test_capture_metadata_stores_no_inputs(agent_of: Callable, store: Path, gates: Callable) -> None:
    tt.configure(store=store, capture="metadata")
    agent = agent_of([send], [("send", {"subject": "hello"}, "call_1")], db=InMemoryDb())
    output = start(agent, "run")
    output.requirements[0].provide_user_input({"to": "Ann"})
    go_on(agent, "run", output)
    assert [gate.changed for gate in gates()] == [None, '{"to":null}']


ELSEWHERE = """
import sys
sys.path.insert(0, sys.argv[1])
import conftest
import tooltrace as tt
from agno.agent import Agent
from agno.db.json import JsonDb
from agno.tools import tool
from tooltrace.integrations import agno

_, store, db = sys.argv[1:]
tt.configure(store=store)
agno.install()

@tool(requires_confirmation=True)
def delete(path: str) -> str:
    return f"deleted {path}"

model = conftest.scripted_class()(turns=[[("delete", {"path": "a.txt"}, "call_1")]])
agent = Agent(name="clerk", model=model, tools=[delete], telemetry=False, db=JsonDb(db_path=db))
print(agent.run("go", session_id="s").run_id)
"""


@pytest.mark.processes
@pytest.mark.parametrize("answer", ["confirm", "reject"])
def test_the_answer_comes_in_another_process(
    agent_of: Callable, calls: Callable, gates: Callable, store: Path, tmp_path: Path, answer: str
) -> None:
    from agno.db.json import JsonDb

    db = tmp_path / "db"
    command = [sys.executable, "-c", ELSEWHERE, str(Path(__file__).parent), str(store), str(db)]
    run_id = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]

    agent = agent_of([delete], db=JsonDb(db_path=str(db)))
    output = agent.get_run_output(run_id=run_id, session_id="s")
    getattr(output.requirements[0], answer)()
    go_on(agent, "run", output)
    paused, done = calls()
    opened_gate, answered = sorted(gates(), key=lambda gate: gate.decision is not None)
    assert paused.pid != done.pid
    assert (paused.attempt, done.attempt) == (1, 1)
    assert done.ending == {"confirm": "returned", "reject": "declined"}[answer]
    assert (answered.span_id, answered.kind, answered.asked_at) == (
        paused.span_id,
        opened_gate.kind,
        opened_gate.asked_at,
    )
    assert answered.resumed_span_id == done.span_id


def test_several_calls_wait_while_another_runs(agent_of: Callable, calls: Callable, gates: Callable) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    turn = [
        ("delete", {"path": "a"}, "call_1"),
        ("add", {"a": 1, "b": 2}, "call_2"),
        ("delete", {"path": "b"}, "call_3"),
    ]
    turn += [("shell", {"command": "ls"}, "call_4")]
    agent = agent_of([delete, add, shell], turn, db=InMemoryDb())
    output = start(agent, "run")
    by_id = {requirement.tool_execution.tool_call_id: requirement for requirement in output.requirements}
    by_id["call_1"].confirm()
    by_id["call_3"].reject("keep b")
    by_id["call_4"].set_external_execution_result("a b")
    go_on(agent, "run", output)
    endings: dict[str, list[str]] = {}
    for call in calls():
        endings.setdefault(call.call_id, []).append(call.ending)
    assert endings == {
        "call_1": ["paused", "returned"],
        "call_2": ["returned"],
        "call_3": ["paused", "declined"],
        "call_4": ["paused", "returned"],
    }
    spans = {call.span_id: call for call in calls()}
    for gate in gates():
        assert spans[gate.span_id].ending == "paused"
        assert spans[gate.span_id].call_id == gate.call_id
        if gate.resumed_span_id:
            assert spans[gate.resumed_span_id].call_id == gate.call_id
    assert sorted((g.call_id, g.decision) for g in gates() if g.decision) == [
        ("call_1", "approved"),
        ("call_3", "declined"),
        ("call_4", "approved"),
    ]


def test_the_same_call_id_in_two_runs_is_two_questions(agent_of: Callable, calls: Callable, gates: Callable) -> None:
    agents = [agent_of([delete], [("delete", {"path": path}, "call_0")], db=InMemoryDb()) for path in "ab"]
    outputs = [start(agent, "run") for agent in agents]
    outputs[0].requirements[0].confirm()
    outputs[1].requirements[0].reject()
    for agent, output in zip(agents, outputs):
        go_on(agent, "run", output)
    spans = {call.span_id: call for call in calls()}
    assert len(spans) == 4
    decided = {
        spans[g.span_id].arguments: (g.decision, spans[g.resumed_span_id].arguments) for g in gates() if g.decision
    }
    assert decided == {'{"path":"a"}': ("approved", '{"path":"a"}'), '{"path":"b"}': ("declined", '{"path":"b"}')}


@pytest.mark.parametrize("how", HOWS)
def test_a_confirmed_stream(agent_of: Callable, calls: Callable, gates: Callable, how: str) -> None:
    @tool(requires_confirmation=True)
    def stream(agent: Any, n: int) -> Any:
        for i in range(n):
            yield f"{i} "

    agent = agent_of([stream], [("stream", {"n": 2}, "call_1")], db=InMemoryDb())
    output = start(agent, how)
    output.requirements[0].confirm()
    go_on(agent, how, output)
    paused, done = calls()
    assert (done.text, done.ending) == ("0 1 ", "returned")
    assert gates()[1].resumed_span_id == done.span_id


def test_an_external_result_can_be_an_error(agent_of: Callable, calls: Callable) -> None:
    agent = agent_of([shell], [("shell", {"command": "ls"}, "call_1")], db=InMemoryDb())
    output = start(agent, "run")
    output.requirements[0].set_external_execution_result("no such command")
    output.requirements[0].tool_execution.tool_call_error = True
    go_on(agent, "run", output)
    assert [(c.ending, c.status, c.error_message) for c in calls()] == [
        ("paused", None, None),
        ("returned", "error", "no such command"),
    ]


@pytest.mark.parametrize("db", [True, False])
def test_a_run_continued_from_its_own_output(agent_of: Callable, calls: Callable, gates: Callable, db: bool) -> None:
    agent = agent_of([delete], [("delete", {"path": "a"}, "call_1")], db=InMemoryDb() if db else None)
    output = agent.run("go")
    output.tools[0].confirmed = True
    agent.continue_run(output)
    paused, done = calls()
    assert done.ending == "returned"
    assert [(g.decision, g.span_id) for g in gates()] == [(None, paused.span_id), ("approved", paused.span_id)]
