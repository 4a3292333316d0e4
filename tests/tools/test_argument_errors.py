"""Calls with unknown tools or wrong arguments: the response names each fault."""

from __future__ import annotations

import collections
import json
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from tests.tools.shared import Calls, both, forecast, run
from tooltrace.tools import ToolRegistry


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ('{"city": ', "line 1 column 10"),
        ("{'city': 1}", "line 1 column 2"),
        ('{"a": 1} trailing', "line 1 column 10"),
        ("[1]", "got array"),
        ('"x"', "got string"),
        ("null", "got null"),
        ("3", "got integer"),
        ('{"n": NaN}', "NaN"),
        ('{"n": ' + "9" * 5000 + "}", "digits"),
        ("[" * 100_000, ""),
        (b"\xff{", "breaks"),
        ([1], "got array"),
        (5, "got integer"),
        (object(), "got object"),
    ],
)
@both
def test_arguments_that_are_not_a_json_object_are_refused(calls: Calls, how: str, sent: Any, words: str) -> None:
    response = run(ToolRegistry([forecast]), how, "forecast", sent, call_id="c")
    assert (response.status, response.code) == ("error", "INVALID_FORMAT")
    assert "JSON object" in response.error.message
    assert words in response.error.message
    assert "JSON object" in response.error.suggestion
    assert response.meta.rule == "registry"
    (call,) = calls()
    assert (call.code, call.ending, call.status, call.rule) == ("INVALID_FORMAT", "refused", None, None)
    assert call.arguments is not None


@pytest.mark.parametrize("sent", ["", "  ", None, "{}", {}, b""])
def test_empty_arguments_are_accepted(store: Any, sent: Any) -> None:
    def now() -> str:
        return "noon"

    assert ToolRegistry([now]).execute("now", sent).text == "noon"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "missing parameter 'place'"),
        ({"place": {}}, "missing parameter 'place.city'"),
        ({"place": {"city": 5}}, "parameter 'place.city': expected a valid string, got integer 5"),
        (
            {"place": {"city": "x", "zip": 0}},
            "parameter 'place.zip': expected greater than or equal to 1, got integer 0",
        ),
        ({"place": "Ulm"}, "parameter 'place': expected an object, got string \"Ulm\""),
        ({"place": None}, "got null"),
        ({"place": [1]}, "got array"),
        ({"place": {"city": "x"}, "days": 1.5}, "parameter 'days'"),
        ({"place": {"city": "x"}, "unit": "kelvin"}, "expected 'celsius' or 'fahrenheit', got string \"kelvin\""),
        ({"place": {"city": "x"}, "mode": "s"}, "expected 'short' or 'long'"),
        ({"place": {"city": "x"}, "day": 1}, "unknown parameter 'day'; did you mean 'days'?"),
        ({"place": {"city": "x"}, "Mode": 1}, "did you mean 'mode'?"),
        ({"place": {"city": "x"}, "zzz": 1}, "unknown parameter 'zzz'"),
        ({5: 1, "place": {"city": "x"}}, "unknown parameter '5'"),
    ],
)
@pytest.mark.parametrize("as_text", [False, True])
def test_parameters_that_are_wrong(calls: Calls, arguments: Any, words: str, as_text: bool) -> None:
    response = ToolRegistry([forecast]).execute("forecast", json.dumps(arguments) if as_text else arguments)
    assert (response.code, response.error.retryable, response.next_action) == ("INVALID_PARAM", False, "continue")
    assert words in response.error.message
    assert "place (object, required)" in response.error.suggestion
    (call,) = calls()
    assert (call.code, call.error_message) == ("INVALID_PARAM", response.error.message)


@pytest.mark.parametrize(
    "value", ["\ud800", pytest.param(10**5000, id="huge"), float("nan"), b"bytes", {1, 2}, object(), 2**70]
)
def test_values_outside_json_are_validated_too(calls: Calls, value: Any) -> None:
    received: list[Any] = []

    def anything(x: Any) -> None:
        received.append(x)

    def number(x: int) -> None: ...

    registry = ToolRegistry([anything, number])
    assert registry.execute("anything", {"x": value}).ok
    assert received[0] is value or received[0] == value or repr(received[0]) == "nan"
    assert registry.execute("number", {"x": value}).code == (None if isinstance(value, int) else "INVALID_PARAM")
    assert len(calls()) == 2


def test_several_faults_are_reported_at_once(store: Any) -> None:
    arguments = {"place": {"zip": "x"}, "days": "x", "unit": 3, "more": 1}
    message = ToolRegistry([forecast]).execute("forecast", arguments).error.message
    for words in ("'place.city'", "'place.zip'", "'days'", "'unit'", "'more'"):
        assert words in message


def test_many_faults_are_not_a_flood(store: Any) -> None:
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    response = ToolRegistry([total]).execute("total", {"numbers": ["x" * 1000] * 1000})
    assert len(response.error.message) < 2000
    assert "and 990 more" in response.error.message


def test_members_of_a_union_are_not_part_of_the_path(store: Any) -> None:
    def tool(x: int | list[dict[str, int]]) -> None: ...

    message = ToolRegistry([tool]).execute("tool", {"x": [{"a": "b"}]}).error.message
    assert "'x'" in message
    assert "'x.0.a'" in message
    assert "list[" not in message


def test_a_long_or_secret_value_is_not_quoted(calls: Calls) -> None:
    def login(password: int, name: int, pin: int) -> None: ...

    long = "y" * 50
    arguments = {"password": "hunter2", "name": long, "pin": "zebra"}
    response = ToolRegistry([login]).execute("login", arguments)
    assert 'got string "zebra"' in response.error.message
    assert "hunter2" not in response.error.message
    assert long not in response.error.message
    registry = ToolRegistry()
    registry.register(login, capture="metadata")
    assert "zebra" not in registry.execute("login", arguments).error.message
    first, second = calls()
    assert "hunter2" not in repr(first)
    assert (second.arguments, "zebra" in repr(second)) == (None, False)


class Odd(BaseModel):
    x: int

    @field_validator("x")
    @classmethod
    def check(cls, value: int) -> int:
        raise KeyError("no such x")


@both
def test_a_validator_of_the_tools_own_that_fails_otherwise(calls: Calls, how: str) -> None:
    def tool(odd: Odd) -> None: ...

    response = run(ToolRegistry([tool]), how, "tool", {"odd": {"x": 1}})
    assert (response.status, response.code) == ("error", "NOT_FOUND")
    (call,) = calls()
    assert (call.ending, call.error_type) == ("refused", "KeyError")


@both
def test_an_unknown_tool(calls: Calls, how: str) -> None:
    registry = ToolRegistry([forecast])
    response = run(registry, how, "Forcast", '{"place": 1}', call_id="c")
    assert response.code == "NOT_FOUND"
    assert response.error.message == "no tool named 'Forcast'; did you mean 'forecast'?"
    assert "forecast" in response.error.suggestion
    assert response.next_action == "continue", "another tool may do; no person is to be asked"
    assert "did you mean" not in run(registry, how, "zzzzzzz").error.message
    assert run(ToolRegistry(), how, None).code == "NOT_FOUND"
    first, *_ = calls()
    assert (first.tool, first.code, first.call_id, first.arguments) == ("Forcast", "NOT_FOUND", "c", '{"place":1}')
    assert len(calls()) == 3


class Unreadable(collections.UserDict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no")


def test_a_mapping_that_cannot_be_read(calls: Calls) -> None:
    response = ToolRegistry([forecast]).execute("forecast", Unreadable())
    assert response.code == "INVALID_FORMAT"
    assert "Unreadable" in response.error.message
    assert len(calls()) == 1


def test_an_internal_fault_is_a_response_and_the_tool_does_not_run(
    calls: Calls, lenient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: Any) -> Any:
        raise RuntimeError("a fault of ours")

    ran: list[int] = []

    def tool(n: int) -> None:
        ran.append(n)

    monkeypatch.setattr("tooltrace.tools.argument_errors.faults", fails)
    assert ToolRegistry([tool]).execute("tool", {"n": "x"}).code == "INTERNAL_ERROR"
    assert ran == []
    assert [call.code for call in calls()] == ["INTERNAL_ERROR"]


def test_a_long_list_of_tools_is_cut(store: Any) -> None:
    registry = ToolRegistry()
    for n in range(50):
        registry.register(lambda: None, name=f"tool_{n}")
    assert registry.execute("x").error.suggestion.endswith("and 30 more.")


def test_names_that_a_model_made_up_at_length(calls: Calls) -> None:
    registry = ToolRegistry([forecast])
    assert len(registry.execute("x" * 100_000).error.message) < 200
    assert len(registry.execute("forecast", {"place": {"city": "x"}, "y" * 100_000: 1}).error.message) < 200
    assert len(calls()[0].tool) < 200
