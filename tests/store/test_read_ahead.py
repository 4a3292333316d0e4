"""Journal lines that a thread reads while earlier ones are inserted: the same batches, errors and ends."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.store.journal_scan import JournalBatch, Lines
from tooltrace.store.read_ahead import AHEAD, read_ahead


def batch(number: int, calls: int = 1) -> JournalBatch:
    return JournalBatch(lines={"call": Lines.of([b"{}"] * calls)}, bytes=number)


def numbers(batches: Iterator[JournalBatch]) -> list[int]:
    return [each.bytes for each in batches]


@given(st.lists(st.integers(0, 5), max_size=20), st.integers(0, 30))
def test_batches_are_those_of_the_journals_in_order(calls: list[int], limit: int) -> None:
    made = (batch(number, count) for number, count in enumerate(calls))
    assert numbers(read_ahead(made, limit)) == list(range(len(calls)))


@pytest.mark.parametrize("good", [0, 1, 2, 3, 9])
def test_an_error_is_raised_after_the_batches_before_it(good: int) -> None:
    def failing() -> Generator[JournalBatch, None, None]:
        yield from map(batch, range(good))
        raise OSError("the disk is gone")

    found = []
    with pytest.raises(OSError, match="the disk is gone"):
        for each in read_ahead(failing(), 1000):
            found.append(each.bytes)
    assert found == list(range(good))


@pytest.mark.parametrize("taken", [1, 2, 3, 7])
def test_a_caller_that_stops_early_ends_the_thread_and_the_reading(taken: int) -> None:
    closed = threading.Event()
    read: list[int] = []

    def endless() -> Generator[JournalBatch, None, None]:
        try:
            while True:
                read.append(len(read))
                yield batch(read[-1])
        finally:
            closed.set()

    before = threading.active_count()
    with closing(read_ahead(endless(), 1000)) as batches:
        assert [next(batches).bytes for _ in range(taken)] == list(range(taken))
    assert closed.is_set()
    assert threading.active_count() == before
    assert len(read) <= taken + AHEAD + 1


def test_a_thread_is_started_for_the_third_batch_only() -> None:
    names = []

    def made() -> Generator[JournalBatch, None, None]:
        for number in range(4):
            names.append(threading.current_thread().name)
            yield batch(number)

    assert numbers(read_ahead(made(), 1000)) == [0, 1, 2, 3]
    own = threading.current_thread().name
    assert names == [own, own, "tooltrace-read-ahead", "tooltrace-read-ahead"]


def test_batches_are_read_without_a_thread_where_none_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert numbers(read_ahead((batch(number) for number in range(5)), 1000)) == [0, 1, 2, 3, 4]
