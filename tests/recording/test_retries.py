"""Retries by tenacity and stamina are attempts of one call, without a call id."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import stamina
import stamina.instrumentation
import tenacity

import tooltrace as tt
from tests.grids import covering

NOW: Any = {"stop": tenacity.stop_after_attempt(3), "wait": tenacity.wait_none()}


@pytest.fixture(autouse=True)
def _store(tmp_path: Path) -> Iterator[None]:
    tt.configure(store=tmp_path / "retries.duckdb")
    stamina.instrumentation.set_on_retry_hooks([])
    with stamina.set_testing(True, attempts=3):
        yield
    tt.uninstall("tenacity", "stamina")
    stamina.instrumentation.set_on_retry_hooks(None)


def tool_that_fails(times: int) -> Callable[[str], str]:
    left = iter(range(times))

    @tt.trace_tool
    def fetch(url: str) -> str:
        if next(left, None) is not None:
            raise ConnectionError("reset")
        return "page"

    return fetch


def async_tool_that_fails(times: int) -> Any:
    fetch = tool_that_fails(times).__wrapped__  # type: ignore[attr-defined]

    @tt.trace_tool(name="fetch")
    async def afetch(url: str) -> str:
        return str(fetch(url))

    return afetch


def attempts() -> list[tuple[int, int, str | None]]:
    """The call of each attempt as a number from 1, its own number, and how it is linked."""
    with tt.connect() as db:
        rows = db.execute("SELECT call_id, attempt, linked_by FROM tool_calls ORDER BY started_at, attempt").fetchall()
    calls = list(dict.fromkeys(row[0] for row in rows))
    return [(calls.index(call) + 1, number, by) for call, number, by in rows]


def one_call(library: str) -> list[tuple[int, int, str | None]]:
    return [(1, 1, None), (1, 2, library), (1, 3, library)]


def run_tenacity_decorator() -> None:
    tenacity.retry(**NOW)(tool_that_fails(2))("a")


def run_tenacity_block() -> None:
    fetch = tool_that_fails(2)
    for attempt in tenacity.Retrying(**NOW):
        with attempt:
            fetch("a")


def run_tenacity_async() -> None:
    asyncio.run(tenacity.retry(**NOW)(async_tool_that_fails(2))("a"))


def run_stamina_decorator() -> None:
    stamina.retry(on=ConnectionError)(tool_that_fails(2))("a")


def run_stamina_block() -> None:
    fetch = tool_that_fails(2)
    for attempt in stamina.retry_context(on=ConnectionError):
        with attempt:
            fetch("a")


def run_stamina_async() -> None:
    asyncio.run(stamina.retry(on=ConnectionError)(async_tool_that_fails(2))("a"))


def run_around_a_step() -> None:
    fetch = tool_that_fails(2)

    @tenacity.retry(**NOW)
    def step() -> str:
        return fetch("a")

    step()


@pytest.mark.parametrize(
    ("run", "library", "installed"),
    covering(
        [
            (run_tenacity_decorator, "tenacity"),
            (run_tenacity_block, "tenacity"),
            (run_tenacity_async, "tenacity"),
            (run_around_a_step, "tenacity"),
            (run_stamina_decorator, "stamina"),
            (run_stamina_block, "stamina"),
            (run_stamina_async, "stamina"),
        ],
        [False, True],
    ),
)
def test_the_executions_of_a_retry_are_attempts_of_one_call(
    run: Callable[[], None], library: str, installed: bool
) -> None:
    if installed:
        tt.install("tenacity", "stamina")
    run()
    assert attempts() == one_call(library)
    assert tt.query("retries").select("calls", "attempts", "recovered", "gave_up").rows == [(1, 3, 1, 0)]


@pytest.mark.parametrize("library", ["tenacity", "stamina"])
def test_an_integration_links_attempts_in_other_threads_than_the_retry(library: str) -> None:
    fetch = tool_that_fails(2)

    async def run() -> None:
        retrying: Any = (
            tenacity.AsyncRetrying(**NOW) if library == "tenacity" else stamina.retry_context(on=ConnectionError)
        )
        async for attempt in retrying:
            with attempt:
                await asyncio.to_thread(fetch, "a")

    tt.install(library)
    asyncio.run(run())
    assert attempts() == one_call(library)


def test_a_retried_result_is_linked_where_it_is_an_error() -> None:
    left = iter([True, False])

    @tenacity.retry(retry=tenacity.retry_if_result(lambda response: not response.ok), **NOW)
    @tt.trace_tool
    def search(query: str) -> tt.ToolResponse:
        return tt.ToolResponse.error("TIMEOUT", "slow") if next(left) else tt.ToolResponse.success("found")

    search("tea")
    assert attempts() == [(1, 1, None), (1, 2, "tenacity")]


def test_retries_that_give_up_and_begin_again_are_two_calls() -> None:
    retried = tenacity.retry(**NOW)(tool_that_fails(9))
    for _ in range(2):
        with pytest.raises(tenacity.RetryError):
            retried("a")
    assert [(call, number) for call, number, _ in attempts()] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]


def test_a_repetition_by_hand_is_a_call_of_its_own_also_after_a_retry_in_the_same_function() -> None:
    for attempt in tenacity.Retrying(**NOW):  # the variable stays after the loop
        with attempt:
            tool_that_fails(0)("before")
    fetch = tool_that_fails(1)
    with pytest.raises(ConnectionError):
        fetch("a")
    fetch("a")
    assert [number for _, number, _ in attempts()] == [1, 1, 1]


def test_other_arguments_and_a_second_call_in_the_same_step_are_calls_of_their_own() -> None:
    fetch, left = tool_that_fails(1), iter("ab")

    @tenacity.retry(**NOW)
    def step() -> None:
        fetch(next(left))

    step()
    again = tool_that_fails(1)

    @tenacity.retry(**NOW)
    def twice() -> None:
        again("c")
        again("c")

    twice()
    assert attempts() == [(1, 1, None), (2, 1, None), (3, 1, None), (3, 2, "tenacity"), (4, 1, None)]


def test_another_conversation_is_another_call() -> None:
    fetch, chats = tool_that_fails(1), iter(["chat_1", "chat_2"])

    @tenacity.retry(**NOW)
    def step() -> None:
        with tt.context(conversation_id=next(chats)):
            fetch("a")

    step()
    assert [number for _, number, _ in attempts()] == [1, 1]


def test_the_id_of_the_model_counts_and_is_named_as_the_link() -> None:
    with tt.context(call_id="call_7"):
        run_tenacity_decorator()
    assert attempts() == one_call("call_id")


def test_without_content_a_retry_is_linked_too(tmp_path: Path) -> None:
    tt.configure(store=tmp_path / "metadata.duckdb", capture="metadata")
    run_tenacity_decorator()
    assert attempts() == one_call("tenacity")


def test_removed_integrations_leave_the_libraries_as_they_were() -> None:
    original = tenacity.RetryCallState.prepare_for_next_attempt
    hooks = stamina.instrumentation.get_on_retry_hooks()
    assert tt.install("tenacity", "stamina") == ["stamina", "tenacity"]
    assert tt.install("tenacity", "stamina") == ["stamina", "tenacity"]
    assert len(stamina.instrumentation.get_on_retry_hooks()) == len(hooks) + 1
    tt.uninstall("tenacity", "stamina")
    assert tenacity.RetryCallState.prepare_for_next_attempt is original
    assert stamina.instrumentation.get_on_retry_hooks() == hooks


@pytest.mark.processes
def test_no_retry_library_is_imported() -> None:
    code = "import sys, tooltrace; print({'tenacity', 'stamina'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_search_for_a_retry_keeps_no_object_of_other_functions_alive() -> None:
    @tt.trace_tool
    def search(query: str) -> None:
        raise ConnectionError(query)

    class Thing:
        pass

    thing = Thing()
    reference = weakref.ref(thing)
    for _ in range(2):  # the second execution may be a retry of the first, so that frames are searched
        with contextlib.suppress(ConnectionError):
            search("a")
    del thing
    assert reference() is None


def unreliable(times: int) -> Callable[[], str]:
    """Return a function that fails so often; it is a part of a tool."""
    left = iter(range(times))

    def read() -> str:
        if next(left, None) is not None:
            raise ConnectionError("reset")
        return "page"

    return read


def inner_tenacity() -> None:
    tt.trace_tool(name="fetch")(tenacity.retry(**NOW)(unreliable(2)))()


def inner_stamina() -> None:
    tt.trace_tool(name="fetch")(stamina.retry(on=ConnectionError)(unreliable(2)))()


def inner_block() -> None:
    @tt.trace_tool
    def fetch() -> str:
        read = unreliable(2)
        for attempt in stamina.retry_context(on=ConnectionError):
            with attempt:
                return read()
        return ""

    fetch()


def inner_async() -> None:
    read = unreliable(2)

    @tt.trace_tool
    @tenacity.retry(**NOW)
    async def fetch() -> str:
        return read()

    asyncio.run(fetch())


def inner_rows() -> list[tuple[str, int, str | None, str | None]]:
    with tt.connect() as db:
        return db.execute(
            "SELECT tool, attempt, attributes ->> '$.\"tooltrace.inner_retries\"', "
            "attributes ->> '$.\"tooltrace.inner_retry_errors\"' FROM tool_calls ORDER BY started_at, attempt"
        ).fetchall()


@pytest.mark.parametrize("run", [inner_tenacity, inner_stamina, inner_block, inner_async])
def test_retries_inside_a_tool_are_counted_in_its_one_attempt(run: Callable[[], None]) -> None:
    tt.install("tenacity", "stamina")
    run()
    assert inner_rows() == [("fetch", 1, "2", '["ConnectionError","ConnectionError"]')]


def test_retries_of_a_traced_call_inside_a_tool_are_its_attempts_alone() -> None:
    tt.install("tenacity", "stamina")
    fetch = tool_that_fails(2)

    @tt.trace_tool
    def answer() -> str:
        return tenacity.retry(**NOW)(fetch)("a")

    answer()
    fetch("b")
    assert inner_rows() == [
        ("answer", 1, None, None), ("fetch", 1, None, None), ("fetch", 2, None, None), ("fetch", 3, None, None),
        ("fetch", 1, None, None),
    ]  # fmt: skip


def test_a_retry_inside_a_tool_is_counted_beside_a_retry_of_the_tool() -> None:
    tt.install("stamina")
    outer = iter([True, False])

    @stamina.retry(on=TimeoutError)
    @tt.trace_tool
    def fetch() -> str:
        stamina.retry(on=ConnectionError)(unreliable(1))()
        if next(outer):
            raise TimeoutError("too slow")
        return "page"

    fetch()
    assert inner_rows() == [("fetch", number, "1", '["ConnectionError"]') for number in (1, 2)]
    assert attempts() == [(1, 1, None), (1, 2, "stamina")]


def test_the_errors_of_many_inner_retries_are_bounded() -> None:
    tt.install("tenacity")
    tt.trace_tool(name="fetch")(tenacity.retry(wait=tenacity.wait_none())(unreliable(30)))()
    ((_, _, count, errors),) = inner_rows()
    assert (count, str(errors).count("ConnectionError")) == ("30", 20)
