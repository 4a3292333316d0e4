"""Questions in threads: the same one is put once, an answer is kept for a moment, and nobody who left is waited for."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tooltrace.analysis import ask
from tooltrace.errors import BadParameter, QueryCancelled, StoreMissing, UnknownQuery
from tooltrace.server import query_cache as module
from tooltrace.server.query_cache import QueryCache
from tooltrace.store.base import Cancellation
from tooltrace.store.file_lock import Lock
from tooltrace.store.paths import StorePaths

from .conftest import call, write


@pytest.fixture
def desk(tmp_path):
    write(tmp_path / "d.duckdb", call(status="error"), call())
    return QueryCache(tmp_path / "d.duckdb")


async def attempts(desk):
    return [row["attempts"] for row in (await desk.ask("failure_rate")).dicts()]


async def test_the_same_question_at_the_same_time_is_put_once(desk):
    first, second, other = await asyncio.gather(
        desk.ask("failure_rate"), desk.ask("failure_rate", None, tool=None), desk.ask("failure_rate", ("agent",))
    )
    assert first is second
    assert other is not first
    assert other.columns[:2] == ["agent", "attempts"]


async def test_an_answer_is_kept_while_nothing_is_recorded_and_a_second_at_least(desk, tmp_path, monkeypatch):
    await attempts(desk)  # this one folds: the store's files are others then
    monkeypatch.setattr(module, "FRESH_SECONDS", 0.0)
    first = await desk.ask("failure_rate")
    assert await desk.ask("failure_rate") is first
    write(tmp_path / "d.duckdb", call())
    assert await attempts(desk) == [3]
    monkeypatch.setattr(module, "FRESH_SECONDS", 1000.0)
    write(tmp_path / "d.duckdb", call())
    assert await attempts(desk) == [3]
    desk.invalidate()
    assert await attempts(desk) == [4]


async def test_no_more_answers_are_kept_than_there_is_room_for(desk, monkeypatch):
    monkeypatch.setattr(module, "KEPT", 3)
    for n in range(10):
        await desk.ask("failure_rate", min_n=n)
    assert len(desk._kept) == 3


async def test_a_question_that_nobody_waits_for_any_more_is_not_put(desk):
    for _ in range(module.AT_ONCE):
        await desk._limiter.acquire_on_behalf_of(object())  # all places are taken
    alone = asyncio.ensure_future(desk.ask("failure_rate"))
    shared = [asyncio.ensure_future(desk.ask("errors")) for _ in range(2)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(desk._asked) == 2
    alone.cancel()
    shared[0].cancel()
    await asyncio.wait([alone, shared[0]])
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [key[0] for key in desk._asked] == ["errors"], "one still waits for this"
    shared[1].cancel()
    await asyncio.wait(shared)


async def test_who_asks_again_after_leaving_gets_an_answer(desk):
    left = asyncio.ensure_future(desk.ask("failure_rate"))
    while not desk._limiter.borrowed_tokens:  # until it is being asked
        await asyncio.sleep(0)
    left.cancel()
    again = asyncio.ensure_future(desk.ask("failure_rate"))
    await asyncio.wait([left, again])
    assert not again.cancelled()


async def test_faults_reach_everybody_who_asked_and_are_not_kept(desk, tmp_path):
    for wrong in (
        desk.ask("nonsense"),
        desk.ask("failure_rate", min_n="many"),
        desk.ask("failure_rate", ("nonsense",)),
    ):
        with pytest.raises((UnknownQuery, BadParameter)):
            await wrong
    nowhere = QueryCache(tmp_path / "nowhere.duckdb")
    both = await asyncio.gather(nowhere.ask("recent"), nowhere.ask("recent"), return_exceptions=True)
    assert [type(error) for error in both] == [StoreMissing, StoreMissing]
    write(tmp_path / "nowhere.duckdb", call())
    assert len((await nowhere.ask("recent")).rows) == 1


async def test_an_answer_too_long_to_show_is_cut_and_says_so(desk, monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 1)
    answer = await desk.ask("recent")
    assert (len(answer.rows), answer.cut) == (1, "rows")


async def test_the_state_changes_with_every_write_and_opens_nothing(desk, tmp_path):
    seen = {desk.version()}
    for _ in range(3):
        write(tmp_path / "d.duckdb", call())
        seen.add(desk.version())
    assert len(seen) == 4
    folding = Lock(StorePaths.of(desk.store.path))
    assert folding.try_exclusive()
    try:
        assert desk.version() in seen, "it waits for nobody who has the store"
    finally:
        folding.release()


async def test_a_question_that_is_being_asked_can_be_stopped(tmp_path):
    from benchmarks.history import make_history

    make_history(tmp_path / "long.duckdb", 300_000)
    cancellation = Cancellation()
    asking = asyncio.ensure_future(asyncio.to_thread(ask, tmp_path / "long.duckdb", "drift", cancellation=cancellation))
    while not asking.done():
        cancellation.cancel()
        await asyncio.sleep(0.005)
    with pytest.raises(QueryCancelled):
        await asking
    cancellation.cancel()
    assert (await QueryCache(tmp_path / "long.duckdb").ask("failure_rate")).rows, "the store can be asked again"


async def test_a_question_that_was_stopped_while_it_waited_for_the_store_is_not_put(desk):
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(QueryCancelled, match="before it ran"):
        ask(desk.store, "failure_rate", cancellation=cancellation)


async def test_what_was_under_way_when_something_was_recorded_is_neither_shared_nor_kept(desk, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FRESH_SECONDS", 1000.0)
    begun, go = threading.Event(), threading.Event()
    put = QueryCache._answer

    def held(*question):
        answer = put(*question)
        begun.set()
        assert go.wait(120)
        return answer

    monkeypatch.setattr(QueryCache, "_answer", held)
    early = asyncio.ensure_future(attempts(desk))
    await asyncio.to_thread(begun.wait, 20)
    write(tmp_path / "d.duckdb", call())
    desk.invalidate()
    monkeypatch.setattr(QueryCache, "_answer", put)
    try:
        assert await attempts(desk) == [3]
    finally:
        go.set()
    assert await early == [2]
    assert await attempts(desk) == [3]


async def test_what_is_put_ahead_is_put_once(desk):
    desk.prefetch("failure_rate")
    await asyncio.sleep(0)
    (ahead,) = desk._asked.values()
    asking = asyncio.ensure_future(desk.ask("failure_rate"))
    await asyncio.sleep(0)
    assert list(desk._asked.values()) == [ahead]
    assert ahead.waiting == 2
    assert (await asking).rows[0][1] == 2


async def test_a_fault_of_what_was_put_ahead_is_told_to_whoever_asks(desk):
    desk.prefetch("failure_rate", by=("nonsense",))
    with pytest.raises(BadParameter):
        await desk.ask("failure_rate", by=("nonsense",))
