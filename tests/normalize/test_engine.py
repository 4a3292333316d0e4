"""How the rules are asked: in order, of what they read, whatever the value does, and one's own first."""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.errors import ConfigError
from tooltrace.normalize import terms
from tooltrace.recording.config import get_recorder

Calls = Callable[[], list[ToolCall]]


class Hostile(type):
    def __getattribute__(cls, name: str) -> Any:
        raise RuntimeError("asked")


class Proxy(metaclass=Hostile):
    """As a werkzeug LocalProxy outside of a request."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("asked")


@tt.rule("acme")
def acme(value: Any) -> tt.ToolResponse | None:
    """The five lines of README."""
    if value == "ACME BROKEN":
        return tt.ToolResponse.error("ACME", "broken", retryable=True)
    return None


def test_nothing_that_a_value_does_raises() -> None:
    assert tt.normalize(Proxy()).meta.rule == "plain"


def test_a_hostile_result_is_recorded_and_handed_on(calls: Calls) -> None:
    proxy = Proxy()
    assert tt.trace_tool(name="a")(lambda: proxy)() is proxy
    with tt.TraceLogger().call("b") as call:
        call.finish(proxy)
    tt.TraceLogger().record("c", proxy)
    assert tt.ToolRegistry([tt.tool(name="d")(lambda: proxy)]).execute("d").status == "success"
    assert [(call.tool, call.status) for call in calls()] == [(name, "success") for name in "abcd"]


def test_a_custom_rule_comes_first_and_receives_the_object() -> None:
    seen = []
    peek = tt.rule("peek")(lambda value: seen.append(value))
    thing = object()
    tt.normalize(thing, rules=[peek, *tt.RULES])
    assert seen[0] is thing


@pytest.mark.parametrize(
    "value",
    [
        "ACME BROKEN",
        {"success": True, "data": "ACME BROKEN", "confidence": 0.5},
        {"isError": False, "content": [{"type": "text", "text": "ACME BROKEN"}]},
    ],
)
def test_a_rule_of_ones_own_looks_into_envelopes(value: Any) -> None:
    found = tt.normalize(value, rules=[acme, *tt.RULES])
    assert (found.status, found.code, (found.meta.rule or "").rpartition("/")[2]) == ("error", "ACME", "acme")


def test_a_custom_rule_reads_the_items_of_a_stream(calls: Calls) -> None:
    @tt.trace_tool(rules=[acme, *tt.RULES])
    def stream() -> Any:
        yield "ACME "
        yield "BROKEN"

    assert list(stream()) == ["ACME ", "BROKEN"]
    (call,) = calls()
    assert (call.status, call.code, call.rule) == ("error", "ACME", "acme")


def test_a_failing_rule_is_skipped_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    broken = tt.rule("broken")(lambda value: 1 / 0)
    nonsense = tt.rule("nonsense")(lambda value: "no response")
    assert tt.normalize({"ok": False, "error": "x"}, rules=[broken, nonsense, *tt.RULES]).status == "error"
    assert "losses" not in caplog.text


@pytest.mark.parametrize("rules", [[len], None, "acme", [acme, 1]])
def test_a_value_that_is_not_a_rule_is_refused(rules: Any) -> None:
    with pytest.raises(ConfigError):
        tt.normalize(1, rules=rules)
    with pytest.raises(ConfigError):
        tt.configure(rules=rules)
    if rules is not None:
        with pytest.raises(ConfigError):
            tt.trace_tool(rules=rules)(len)


def test_the_built_in_rules_stay_the_same_object_so_that_a_call_recognises_them() -> None:
    tt.configure(store=None, rules=tt.RULES)
    assert get_recorder().settings.rules is tt.RULES


def test_a_grade_is_certain_or_heuristic() -> None:
    with pytest.raises(ConfigError):
        tt.rule("x", "maybe")  # type: ignore[arg-type]


def test_without_rules_only_an_exception_is_a_failure(calls: Calls) -> None:
    values = [{"ok": False, "error": "x"}, ValueError("x")]
    assert [tt.normalize(value, rules=()).status for value in values] == ["success", "error"]
    for value in values:
        tt.trace_tool(rules=())(lambda value=value: value)()
    assert [(call.status, call.error_message) for call in calls()] == [("success", None), ("error", "x")]


def test_heuristics_can_be_left_out(calls: Calls) -> None:
    assert tt.normalize("Error: no such file").meta.rule_grade == "heuristic"
    assert tt.normalize("Error: no such file", rules=tt.CERTAIN_RULES).status == "success"
    assert all(rule.grade == "certain" for rule in tt.CERTAIN_RULES)


@pytest.mark.parametrize(
    ("value", "rule", "grade"),
    [
        (["a"], "plain", "unread"),
        ([{"type": "text", "text": "Ulm is sunny"}], "content_blocks", "unread"),
        ([{"type": "text", "text": '{"ok": true, "data": 1}'}], "content_blocks/flags", "certain"),
        ({"role": "tool", "tool_call_id": "c1", "content": "sunny"}, "openai_tool_output", "unread"),
        (
            {"role": "tool", "tool_call_id": "c1", "content": "sunny", "status": "success"},
            "openai_tool_output",
            "certain",
        ),
        ({"name": "f", "response": {"weather": "sunny"}}, "gemini_function_response", "unread"),
        ({"name": "f", "response": {"output": "sunny"}}, "gemini_function_response", "certain"),
        ({"isError": False, "content": [{"type": "text", "text": "sunny"}]}, "mcp", "certain"),
        (tt.ToolResponse.success("sunny"), None, None),
    ],
)
def test_a_success_is_unread_unless_the_result_states_it(value: Any, rule: str | None, grade: str | None) -> None:
    response = tt.normalize(value)
    assert (response.status, response.meta.rule, response.meta.rule_grade) == ("success", rule, grade)


def test_an_own_rule_states_a_success(calls: Calls) -> None:
    own = tt.rule("own")(lambda value: tt.ToolResponse.success(data=value) if value == 7 else None)
    for value in (7, 8):
        tt.trace_tool(rules=[own, *tt.RULES])(lambda value=value: value)()
    assert [(call.rule, call.rule_grade) for call in calls()] == [("own", "certain"), ("plain", "unread")]


class Text(str):
    pass


class Word(str, enum.Enum):
    BAD = "Error: no such file"


@pytest.mark.parametrize("value", [Text("Error: no such file"), Word.BAD])
def test_a_text_of_another_class_is_a_text(calls: Calls, value: str) -> None:
    assert tt.normalize(value).code == "NOT_FOUND"
    tt.trace_tool(lambda: value)()
    assert calls()[0].code == "NOT_FOUND"
    assert tt.normalize(Text("fine")).text == "fine"


def test_long_member_names_are_not_cached() -> None:
    before = terms._known_snake.cache_info().currsize
    for number in range(20):
        tt.normalize({f"{number}{'x' * 10_000}": 1})
    assert terms._known_snake.cache_info().currsize == before


def test_the_signals_of_a_score_come_along_by_the_decorator_too(calls: Calls) -> None:
    score = tt.ConfidenceRules({"exact": 0.25}).score(["exact"])
    tt.trace_tool(confidence=lambda _: score)(lambda: "x")()
    tt.ToolRegistry([tt.trace_tool(name="y", confidence=lambda _: score)(lambda: "y")]).execute("y")
    assert [(call.confidence, call.signals) for call in calls()] == [(0.75, '{"exact":0.25}')] * 2


def test_capture_metadata_stores_no_text_of_a_partial_result(calls: Calls) -> None:
    tt.trace_tool(capture="metadata")(lambda: tt.ToolResponse.partial("first line of it", reason="first line of it"))()
    (call,) = calls()
    assert (call.status, call.error_message, call.text) == ("partial", None, None)


def test_a_rule_in_one_line() -> None:
    booking = tt.rule("booking", failed=lambda value: value["state"] == "denied" and "the seat is taken")
    read = partial(tt.normalize, rules=[booking, *tt.RULES])
    assert (read({"state": "denied"}).status, read({"state": "denied"}).error.message) == ("error", "the seat is taken")
    assert (read({"state": "granted"}).status, read({"state": "granted"}).meta.rule) == ("success", "booking")
    assert read("another shape").meta.rule == "plain"
    with pytest.raises(ConfigError, match="failed must be a function"):
        tt.rule("booking", failed="denied")


def test_a_tool_reads_its_own_results(calls: Calls) -> None:
    @tt.trace_tool(reads=lambda value: True if "taken" in value else None)
    def book(answer: str) -> str:
        return answer

    for answer in ("Seat 4A is taken", "Error: no such flight", "Seat 4A is yours"):
        book(answer)
    assert [(call.status, call.rule) for call in calls()] == [
        ("error", "reads_book"),
        ("error", "error_text"),
        ("success", "plain"),
    ]
