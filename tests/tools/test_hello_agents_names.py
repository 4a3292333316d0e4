"""A registry under HelloAgents' names: what is registered, how it is called, what it returns."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.errors import ConfigError
from tooltrace.integrations.hello_agents import ToolErrorCode, ToolRegistry, ToolResponse, ToolStatus


def shout(input_text: str) -> str:
    """Return the text in capitals."""
    return input_text.upper()


class Echo:
    name, description, expandable = "echo", "Echo.", False

    def run(self, parameters: dict[str, Any]) -> ToolResponse:
        return ToolResponse.success(f"echo {sorted(parameters.items())}")


class Memory:
    name, description, expandable = "memory", "Memory.", True

    def run(self, parameters: dict[str, Any]) -> ToolResponse:
        return ToolResponse.success("all")

    def get_expanded_tools(self) -> list[Any]:
        return [Echo()]


@pytest.fixture
def registry(store: object) -> ToolRegistry:
    return ToolRegistry()


def test_the_names_are_the_classes_of_tooltrace() -> None:
    assert (ToolResponse, ToolErrorCode, ToolRegistry) == (tt.ToolResponse, tt.ToolErrorCode, tt.ToolRegistry)
    assert ToolResponse.partial("x").status == ToolStatus.PARTIAL
    assert ToolResponse(status=ToolStatus.SUCCESS) == ToolResponse.success()
    assert [status.value for status in ToolStatus] == ["success", "partial", "error"]


def test_the_text_of_a_function_is_output_in_the_data(
    registry: ToolRegistry, calls: Callable[[], list[ToolCall]]
) -> None:
    registry.register_function(shout)
    response = registry.execute_tool("shout", "hi", call_id="c1")
    assert (response.status, response.text, response.data) == (ToolStatus.SUCCESS, "HI", {"output": "HI"})
    (call,) = calls()
    assert (call.call_id, call.text, json.loads(call.result or "")) == ("c1", "HI", {"output": "HI"})
    assert json.loads(call.arguments or "") == {"input_text": "hi"}
    assert registry.execute("shout", {"input_text": "a"}).data == {"output": "A"}


@pytest.mark.parametrize(("result", "text"), [(42, "42"), (None, "None"), ([1], "[1]")])
def test_any_other_value_of_a_function_is_output_too(registry: ToolRegistry, result: object, text: str) -> None:
    registry.register_function(lambda value: result, name="find")
    response = registry.execute_tool("find", "x")
    assert (response.text, response.data) == (text, {"output": result})


def test_a_value_without_a_text_is_a_success(registry: ToolRegistry) -> None:
    class Silent:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    registry.register_function(lambda value: Silent(), name="find")
    response = registry.execute_tool("find", "x")
    assert (response.status, list(response.data)) == ("success", ["output"])


@pytest.mark.parametrize(
    ("result", "status", "code"),
    [
        ({"ok": False, "error": "gone"}, "error", "NOT_FOUND"),
        (ToolResponse.partial("half"), "partial", None),
        ("错误: 文件不存在", "error", "NOT_FOUND"),
    ],
)
def test_a_result_that_a_rule_reads_stays_as_it_is(
    registry: ToolRegistry, result: object, status: str, code: str | None
) -> None:
    registry.register_function(lambda value: result, name="find")
    response = registry.execute_tool("find", "x")
    assert (response.status, response.data == {"output": result}) == (status, False)
    assert response.error_info is None or response.error_info.get("code") in (code, "EXECUTION_ERROR", "gone")


@pytest.mark.parametrize(
    ("sent", "got"),
    [
        ("hi", "HI"),
        ('{"input_text": "hi"}', "HI"),
        ({"input_text": "hi"}, "HI"),
        ('{"other": "hi"}', '{"OTHER": "HI"}'),
        ("[1]", "[1]"),
        ("", ""),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_the_input_of_a_function(registry: ToolRegistry, sent: Any, got: str) -> None:
    registry.register_function(shout)
    assert registry.execute_tool("shout", sent).text == got


def test_a_function_has_a_name_and_a_description_in_both_orders(registry: ToolRegistry) -> None:
    registry.register_function(shout, name="loud", description="Be loud.")
    registry.register_function("louder", "Be louder.", shout)
    registry.register_function(shout)
    described = [(each["name"], each["description"]) for each in registry.schemas("plain")]
    assert described == [
        ("loud", "Be loud."),
        ("louder", "Be louder."),
        ("shout", "Return the text in capitals."),
    ]


def test_a_second_tool_of_a_name_replaces_the_first(registry: ToolRegistry, caplog: pytest.LogCaptureFixture) -> None:
    registry.register_function(shout, name="echo")
    registry.register_tool(Echo())
    assert "'echo' was registered before" in caplog.text
    assert registry.execute_tool("echo", '{"a": 1}').text == "echo [('a', 1)]"
    assert registry.execute_tool("echo", "hi").text == "echo [('input', 'hi')]"


def test_an_expandable_tool_is_registered_as_its_parts(registry: ToolRegistry) -> None:
    registry.register_tool(Memory())
    assert registry.names == ["echo"]
    registry.register_tool(Memory(), auto_expand=False)
    assert registry.names == ["echo", "memory"]


def test_an_unknown_tool_and_an_exception_are_errors(registry: ToolRegistry) -> None:
    def fail(text: str) -> str:
        raise RuntimeError("on purpose")

    registry.register_function(fail)
    for name, code in (("nothing", ToolErrorCode.NOT_FOUND), ("fail", ToolErrorCode.EXECUTION_ERROR)):
        response = registry.execute_tool(name, "x")
        assert response.status == ToolStatus.ERROR
        assert response.error_info is not None
        assert response.error_info["code"] == code


def test_a_tool_that_cannot_be_called_is_refused(registry: ToolRegistry) -> None:
    with pytest.raises(ConfigError, match="is not a tool"):
        registry.register_tool(object())
    with pytest.raises(ConfigError, match="is not a tool"):
        registry.register_function("shout", "Be loud.")
    assert registry.names == []
