"""Teams, and agents as tools of agents: each call belongs to who made it, and to the call around it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("agno", reason="not installed: pip install 'tooltrace-recorder[agno]'")

from agno.db.in_memory import InMemoryDb
from agno.team import Team
from agno.tools import tool

pytestmark = pytest.mark.usefixtures("installed")

HOWS = ("run", "arun", "run_stream", "arun_stream")


def add(a: int, b: int) -> int:
    return a + b


def drive(agent: Any, how: str, **options: Any) -> Any:
    if how == "run":
        return agent.run("go", **options)
    if how == "arun":
        return asyncio.run(agent.arun("go", **options))
    if how == "run_stream":
        return [x for x in agent.run("go", stream=True, stream_events=True, yield_run_output=True, **options)][-1]

    async def gather() -> Any:
        stream = agent.arun("go", stream=True, stream_events=True, yield_run_output=True, **options)
        return [x async for x in stream][-1]

    return asyncio.run(gather())


@pytest.mark.parametrize("how", HOWS)
def test_a_member_is_delegated_to(agent_of: Callable, scripted: Callable, calls: Callable, how: str) -> None:
    member = agent_of([add], [("add", {"a": 1, "b": 2}, "call_m")], "it is 3", id="sums", name="sums")
    task = {"member_id": "sums", "task": "add"}
    model = scripted([("delegate_task_to_member", task, "call_t")], "done")
    team = Team(name="crew", members=[member], model=model, telemetry=False)
    drive(team, how, session_id="s")
    delegated, inner = calls()
    assert (delegated.tool, delegated.call_id, delegated.agent) == ("delegate_task_to_member", "call_t", "crew")
    assert (inner.tool, inner.call_id, inner.agent, inner.result) == ("add", "call_m", "sums", "3")
    assert inner.parent_span_id == delegated.span_id
    assert inner.trace_id == delegated.trace_id
    assert '"agno.team":"crew"' in inner.attributes
    assert {delegated.conversation_id, inner.conversation_id} == {"s"}
    assert "it is 3" in delegated.text
    assert "RunContent" not in delegated.text
    assert "it is 3" in str(model.seen[-1])


@pytest.mark.parametrize("how", ["run", "arun"])
def test_an_agent_inside_a_tool(agent_of: Callable, calls: Callable, how: str) -> None:
    inner = agent_of([add], [("add", {"a": 1, "b": 2}, "call_1")], "three", name="inner")

    def ask(question: str) -> str:
        return inner.run(question).content

    async def aask(question: str) -> str:
        return (await inner.arun(question)).content

    tool_ = ask if how == "run" else aask
    outer = agent_of([tool_], [(tool_.__name__, {"question": "?"}, "call_1")], name="outer")
    drive(outer, how, session_id="s")
    asked, added = calls()
    assert [(c.agent, c.call_id, c.attempt) for c in (asked, added)] == [("outer", "call_1", 1), ("inner", "call_1", 1)]
    assert added.parent_span_id == asked.span_id


@tool(requires_confirmation=True)
def delete(path: str) -> str:
    return f"deleted {path}"


@pytest.mark.parametrize("answer", ["confirm", "reject"])
@pytest.mark.parametrize("how", ["run", "arun"])
def test_a_team_waits_for_a_person(scripted: Callable, calls: Callable, how: str, answer: str) -> None:
    model = scripted([("delete", {"path": "a"}, "call_1")], "done")
    team = Team(name="crew", members=[], tools=[delete], model=model, telemetry=False, db=InMemoryDb())
    output = drive(team, how, session_id="s")
    assert output.is_paused
    getattr(output.requirements[0], answer)()
    if how == "run":
        team.continue_run(output)
    else:
        asyncio.run(team.acontinue_run(output))
    ending = {"confirm": "returned", "reject": "declined"}[answer]
    assert [(c.ending, c.agent, c.call_id) for c in calls()] == [
        ("paused", "crew", "call_1"),
        (ending, "crew", "call_1"),
    ]


@pytest.mark.parametrize("how", ["run", "arun"])
def test_a_member_waits_for_a_person(agent_of: Callable, scripted: Callable, calls: Callable, how: str) -> None:
    member = agent_of([delete], [("delete", {"path": "a"}, "call_m")], "gone", id="hand", name="hand", db=InMemoryDb())
    model = scripted([("delegate_task_to_member", {"member_id": "hand", "task": "x"}, "call_t")], "done")
    team = Team(name="crew", members=[member], model=model, telemetry=False, db=InMemoryDb())
    output = drive(team, how, session_id="s")
    assert output.is_paused
    output.requirements[0].confirm()
    if how == "run":
        team.continue_run(output)
    else:
        asyncio.run(team.acontinue_run(output))
    rows = [(c.tool, c.ending, c.agent) for c in calls() if c.tool == "delete"]
    assert rows == [("delete", "paused", "hand"), ("delete", "returned", "hand")]


def test_the_models_message_belongs_to_the_outer_call(agent_of: Callable, store: Any, calls: Callable) -> None:
    """The inner agent's model happens to use the same call id."""
    import tooltrace as tt

    inner = agent_of([add], [("add", {"a": 1, "b": 2}, "call_1")], "three", name="inner")

    def ask(question: str) -> str:
        return f"it said {inner.run(question).content}"

    agent_of([ask], [("ask", {"question": "?"}, "call_1")], name="outer").run("go")
    tt.flush(None)
    with tt.connect(store) as db:
        seen = db.execute("SELECT tool, seen_text FROM tool_calls ORDER BY started_at").fetchall()
    assert seen == [("ask", "it said three"), ("add", "3")]


def test_an_agent_inside_a_team_is_in_no_team_itself(agent_of: Callable, scripted: Callable, calls: Callable) -> None:
    lonely = agent_of([add], [("add", {"a": 1, "b": 2}, "call_2")], "three", name="lonely")

    def ask(question: str) -> str:
        return lonely.run(question).content

    member = agent_of([ask], [("ask", {"question": "?"}, "call_1")], "done", id="asker", name="asker")
    model = scripted([("delegate_task_to_member", {"member_id": "asker", "task": "x"}, "call_t")], "done")
    Team(name="crew", members=[member], model=model, telemetry=False).run("go")
    teams = {c.agent: '"agno.team":"crew"' in c.attributes for c in calls()}
    assert teams == {"crew": False, "asker": True, "lonely": False}
