"""The real agents with a scripted model: every call that it asked for is on record, once, and the run is as before."""

from __future__ import annotations

import asyncio
import json

import pytest

pytest.importorskip("hello_agents", reason="needs HelloAgents: pip install 'tooltrace-recorder[hello-agents]'")

import tooltrace as tt

KINDS = ["simple", "react", "reflection", "plan", "simple later", "react later", "react streamed"]
LATER = ["react later", "react streamed"]
NOW = [kind for kind in KINDS if kind not in LATER]


@pytest.fixture
def run(ha, llm, call, registry, config):
    """Let an agent of that kind work through a script; the model is returned."""

    def run(kind, *script, end="done", **options):
        name, _, way = kind.partition(" ")
        steps = [*script, end, "无需改进"]
        if name == "plan":
            steps.insert(0, [call("generate_plan", {"steps": ["all of it"]}, "plan")])
        model = llm(*steps)
        kinds = {
            "simple": ha.SimpleAgent,
            "react": ha.ReActAgent,
            "reflection": ha.ReflectionAgent,
            "plan": ha.PlanSolveAgent,
        }
        agent = kinds[name]("bob", model, tool_registry=registry, config=config(**options))
        run.agent = agent
        if way == "streamed":
            asyncio.run(_exhaust(agent.arun_stream("go")))
        elif way == "later":
            asyncio.run(agent.arun("go"))
        else:
            agent.run("go")
        return model

    return run


async def _exhaust(stream):
    async for _ in stream:
        pass


@pytest.fixture
def add(make_tool, registry):
    def add(parameters):
        if parameters["b"] == 13:
            raise OverflowError("unlucky")
        return parameters["a"] + parameters["b"]

    tool = make_tool("add", add, a="integer", b="integer")
    registry.register_tool(tool)
    return tool


@pytest.mark.usefixtures("installed", "add")
@pytest.mark.parametrize("kind", KINDS)
def test_each_call_of_the_model_is_recorded_once_with_its_id(run, call, calls, kind):
    run(
        kind,
        [call("add", {"a": "1", "b": 2}, "call_1"), call("add", {"a": 3, "b": 4}, "call_2")],
        [call("add", {"a": 5, "b": 13}, "call_3")],
    )
    found = {each.call_id: each for each in calls()}
    assert set(found) == {"call_1", "call_2", "call_3"}
    assert len(calls()) == 3
    assert {each.tool for each in found.values()} == {"add"}
    assert {(each.agent, each.model) for each in found.values()} == {("bob", "scripted")}
    assert {each.attempt for each in found.values()} == {1}
    assert json.loads(found["call_1"].arguments) == {"a": "1", "b": 2}
    assert (found["call_2"].status, found["call_2"].text) == ("success", "7")
    failed = found["call_3"]
    assert (failed.status, failed.code, failed.error_type) == ("error", "INTERNAL_ERROR", "OverflowError")


@pytest.mark.usefixtures("installed", "add")
@pytest.mark.parametrize("kind", KINDS)
def test_the_session_is_the_one_of_the_packages_own_trace(run, call, calls, folder, kind):
    run(kind, [call("add", {"a": 1, "b": 2}, "call_1")])
    sessions = {
        file.name.removeprefix("trace-").removesuffix(".jsonl") for file in (folder / "memory/traces").glob("*.jsonl")
    }
    conversation = calls()[0].conversation_id
    assert conversation in sessions
    if kind in ("simple", "react", "simple later", "react later"):
        trace = (folder / f"memory/traces/trace-{conversation}.jsonl").read_text()
        assert "call_1" in trace


@pytest.mark.usefixtures("installed", "add")
@pytest.mark.parametrize("kind", KINDS)
def test_without_a_trace_there_is_no_session_unless_the_application_names_one(run, call, calls, kind):
    run(kind, [call("add", {"a": 1, "b": 2}, "call_1")], trace_enabled=False)
    assert [each.call_id for each in calls()] == ["call_1"]
    with tt.context(conversation_id="chat_1"):
        run(kind, [call("add", {"a": 1, "b": 2}, "call_2")])
    if kind == "plan":  # its executor's helper traces by itself, in a session where nothing is logged
        assert calls()[-1].conversation_id == "chat_1"
    else:
        assert [each.conversation_id for each in calls()] == [None, "chat_1"]


@pytest.mark.usefixtures("add")
@pytest.mark.parametrize("kind", KINDS)
def test_the_model_is_shown_the_same_as_without_recording(run, call, kind, store, registry):
    from tooltrace.integrations import hello_agents

    registry.register_function(lambda text: f"<{text}>", name="quote")
    script = [
        [call("add", {"a": 1, "b": 2}, "call_1"), call("nope", {"x": 1}, "call_2"), call("add", "{broken", "call_3")],
        [call("quote", {"input": "hi"}, "call_4"), call("add", {"a": 1, "b": 13}, "call_5")],
        [call("Thought", {"reasoning": "hm"}, "call_6")],
        [call("Finish", {"answer": "3"}, "call_7")],
    ]
    plain = run(kind, *script).seen
    hello_agents.install()
    try:
        recorded = run(kind, *script).seen
    finally:
        hello_agents.remove()
    assert recorded == plain
    assert len(plain) > 3


@pytest.mark.usefixtures("installed", "add")
@pytest.mark.parametrize("kind", KINDS)
def test_the_models_text_is_recorded(run, call, store, kind):
    model = run(
        kind,
        [call("add", {"a": 1, "b": 2}, "call_1"), call("add", {"a": 1, "b": 13}, "call_2"), call("nope", {}, "call_3")],
    )
    assert tt.flush()
    with tt.connect(store) as db:
        rows = db.execute("SELECT call_id, seen_text, seen_error FROM tool_calls ORDER BY call_id").fetchall()
    assert rows == [
        ("call_1", model.shown("call_1"), False),
        ("call_2", model.shown("call_2"), True),
        ("call_3", model.shown("call_3"), True),
    ]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("错误率: 0.1 %", False),
        ("Error: the host is down", True),
        ("❌ 错误 [TIMEOUT]: 超时", True),
        ("errors: 0", False),
    ],
)
def test_errors_are_detected_by_the_rules(run, call, store, registry, make_tool, kind, text, failed):
    registry.register_tool(make_tool("ask", lambda _: text))
    run(kind, [call("ask", {}, "call_1")])
    with tt.connect(store) as db:
        rows = db.execute("SELECT status, seen_error FROM tool_calls").fetchall()
    assert rows == [("error" if failed else "success", failed)]


@pytest.mark.usefixtures("installed", "add")
@pytest.mark.parametrize("kind", ["react", "react later", "react streamed"])
def test_each_message_is_on_record_once(run, call, store, kind):
    asked = [call("add", {"a": 1, "b": 2}, "call_1"), call("Thought", {"reasoning": "hm"}, "call_2")]
    model = run(kind, [*asked, call("nope", {}, "call_3")])
    assert tt.flush()
    with tt.connect(store) as db:
        rows = db.execute("SELECT call_id, text FROM messages ORDER BY call_id").fetchall()
    assert rows == [(call_id, model.shown(call_id)) for call_id in ("call_1", "call_2", "call_3")]


@pytest.mark.usefixtures("installed", "add")
@pytest.mark.parametrize("kind", KINDS)
def test_a_tool_that_is_not_there_is_on_record(run, call, calls, kind):
    run(kind, [call("nope", {"x": 1}, "call_1")])
    (found,) = calls()
    assert (found.tool, found.call_id, found.agent) == ("nope", "call_1", "bob")
    assert (found.ending, found.status, found.code) == ("refused", None, "NOT_FOUND")
    assert json.loads(found.arguments) == {"x": 1}


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("kind", NOW)
def test_a_function_is_recorded_once(run, call, calls, registry, kind):
    def shout(text):
        return text.upper()

    registry.register_function(shout)
    run(kind, [call("shout", {"input": "hi"}, "call_1")])
    (found,) = calls()
    assert (found.tool, found.call_id, found.text, found.agent) == ("shout", "call_1", "HI", "bob")
    assert json.loads(found.arguments) == {"input": "hi"}


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("kind", LATER)
def test_a_function_that_the_loop_does_not_look_for_is_not_found(run, call, calls, registry, kind):
    registry.register_function(str.upper, name="shout", description="")
    run(kind, [call("shout", {"input": "hi"}, "call_1")])
    (found,) = calls()
    assert (found.tool, found.code, found.duration_ms) == ("shout", "NOT_FOUND", None)


@pytest.mark.usefixtures("installed", "add")
@pytest.mark.parametrize("kind", LATER)
def test_arguments_that_are_not_json_are_recorded(run, call, calls, kind):
    run(kind, [call("add", "{broken", "call_1")])
    (found,) = calls()
    assert (found.tool, found.call_id, found.ending, found.code) == ("add", "call_1", "refused", "INVALID_FORMAT")
    assert json.loads(found.arguments) == {"input": "{broken"}


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("kind", ["react", "react later", "react streamed"])
def test_thought_and_finish_are_calls_too(run, call, calls, kind):
    run(
        kind,
        [call("Thought", {"reasoning": "错误 everywhere"}, "call_1")],
        [call("Finish", {"answer": "❌ no"}, "call_2")],
    )
    assert [(each.tool, each.call_id, each.status) for each in calls()] == [
        ("Thought", "call_1", "success"),
        ("Finish", "call_2", "success"),
    ]
    assert json.loads(calls()[1].arguments) == {"answer": "❌ no"}


@pytest.mark.usefixtures("installed", "add")
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_id_after_a_success_is_another_call(run, call, calls, kind):
    again = [call("add", {"a": 1, "b": 2}, "call_1")]
    run(kind, again, again)
    first, second = calls()
    assert [(each.call_id, each.attempt) for each in (first, second)] == [("call_1", 1), ("call_1", 1)]
    assert (first.first_span_id, second.first_span_id) == (None, second.span_id)


@pytest.mark.usefixtures("installed", "add")
@pytest.mark.parametrize("call_id", [None, ""])
@pytest.mark.parametrize("kind", KINDS)
def test_calls_without_a_model_id_are_recorded_once_each(run, call, calls, kind, call_id):
    run(
        kind,
        [call("add", {"a": 1, "b": 2}, call_id), call("add", {"a": 3, "b": 4}, call_id), call("nope", {}, call_id)],
    )
    found = calls()
    assert sorted((each.tool, each.ending) for each in found) == [("add", "returned")] * 2 + [("nope", "refused")]
    assert all(each.call_id == each.span_id for each in found)
    assert {each.agent for each in found} == {"bob"}


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("kind", KINDS)
def test_an_override_that_raises_is_recorded_with_the_class(run, call, calls, registry, make_tool, kind):
    class Raises(make_tool.Made):
        def run_with_timing(self, parameters):
            raise ConnectionAbortedError("gone")

        async def arun_with_timing(self, parameters):
            raise ConnectionAbortedError("gone")

    registry.register_tool(make_tool("fetch", lambda _: None, Raises))
    run(kind, [call("fetch", {}, "call_1")])
    (found,) = calls()
    assert (found.tool, found.call_id, found.status, found.error_type) == (
        "fetch",
        "call_1",
        "error",
        "ConnectionAbortedError",
    )


@pytest.mark.usefixtures("installed", "add")
def test_concurrent_calls_have_their_own_ids(run, call, calls):
    asked = [call("add", {"a": 1, "b": n % 3}, f"call_{n}") for n in range(12)]
    run("react later", asked)
    assert sorted(each.call_id for each in calls()) == sorted(each.id for each in asked)
    assert {each.call_id: json.loads(each.arguments)["b"] for each in calls()} == {
        f"call_{n}": n % 3 for n in range(12)
    }


@pytest.mark.usefixtures("installed", "add")
def test_agents_with_the_same_call_ids_have_separate_messages(ha, llm, call, config, registry, store):
    agents = []
    for n in range(4):
        model = llm([call("add", {"a": n, "b": 13 * (n % 2)}, "call_1")], "done")
        agents.append(ha.ReActAgent(f"bob {n}", model, tool_registry=registry, config=config()))

    async def together():
        await asyncio.gather(*(agent.arun("go") for agent in agents))

    asyncio.run(together())
    with tt.connect(store) as db:
        rows = db.execute("SELECT agent, seen_text, seen_error FROM tool_calls ORDER BY agent").fetchall()
    assert rows == [(agent.name, agent.llm.shown("call_1"), bool(n % 2)) for n, agent in enumerate(agents)]


@pytest.mark.usefixtures("installed", "add")
@pytest.mark.parametrize("kind", ["simple", "react", "react later"])
def test_the_agent_of_an_agent_is_named_and_below_its_call(run, call, calls, kind):
    run(
        kind,
        [call("Task", {"task": "add", "agent_type": "react"}, "call_1")],
        [call("add", {"a": 1, "b": 2}, "call_2")],
        [call("Finish", {"answer": "3"}, "call_3")],
        subagent_enabled=True,
    )
    task, add, finish = calls()
    assert [each.call_id for each in (task, add, finish)] == ["call_1", "call_2", "call_3"]
    assert (task.agent, task.tool) == ("bob", "Task")
    assert add.agent == finish.agent != "bob"
    assert {add.parent_span_id, finish.parent_span_id} == {task.span_id}
    assert add.conversation_id == task.conversation_id


@pytest.mark.usefixtures("installed", "add")
def test_an_agent_with_a_loop_of_its_own(ha, llm, calls, config, registry):
    class Own(ha.SimpleAgent):
        def run(self, input_text, **_):
            return self._execute_tool_call("add", {"a": 1, "b": 2})

    assert Own("own", llm(), tool_registry=registry, config=config(trace_enabled=False)).run("go") == "3"
    (found,) = calls()
    assert (found.tool, found.agent, found.conversation_id) == ("add", "own", None)
    assert found.call_id == found.span_id


@pytest.mark.usefixtures("installed", "add")
def test_an_agent_that_wraps_the_helper_is_recorded_once_with_the_id(ha, llm, call, calls, config, registry):
    class Polite(ha.SimpleAgent):
        def _execute_tool_call(self, tool_name, arguments):
            return super()._execute_tool_call(tool_name, arguments) + ", please"

    model = llm([call("add", {"a": 1, "b": 2}, "call_1")])
    Polite("own", model, tool_registry=registry, config=config()).run("go")
    assert model.shown("call_1") == "3, please"
    assert [(each.call_id, each.text) for each in calls()] == [("call_1", "3")]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("kind", ["simple", "react later"])
def test_a_tool_of_another_make_is_recorded(run, call, calls, registry, kind):
    from hello_agents.tools import ToolResponse

    class Duck:
        name, description, expandable = "duck", "Quacks.", False

        def get_parameters(self):
            return []

        def run_with_timing(self, parameters):
            return ToolResponse.success("quack")

        async def arun_with_timing(self, parameters):
            return ToolResponse.success("quack")

    registry.register_tool(Duck())
    run(kind, [call("duck", {}, "call_1")])
    assert [(each.tool, each.call_id, each.status, each.text) for each in calls()] == [
        ("duck", "call_1", "success", "quack")
    ]
