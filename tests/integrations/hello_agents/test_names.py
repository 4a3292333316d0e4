"""The package and tooltrace under the package's names: the same code gives the same answers."""

from __future__ import annotations

import asyncio
import json
from importlib import import_module
from typing import Any

import pytest

pytest.importorskip("hello_agents", reason="needs HelloAgents: pip install 'tooltrace-recorder[hello-agents]'")

import tooltrace as tt
from tooltrace.integrations import hello_agents as ours

theirs = import_module("hello_agents.tools")

pytestmark = pytest.mark.usefixtures("store")


def responses(package: Any) -> list[Any]:
    kind, code = package.ToolResponse, package.ToolErrorCode
    return [
        kind.success(text="OK", data={"value": 123}, stats={"time_ms": 50}, context={"tool": "test"}),
        kind.success("OK", {"value": 123}, {"time_ms": 50}, {"tool": "test"}),
        kind.success("OK"),
        kind.partial("half", {"truncated": True}),
        kind.from_dict({"status": "error", "text": "no", "data": {}, "error": {"code": "MINE", "message": "no"}}),
        kind.from_dict({"text": "OK"}),
        kind.error(code="MINE", message="no", context={"path": "/x"}),
        kind.error(code.EXECUTION_ERROR, "no"),
    ]


def answers(package: Any) -> list[Any]:
    registry = package.ToolRegistry()
    registry.register_function("simple", "A function.", lambda text: f"got {text}")
    registry.register_function(lambda text: len(text), name="length", description="The length.")
    found = [registry.execute_tool(name, "abc") for name in ("simple", "length", "nothing")]
    return [
        [(each.text, each.data) for each in found[:2]],
        [each.status == package.ToolStatus.ERROR for each in found],
        found[2].error_info.get("code", "UNKNOWN"),
        found[2].error_info["code"] == package.ToolErrorCode.NOT_FOUND,
    ]


def test_the_serialized_forms_are_equal() -> None:
    here, there = responses(ours), responses(theirs)
    # The package's error has two members; tooltrace adds the advice of the code where it has one.
    assert [each.to_dict() for each in here] == [each.to_dict() for each in there]
    assert [json.loads(each.to_json()) for each in here] == [json.loads(each.to_json()) for each in there]


def test_either_reads_the_form_of_the_other() -> None:
    for reader, writer in ((ours, theirs), (theirs, ours)):
        for response in responses(writer):
            assert reader.ToolResponse.from_json(response.to_json()).to_dict() == response.to_dict()


def test_a_registry_answers_alike() -> None:
    assert answers(ours) == answers(theirs)


def test_a_tool_object_of_the_package_runs(make_tool: Any) -> None:
    for package in (ours, theirs):
        registry = package.ToolRegistry()
        registry.register_tool(make_tool("echo", lambda parameters: parameters["input"], input="string"))
        for sent in ("hi", '{"input": "hi"}', {"input": "hi"}):
            assert registry.execute_tool("echo", sent).text == "hi"


def test_the_codes_and_statuses_are_there() -> None:
    assert set(theirs.ToolErrorCode.get_all_codes()) <= set(ours.ToolErrorCode.get_all_codes())
    assert [each.value for each in theirs.ToolStatus] == [each.value for each in ours.ToolStatus]


@pytest.mark.parametrize("recorded_too", [False, True], ids=["alone", "with install"])
@pytest.mark.parametrize("asynchronous", [False, True], ids=["run", "arun"])
def test_an_agent_of_the_package_runs_the_tools_of_tooltrace(
    recorded_too: bool, asynchronous: bool, request: Any, ha: Any, llm: Any, call: Any, calls: Any, store: Any
) -> None:
    if recorded_too:
        request.getfixturevalue("installed")

    class Halve(tt.Tool):
        def run(self, parameters: dict[str, Any]) -> tt.ToolResponse:
            if parameters.get("n") is None:
                return tt.ToolResponse.error(tt.ToolErrorCode.INVALID_PARAM, "give n")
            return tt.ToolResponse.success(str(parameters["n"] / 2), {"half": parameters["n"] / 2})

        def get_parameters(self) -> list[tt.ToolParameter]:
            return [tt.ToolParameter(name="n", type="number", description="A number.")]

    registry = tt.ToolRegistry()
    registry.register_tool(Halve("halve", "Halve a number."))
    model = llm([call("halve", {"n": 8}, "c1")], [call("halve", {}, "c2")], "Done.")
    agent = ha.ReActAgent("assistant", model, tool_registry=registry, config=ha.Config(trace_enabled=False))
    answer = asyncio.run(agent.arun("x")) if asynchronous else agent.run("x")
    assert answer == "Done."
    assert (model.shown("c1"), "give n" in model.shown("c2")) == ("4.0", True)
    found = [(each.call_id, each.status, each.code, each.agent, each.result) for each in calls()]
    assert found == [
        ("c1", "success", None, "assistant", '{"half":4.0}'),
        ("c2", "error", "INVALID_PARAM", "assistant", None),
    ]
    if recorded_too:
        tt.flush()
        with tt.connect(store) as connection:
            seen = connection.execute("SELECT seen_text FROM tool_calls ORDER BY call_id").fetchall()
        assert seen == [(model.shown("c1"),), (model.shown("c2"),)]


def test_a_direct_run_of_a_tool_of_the_package_is_a_call(installed: Any, make_tool: Any, calls: Any) -> None:
    tool = make_tool("echo", lambda parameters: parameters["input"], input="string")
    assert tool.run({"input": "hi"}).text == "hi"
    assert tool.run_with_timing({"input": "ho"}).text == "ho"
    with pytest.raises(KeyError):
        tool.run({})
    assert [(each.tool, each.text, each.ending) for each in calls()] == [
        ("echo", "hi", "returned"),
        ("echo", "ho", "returned"),
        ("echo", None, "raised"),
    ]
