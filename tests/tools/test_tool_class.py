"""``tooltrace.Tool``: a class of tools that is moved from HelloAgents, in a registry and called directly."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import tooltrace as tt
from tooltrace.errors import ConfigError
from tooltrace.tools import ToolRegistry

from .shared import Calls


class Halve(tt.Tool):
    def __init__(self) -> None:
        super().__init__(name="halve", description="Halve a number.")

    def run(self, parameters: dict[str, Any]) -> tt.ToolResponse:
        if "n" not in parameters:
            return tt.ToolResponse.error(tt.ToolErrorCode.INVALID_PARAM, "give me n")
        return tt.ToolResponse.success(str(parameters["n"] / 2), {"half": parameters["n"] / 2})

    def get_parameters(self) -> list[tt.ToolParameter]:
        return [tt.ToolParameter(name="n", type="number", description="A number.")]


class Careless(Halve):
    def run(self, parameters: dict[str, Any]) -> tt.ToolResponse:
        return tt.ToolResponse.success(super().run({"n": parameters["n"] * 2}).text)


class Slow(Halve):
    async def run(self, parameters: dict[str, Any]) -> tt.ToolResponse:  # type: ignore[override]
        await asyncio.sleep(0)
        return tt.ToolResponse.success(f"{parameters['n']:g}")


@pytest.fixture
def registry(store: Any) -> ToolRegistry:
    return ToolRegistry()


@pytest.mark.parametrize("kind", [Halve, Careless, Slow])
@pytest.mark.parametrize("directly", [True, False])
def test_a_call_is_one_row(registry: ToolRegistry, calls: Calls, kind: type[Halve], directly: bool) -> None:
    tool = kind()
    if directly:
        found: Any = tool.run({"n": 8})
        response = asyncio.run(found) if kind is Slow else found
    else:
        registry.register_tool(tool)
        response = registry.execute_tool("halve", {"n": 8})
    (call,) = calls()
    assert call.text == response.text == {Halve: "4.0", Careless: "8.0", Slow: "8"}[kind]
    assert (call.tool, call.status, json.loads(call.arguments or "")) == ("halve", "success", {"n": 8})


def test_a_tool_answers_a_missing_parameter_itself(registry: ToolRegistry, calls: Calls) -> None:
    registry.register_tool(Halve())
    assert (r := registry.execute_tool("halve", {})).text == "give me n"
    assert r.code == "INVALID_PARAM"
    assert "n" in registry.execute_tool("halve", {"n": "x"}).text  # a wrong type is refused
    registry.register_tool(Careless())
    careless = registry.execute_tool("halve", {})
    assert (careless.code, careless.text) == ("INVALID_PARAM", "missing parameter 'n' (A number.)")
    assert [(call.ending, call.error_type) for call in calls()][::2] == [("returned", None), ("raised", "KeyError")]


def test_the_lookups_of_hello_agents(registry: ToolRegistry, calls: Calls) -> None:
    def shout(text: str, times: int | None = 2) -> str:
        """Shout."""
        return text.upper() * (times or 1)

    registry.register_tool(Halve())
    registry.register_function(shout)
    registry.register({"type": "web_search"})
    assert registry.list_tools() == ["halve", "shout", "web_search"]
    assert [tool.name for tool in registry.get_all_tools()] == ["halve", "shout"]
    assert registry.get_function("shout") is shout
    assert registry.get_function("halve") is registry.get_tool("nothing") is registry.get_tool("web_search") is None
    tool = registry.get_tool("shout")
    assert tool is not None
    assert tool.get_parameters() == [
        tt.ToolParameter(name="text", type="string"),
        tt.ToolParameter(name="times", type="integer", required=False, default=2),
    ]
    assert tool.run({"text": "a"}).text == "AA"
    registry.unregister_tool("halve")
    assert "halve" not in registry
    with pytest.raises(ConfigError, match="'shot' is registered; did you mean 'shout'"):
        registry.unregister_tool("shot")
    assert [call.tool for call in calls()] == ["shout"]
