"""Each call of a registry or a tool is one record, and their behaviour is unchanged."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("hello_agents", reason="needs HelloAgents: pip install 'tooltrace-recorder[hello-agents]'")

import tooltrace as tt

pytestmark = pytest.mark.usefixtures("installed")


def add(parameters):
    return parameters["a"] + parameters["b"]


@pytest.mark.parametrize("given", [{"a": 1, "b": 2}, '{"a": 1, "b": 2}'])
def test_a_tool_is_recorded_once_with_the_models_arguments(registry, make_tool, calls, given):
    registry.register_tool(make_tool("add", add))
    response = registry.execute_tool("add", given)
    assert response.data == {"value": 3}
    (call,) = calls()
    assert (call.tool, call.ending, call.status, call.text) == ("add", "returned", "success", "3")
    assert json.loads(call.arguments) == {"a": 1, "b": 2}
    assert json.loads(call.result) == {"value": 3}
    assert call.tool_description == "It is called add."
    assert 0 <= call.duration_ms < 60_000
    assert (call.agent, call.conversation_id, call.call_id) == (None, None, call.span_id)


def test_a_text_that_is_not_json_is_the_input(registry, make_tool, calls):
    registry.register_tool(make_tool("echo", lambda parameters: parameters["input"]))
    assert registry.execute_tool("echo", "hello").text == "hello"
    assert json.loads(calls()[0].arguments) == {"input": "hello"}


def test_the_arguments_may_be_passed_by_name(registry, make_tool, calls):
    registry.register_tool(make_tool("add", add))
    assert registry.execute_tool(name="add", input_text={"a": 1, "b": 2}).text == "3"
    assert registry.get_tool("add").run_with_timing(parameters={"a": 3, "b": 4}).text == "7"
    assert [json.loads(call.arguments) for call in calls()] == [{"a": 1, "b": 2}, {"a": 3, "b": 4}]


def test_a_function_is_recorded_once_with_its_input(registry, calls):
    given = []
    registry.register_function(lambda text: given.append(text) or "HI", name="shout")
    assert registry.execute_tool("shout", '{"text": "hi"}').text == "HI"
    assert given == ['{"text": "hi"}']
    (call,) = calls()
    assert (call.tool, call.status, call.text) == ("shout", "success", "HI")
    assert json.loads(call.arguments) == {"input": '{"text": "hi"}'}


def test_the_response_is_the_very_object_of_the_tool(ha, registry, make_tool):
    from hello_agents.tools import ToolResponse

    made = ToolResponse.partial("half", {"rows": [1]})
    tool = make_tool("half", lambda _: made)
    registry.register_tool(tool)
    parameters = {"n": 1}
    assert registry.execute_tool("half", parameters) is made
    assert tool.run_with_timing(parameters) is made
    assert made.context["params_input"] is parameters


def test_partial_and_error_statuses_of_the_tool_are_recorded(registry, make_tool, calls):
    from hello_agents.tools import ToolResponse

    registry.register_tool(make_tool("half", lambda _: ToolResponse.partial("half of it")))
    registry.register_tool(make_tool("none", lambda _: ToolResponse.error("RATE_LIMIT", "later")))
    registry.execute_tool("half", {})
    registry.execute_tool("none", {})
    half, none = calls()
    assert (half.status, half.code, half.text) == ("partial", None, "half of it")
    assert (none.status, none.code, none.error_message, none.ending) == ("error", "RATE_LIMIT", "later", "returned")


def test_an_exception_that_became_a_response_is_recorded_with_its_class(registry, make_tool, calls):
    def fail(_):
        raise json.JSONDecodeError("bad", "x", 0)

    registry.register_tool(make_tool("tool", fail))
    registry.register_function(fail, name="function")
    assert registry.execute_tool("tool", {}).error_info["code"] == "INTERNAL_ERROR"
    assert registry.execute_tool("function", "x").error_info["code"] == "EXECUTION_ERROR"
    tool, function = calls()
    assert (tool.status, tool.code, tool.error_type) == ("error", "INTERNAL_ERROR", "json.decoder.JSONDecodeError")
    assert (function.status, function.code) == ("error", "EXECUTION_ERROR")
    assert function.error_type == "json.decoder.JSONDecodeError"
    assert "bad" in tool.error_message


def test_an_action_that_raises_is_recorded_with_the_class(ha, calls):
    from hello_agents.tools import Tool, tool_action

    class Box(Tool):
        def run(self, parameters):
            raise NotImplementedError

        def get_parameters(self):
            return []

        @tool_action("box_open", "Opens the box.")
        def open(self, key: str) -> str:
            if key != "right":
                raise PermissionError("wrong key")
            return "open"

    registry = ha.ToolRegistry()
    registry.register_tool(Box("box", "A box.", expandable=True))
    assert registry.execute_tool("box_open", {"key": "right"}).text == "open"
    registry.execute_tool("box_open", {"key": "wrong"})
    right, wrong = calls()
    assert (right.tool, right.status, right.error_type) == ("box_open", "success", None)
    assert (wrong.status, wrong.error_type) == ("error", "PermissionError")


def test_an_unknown_tool_and_an_open_circuit_are_on_record(registry, make_tool, calls):
    registry.register_tool(make_tool("add", add))
    registry.circuit_breaker.open("add")
    assert registry.execute_tool("add", {"a": 1, "b": 1}).error_info["code"] == "CIRCUIT_OPEN"
    assert registry.execute_tool("nope", {}).error_info["code"] == "NOT_FOUND"
    opened, unknown = calls()
    assert (opened.tool, opened.ending, opened.status, opened.code) == ("add", "refused", None, "CIRCUIT_OPEN")
    assert json.loads(opened.arguments) == {"a": 1, "b": 1}
    assert (unknown.tool, unknown.ending, unknown.status, unknown.code) == ("nope", "refused", None, "NOT_FOUND")


def test_the_circuit_opens_after_as_many_failures_as_without_recording(registry, make_tool, calls):
    def fail(_):
        raise ValueError("no")

    registry.register_tool(make_tool("bad", fail))
    codes = [registry.execute_tool("bad", {}).error_info["code"] for _ in range(5)]
    assert codes == ["INTERNAL_ERROR"] * 3 + ["CIRCUIT_OPEN"] * 2
    assert [call.code for call in calls()] == codes


def test_what_the_breaker_refuses_is_no_failure_of_the_tool(registry, calls, store):
    ran = []

    def flaky(_):
        ran.append(None)
        if len(ran) > 9:
            raise TimeoutError("late")
        return "ok"

    registry.register_function(flaky)
    for _ in range(60):
        registry.execute_tool("flaky", "x")
    assert len(calls()) == 60
    tt.flush()
    (figures,) = tt.query("failure_rate", store=store).dicts()
    assert (len(ran), figures["attempts"], figures["failures"], figures["refused"]) == (12, 12, 3, 48)
    (replayed,) = tt.query("breaker", store=store).dicts()
    assert (replayed["would_block"], replayed["prevented"], replayed["refused"]) == (0, 0, 48), (
        "a replay of a breaker is over executions, not over what another refused"
    )


def test_tools_that_a_tool_calls_are_calls_of_their_own(registry, make_tool, calls):
    inner = make_tool("inner", add)
    registry.register_tool(inner)
    registry.register_function(lambda text: text, name="echo")

    def outer(parameters):
        first = registry.execute_tool("inner", {"a": 1, "b": 1})
        second = inner.run_with_timing({"a": 2, "b": 2})
        return first.text + second.text + registry.execute_tool("echo", "x").text

    registry.register_tool(make_tool("outer", outer))
    with tt.context(call_id="call_1", agent="clerk"):
        assert registry.execute_tool("outer", {}).text == "24x"
    top, *below = calls()
    assert (top.tool, top.call_id) == ("outer", "call_1")
    assert [call.tool for call in below] == ["inner", "inner", "echo"]
    assert {call.parent_span_id for call in below} == {top.span_id}
    assert {call.agent for call in below} == {"clerk"}
    assert "call_1" not in {call.call_id for call in below}


def test_a_tool_that_calls_itself_is_recorded_each_time(registry, make_tool, calls):
    def down(parameters):
        n = parameters["n"]
        return n if n == 0 else tool.run_with_timing({"n": n - 1}).text

    tool = make_tool("down", down)
    registry.register_tool(tool)
    registry.execute_tool("down", {"n": 2})
    assert [json.loads(call.arguments)["n"] for call in calls()] == [2, 1, 0]


def test_a_function_that_calls_itself_is_recorded_each_time(registry, calls):
    def down(text):
        return text if text == "0" else registry.execute_tool("down", str(int(text) - 1)).text

    registry.register_function(down, name="down")
    registry.execute_tool("down", "2")
    assert [json.loads(call.arguments)["input"] for call in calls()] == ["2", "1", "0"]


def test_the_same_call_id_again_is_the_next_attempt(registry, make_tool, calls):
    registry.register_tool(make_tool("add", add))
    for _ in range(2):
        with tt.context(call_id="call_7"):
            registry.execute_tool("add", {"a": 1, "b": 1})
    assert [(call.call_id, call.attempt) for call in calls()] == [("call_7", 1), ("call_7", 2)]


def test_an_interrupt_propagates_and_is_not_a_failure(registry, make_tool, calls):
    stop = KeyboardInterrupt()

    def wait(_):
        raise stop

    registry.register_tool(make_tool("wait", wait))
    with pytest.raises(KeyboardInterrupt) as caught:
        registry.execute_tool("wait", {})
    assert caught.value is stop
    (call,) = calls()
    assert (call.ending, call.status) == ("cancelled", None)


def test_a_failing_recorder_is_not_noticed(registry, make_tool, calls, lenient, monkeypatch):
    from tooltrace.integrations.hello_agents import patch_points, recording

    def broken(*_, **__):
        raise RuntimeError("ours")

    registry.register_tool(make_tool("add", add))
    for module, name in (
        (recording, "named_spec"),
        (recording, "get_recorder"),
        (patch_points, "expected_name"),
        (patch_points, "expected_tool"),
    ):
        with monkeypatch.context() as patch:
            recording._spec.cache_clear()
            patch.setattr(module, name, broken)
            assert registry.execute_tool("add", {"a": 1, "b": 2}).text == "3"
