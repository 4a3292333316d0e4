"""Files that the real logger of HelloAgents wrote."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

pytest.importorskip("hello_agents", reason="needs HelloAgents: pip install 'tooltrace-recorder[hello-agents]'")

from tooltrace.ingest.files import import_file
from tooltrace.recording.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # pydantic's, of the package's own code


@pytest.fixture(autouse=True)
def closed(monkeypatch):
    """The package leaves the files of an agent's own trace open."""
    from hello_agents.observability import TraceLogger

    loggers, begin = [], TraceLogger.__init__
    monkeypatch.setattr(TraceLogger, "__init__", lambda self, *a, **k: loggers.append(self) or begin(self, *a, **k))
    yield
    for logger in loggers:
        logger.jsonl_file.close()
        logger.html_file.close()


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """The calls of every trace in the folder where the process works."""
    monkeypatch.chdir(tmp_path)

    def imported():
        kept = SimpleNamespace(calls=[], write=lambda: None)
        kept.add = kept.calls.append
        for path in sorted(tmp_path.rglob("*.jsonl")):
            outcome = import_file(path, Settings(store=None), kept)
            assert outcome.skipped == 0
        return sorted(kept.calls, key=lambda call: call.started_at)

    return imported


def test_events_logged_by_hand_are_read(imported, tmp_path):
    from hello_agents.observability import TraceLogger

    before = datetime.now(UTC)
    with TraceLogger(output_dir=str(tmp_path)) as logger:
        logger.log_event("session_start", {"agent_name": "bob"})
        logger.log_event("tool_call", {"tool_name": "Calculator", "parameters": {"expression": "2+3"}}, step=1)
        logger.log_event("tool_result", {"tool_name": "Calculator", "status": "success", "result": "5"}, step=1)
        logger.log_event("tool_call", {"tool_name": "Write", "tool_call_id": "c", "args": {"n": float("nan")}}, step=2)
        failed = {"status": "error", "error_code": "PERMISSION_DENIED", "error_message": "no right"}
        logger.log_event("tool_result", {"tool_name": "Write", "tool_call_id": "c", **failed}, step=2)
        logger.log_event("tool_call", {"tool_name": "Read"}, step=3)
    calculator, write, read = imported()
    assert (calculator.tool, calculator.status, calculator.text, calculator.agent) == (
        "Calculator",
        "success",
        "5",
        "bob",
    )
    assert json.loads(calculator.arguments) == {"expression": "2+3"}
    assert (write.status, write.code, write.error_message) == ("error", "PERMISSION_DENIED", "no right")
    assert (read.ending, read.status) == ("abandoned", None)
    assert {call.conversation_id for call in (calculator, write, read)} == {logger.session_id}
    assert before <= calculator.started_at <= datetime.now(UTC)
    assert 0 <= calculator.duration_ms < timedelta(minutes=1) / timedelta(milliseconds=1)


def asked(name, arguments, call_id):
    turn = {"name": name, "arguments": json.dumps(arguments)}
    return SimpleNamespace(id=call_id, function=SimpleNamespace(**turn), **turn)


def agent(kind, *answers):
    """An agent with one tool and a model that gives these answers: texts, or lists of (name, arguments, id)."""
    import hello_agents

    left = list(answers)

    def answer(*_, **__):
        turn = left.pop(0) if left else "done"
        calls = None if isinstance(turn, str) else [asked(*each) for each in turn]
        message = SimpleNamespace(content=None if calls else turn, tool_calls=calls)
        return SimpleNamespace(choices=[SimpleNamespace(message=message)], usage=None, **vars(message))

    async def later(*_, **__):
        return answer()

    model = SimpleNamespace(model="scripted", invoke_with_tools=answer, ainvoke_with_tools=later)
    off = ("skills_enabled", "subagent_enabled", "todowrite_enabled", "devlog_enabled", "session_enabled")
    registry = hello_agents.ToolRegistry()
    registry.register_tool(hello_agents.CalculatorTool())
    config = hello_agents.Config(**dict.fromkeys(off, False))
    return getattr(hello_agents, kind)("bob", model, tool_registry=registry, config=config)


ASKED = [
    ("python_calculator", {"input": "2+3"}, "call_1"),
    ("python_calculator", {"input": "1/0"}, "call_2"),
    ("nope", {}, "call_3"),
]


@pytest.mark.parametrize("kind", ["SimpleAgent", "ReActAgent"])
def test_the_trace_of_an_agent_is_read(imported, kind):
    agent(kind, ASKED).run("go")
    found = imported()
    assert [(call.tool, call.call_id, call.ending) for call in found] == [
        (name, call_id, "returned") for name, _, call_id in ASKED
    ]
    assert [call.status for call in found] == ["success", "error", "error"]
    assert json.loads(found[0].arguments) == {"input": "2+3"}
    assert all(call.duration_ms is not None for call in found)
    assert {call.agent for call in found} == {"bob"}


def test_the_trace_of_an_asynchronous_run_has_results_alone(imported):
    asyncio.run(agent("ReActAgent", ASKED, [("Finish", {"answer": "5"}, "call_4")]).arun("go"))
    found = {call.call_id: call for call in imported()}
    assert set(found) == {"call_1", "call_2", "call_3", "call_4"}
    assert {call.duration_ms for call in found.values()} == {None}
    assert found["call_4"].status == "success"
