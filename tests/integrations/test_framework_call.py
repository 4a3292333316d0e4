"""The base of every integration: one call of a framework, begun and ended once."""

from __future__ import annotations

import contextlib
import contextvars
import gc
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import tooltrace as tt
from tests.conftest import records
from tests.integrations.capabilities import check_review, messages
from tooltrace.core.records import Gate, ToolCall
from tooltrace.integrations import framework_call
from tooltrace.integrations.framework_call import FrameworkCall, parse_arguments, spec_for

Calls = Callable[[], list[ToolCall]]


def begin(name: str = "add", arguments: Any = None, **options: Any) -> FrameworkCall:
    return FrameworkCall(spec_for(name, "Add  two\nnumbers."), arguments, style="test", **options)


@tt.trace_tool(version="7")
def add(a: int, b: int) -> int:
    return a + b


def test_a_call_is_recorded_with_values_of_the_framework(calls: Calls, store: Any) -> None:
    call = begin(arguments='{"a": 1}', call_id="c1", agent="clerk", conversation="chat", attributes={"run": 3})
    call.returned(3)
    call.model_reads("three")
    (row,) = calls()
    assert (row.tool, row.call_id, row.agent, row.conversation_id) == ("add", "c1", "clerk", "chat")
    assert (row.tool_description, json.loads(row.arguments), json.loads(row.result)) == (
        "Add two numbers.",
        {"a": 1},
        3,
    )
    assert (json.loads(row.attributes), messages(store)) == ({"run": 3}, {"c1": "three"})


def test_missing_values_come_from_the_context(calls: Calls) -> None:
    with tt.context(call_id="c9", conversation_id="outer", agent="boss", attributes={"key": "value"}):
        begin().returned(1)
    (row,) = calls()
    assert (row.call_id, row.conversation_id, row.agent) == ("c9", "outer", "boss")
    assert json.loads(row.attributes) == {"key": "value"}


def test_only_the_first_end_counts(calls: Calls) -> None:
    call = begin(call_id="c1")
    call.raised(FileNotFoundError("p"))
    call.returned(3)
    call.finish("paused")
    assert [(row.ending, row.error_type) for row in calls()] == [("raised", "FileNotFoundError")]


def test_a_decorated_tool_continues_the_call(calls: Calls) -> None:
    call = begin(arguments={"a": 1, "b": 2}, call_id="c1", agent="clerk")
    with call.active():
        assert add(1, 2) == 3
    call.returned("3 as the framework formats it")
    (row,) = calls()
    assert (row.tool_version, row.call_id, row.agent, json.loads(row.result)) == ("7", "c1", "clerk", 3)


@pytest.mark.parametrize("known", [False, True])
def test_several_executions_inside_one_call_are_its_children(calls: Calls, known: bool) -> None:
    """As a framework makes them, or a loop in the body of the framework's tool."""
    spec = spec_for("add", function=add if known else None)
    call = FrameworkCall(spec, None, style="test", call_id="c1", function=add if known else None)
    with call.active():
        add(1, 2)
        add(3, 4)
    call.returned(7)
    outer, *children = sorted(calls(), key=lambda row: row.call_id != "c1")
    assert (outer.call_id, outer.result) == ("c1", "7")
    assert sorted(str(child.result) for child in children) == ["3", "7"]
    assert {(child.parent_span_id, child.call_id == child.span_id) for child in children} == {(outer.span_id, True)}


@tt.trace_tool(name="search")
def search_index(query: str) -> str:
    raise TimeoutError("no answer from the index")


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (lambda call: call.returned("from the cache"), [("success", None), ("error", "TIMEOUT")]),
        (lambda call: call.returned("Error: no answer from the index. Try again."), [("error", "TIMEOUT")]),
        (lambda call: call.returned("It did not work: no answer from the index"), [("error", "TIMEOUT")]),
        (lambda call: call.raised(TimeoutError("no answer from the index")), [("error", "TIMEOUT")]),
        (lambda call: call.finish("paused"), [(None, None), ("error", "TIMEOUT")]),
    ],
    ids=["answered_otherwise", "formatted", "repeated", "raised", "paused"],
)
def test_what_the_model_got_decides_and_a_failure_inside_is_a_row(
    calls: Calls, end: Callable[[FrameworkCall], None], expected: list[Any], known: bool
) -> None:
    """A framework's tool has the name of a decorated function that its body calls."""

    def search(query: str) -> str:
        return search_index(query)

    function = search if known else None
    call = FrameworkCall(
        spec_for("search", function=function), {"query": "q"}, style="test", call_id="c1", function=function
    )
    with call.active(), contextlib.suppress(TimeoutError):
        search("q")
    end(call)
    rows = sorted(calls(), key=lambda row: row.call_id != "c1")
    if known:
        assert len(rows) == 2, "another function is another call"
    else:
        assert [(row.status, row.code) for row in rows] == expected
    assert rows[0].call_id == "c1"
    assert [row.parent_span_id for row in rows[1:]] == [rows[0].span_id] * (len(rows) - 1)


def test_the_function_of_the_framework_is_one_row_whatever_the_framework_says_of_it(calls: Calls) -> None:
    call = FrameworkCall(spec_for("search", function=search_index), {"query": "q"}, style="test", call_id="c1")
    with call.active(), contextlib.suppress(TimeoutError):
        search_index("q")
    call.returned("Sorry!")
    assert [(row.call_id, row.status, row.code) for row in calls()] == [("c1", "error", "TIMEOUT")]


def test_a_call_whose_end_the_framework_does_not_report_has_that_of_its_function(calls: Calls) -> None:
    call = begin(arguments={"a": 1, "b": 2}, call_id="c1")
    with call.active():
        add(1, 2)
    assert calls() == []
    del call
    gc.collect()
    assert [(row.call_id, row.result) for row in calls()] == [("c1", "3")]


def test_an_execution_that_outlives_the_call_is_a_row(calls: Calls) -> None:
    go = threading.Event()

    @tt.trace_tool(name="add")
    def slow(a: int) -> int:
        go.wait()
        return a

    call = begin(arguments={"a": 1}, call_id="c1")
    with call.active():
        thread = threading.Thread(target=contextvars.copy_context().run, args=(slow, 1))
        thread.start()
        while call.attempt is not None and call.attempt.inner is None:
            time.sleep(0.001)
    call.raised(TimeoutError("too slow"))
    go.set()
    thread.join()
    assert [(row.status, row.parent_span_id is None) for row in calls()] == [("error", True), ("success", False)]


def test_a_tool_that_the_framework_calls_inside_is_a_call_of_its_own(calls: Calls) -> None:
    outer = begin(call_id="c1")
    with outer.active():
        begin(arguments={"a": 5}).returned(5)
        begin(call_id="c1").returned("the same call, seen by two integrations")
    outer.returned(6)
    first, second = calls()
    assert (first.call_id, first.text) == ("c1", "the same call, seen by two integrations")
    assert (second.parent_span_id, second.call_id) == (first.span_id, second.span_id)


def test_another_decorated_tool_inside_is_a_child_without_the_id(calls: Calls) -> None:
    call = begin("outer", call_id="c1")
    with call.active():
        add(1, 2)
    call.returned(3)
    outer, inner = calls()
    assert (outer.tool, inner.tool, inner.parent_span_id) == ("outer", "add", outer.span_id)
    assert inner.call_id == inner.span_id


def test_an_alias_and_the_decorated_function_itself_are_the_same_tool(calls: Calls) -> None:
    for call in (
        begin("server__add", call_id="c1", aliases=("add",)),
        FrameworkCall(spec_for("sum", function=add), {"a": 1}, style="test", call_id="c2"),
    ):
        with call.active():
            add(1, 2)
        call.returned(3)
    assert [(row.call_id, row.tool, row.tool_version) for row in calls()] == [("c1", "add", "7"), ("c2", "add", "7")]


def test_a_decorator_that_records_no_content_drops_the_arguments_of_the_framework(calls: Calls) -> None:
    @tt.trace_tool(name="login", capture="metadata")
    def login(password: str) -> str:
        return password

    call = begin("login", {"password": "secret"}, call_id="c1")
    with call.active():
        login("secret")
    call.returned("secret")
    (row,) = calls()
    assert (row.arguments, row.result, row.call_id) == (None, None, "c1")


def test_ends_without_an_execution(calls: Calls) -> None:
    begin(call_id="c1").finish("paused")
    begin(call_id="c1").refused("INVALID_PARAM", "a must be a number")
    begin(call_id="c2").cached(3)
    paused, refused, cached = calls()
    assert (paused.status, paused.ending, paused.attempt) == (None, "paused", 1)
    assert (refused.ending, refused.status, refused.duration_ms, refused.attempt) == ("refused", None, None, 1)
    assert (refused.code, refused.error_message) == ("INVALID_PARAM", "a must be a number")
    assert (cached.cached, cached.status) == (True, "success")


def test_the_next_call_with_the_same_id_has_the_persons_answer(calls: Calls, store: Any) -> None:
    def ask(number: int, conversation: str = "chat") -> FrameworkCall:
        return begin(arguments={"a": number}, call_id="c1", conversation=conversation)

    ask(1).finish("paused")
    ask(1, "other").returned(0)
    ask(2).returned(2)
    ask(3).returned(3)
    paused, _, resumed, _ = calls()
    assert check_review(store, paused, resumed, "confirmation").changed == '{"a":2}'


def test_a_call_may_wait_again_and_be_declined(calls: Calls, store: Any) -> None:
    begin(call_id="c1").finish("paused", waits_for="input")
    begin(call_id="c1").finish("paused")
    begin(call_id="c1").finish("declined", note="my password is hunter2-hunter2")
    first, second, last = calls()
    gates = [each for each in records(store) if isinstance(each, Gate)]
    assert [(each.kind, each.decision, each.span_id, each.resumed_span_id) for each in gates] == [
        ("input", None, first.span_id, None),
        ("input", "approved", first.span_id, second.span_id),
        ("confirmation", None, second.span_id, None),
        ("confirmation", "declined", second.span_id, last.span_id),
    ]
    assert (gates[0].note, gates[3].note is not None) == (None, True)


def test_a_call_without_an_id_and_an_abandoned_one_ask_nothing(calls: Calls, store: Any) -> None:
    begin().finish("paused")
    begin().returned(1)
    begin(call_id="c7").finish("paused")
    begin(call_id="c7").finish("abandoned")
    gates = [each for each in records(store) if isinstance(each, Gate)] if calls() else []
    assert [(each.call_id, each.decision) for each in gates] == [("c7", None)]


def test_a_second_observer_adds_no_gate(calls: Calls, store: Any) -> None:
    outer = begin(arguments={"a": 1}, call_id="c1")
    with outer.active():
        inner = begin(arguments={"a": 1})
        inner.finish("paused", waits_for="input")
    outer.returned("the framework's text about the pause")
    begin(arguments={"a": 1}, call_id="c1").returned(1)
    paused, resumed = calls()
    check_review(store, paused, resumed, "input")


def test_leaving_in_another_context_is_harmless(calls: Calls) -> None:
    call = begin(call_id="c1")
    contextvars.copy_context().run(call.enter)
    call.returned(1)
    begin("other").returned(2)
    assert [row.parent_span_id for row in calls()] == [None, None]


def test_a_call_that_cannot_begin_records_and_raises_nothing(
    lenient: None, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(framework_call, "get_recorder", fail)
    call = begin(call_id="c1")
    with call.active():
        call.restart()
        call.returned(1)
    call.raised(ValueError())
    call.finish("paused")
    call.model_reads("text")
    assert calls() == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ("{", {"value": "{"}),
        ("", None),
        (None, None),
        ([1], {"value": [1]}),
        ("3", {"value": 3}),
    ],
)
def test_arguments_are_read_by_name(given: Any, expected: Any) -> None:
    assert parse_arguments(given) == expected
