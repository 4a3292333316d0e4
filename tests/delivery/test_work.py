"""A batch is sent part by part, each once; what is at fault is found and left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.core.records import Outcome
from tooltrace.delivery.batch import DOUBTS, DeliveryBatch, RefusedRecords
from tooltrace.delivery.retry import RetryLoop, RetryPolicy
from tooltrace.exporters.protocol import ExportError, PartlyRefused, Refused, Unavailable

Judge = Callable[[str, list[int]], ExportError | Exception | None]


def made(count: int) -> list[Outcome]:
    return [Outcome(call_id=str(number), labeled_at=datetime(2026, 1, 1, tzinfo=UTC)) for number in range(count)]


class Taker:
    """Takes what ``judge`` has no error for."""

    def __init__(self, judge: Judge, parts: Sequence[str] = ("traces", "logs")) -> None:
        self.parts = parts
        self.memory: dict[str, Any] = {}
        self.judge = judge
        self.taken: Counter[tuple[str, int]] = Counter()
        self.sizes: list[int] = []

    def send(self, records: Sequence[Any]) -> None:
        self.send_part("", records)

    def send_part(self, part: str, records: Sequence[Any]) -> None:
        numbers = [int(record.call_id) for record in records]
        self.sizes.append(len(numbers))
        error = self.judge(part, numbers)
        if error is None or isinstance(error, PartlyRefused):
            self.taken.update((part, number) for number in numbers)
        if error is not None:
            raise error

    def close(self) -> None:
        pass


def through(work: DeliveryBatch, tries: int = 2000) -> int:
    """How often it had to wait."""
    for number in range(tries):
        try:
            work.send()
        except Unavailable:
            continue
        return number
    raise AssertionError("it is not through")


@given(st.integers(1, 200), st.sets(st.integers(0, 199), max_size=12))
def test_refused_records_are_isolated_and_all_others_arrive_once(count: int, poison: set[int]) -> None:
    poison = {number for number in poison if number < count}
    refusals: list[RefusedRecords] = []
    taker = Taker(lambda part, numbers: Refused("bad") if part == "traces" and poison & {*numbers} else None)
    through(DeliveryBatch(taker, made(count), on_refused=refusals.append), tries=1)
    assert taker.taken == Counter(
        [("traces", number) for number in range(count) if number not in poison]
        + [("logs", number) for number in range(count)]
    )
    assert sorted(int(refusal.record.call_id) for refusal in refusals) == sorted(poison)
    assert {(refusal.part, refusal.count) for refusal in refusals} <= {("traces", 1)}


@given(st.integers(2, 200), st.integers(0, 199))
def test_a_failure_that_may_be_for_one_record_is_found_out(count: int, poison: int) -> None:
    poison %= count
    refusals: list[RefusedRecords] = []
    taker = Taker(
        lambda _part, numbers: Unavailable("500", doubtful=True) if poison in numbers else None, parts=("traces",)
    )
    waits = through(DeliveryBatch(taker, made(count), on_refused=refusals.append))
    assert waits == DOUBTS - 1
    assert taker.taken == Counter(("traces", number) for number in range(count) if number != poison)
    assert [int(refusal.record.call_id) for refusal in refusals] == [poison]


@pytest.mark.parametrize("count", [1, 3, 512])
def test_a_receiver_that_fails_at_everything_costs_no_record(count: int) -> None:
    refusals: list[RefusedRecords] = []
    broken = [True]
    taker = Taker(lambda _part, _numbers: Unavailable("500", doubtful=True) if broken[0] else None)
    work = DeliveryBatch(taker, made(count), on_refused=refusals.append)
    for _ in range(5 * DOUBTS):
        with pytest.raises(Unavailable):
            work.send()
        assert work.is_untouched
    assert len(taker.sizes) < 12 * DOUBTS * 5  # it is not asked about each record again and again
    broken[0] = False
    through(work)
    assert refusals == []
    assert set(taker.taken.values()) == {1}
    assert len(taker.taken) == 2 * count


@given(st.integers(2, 12), st.integers(1, 40))
def test_a_recovered_receiver_gets_the_failed_records(count: int, recovers: int) -> None:
    """However far the search for the record at fault had come."""
    refusals: list[RefusedRecords] = []
    tries: list[int] = []

    def judge(_part: str, numbers: list[int]) -> ExportError | None:
        tries.append(len(numbers))
        return Unavailable("500", doubtful=True) if len(tries) < recovers else None

    taker = Taker(judge, parts=("traces",))
    through(DeliveryBatch(taker, made(count), on_refused=refusals.append))
    assert refusals == []
    assert taker.taken == Counter(("traces", number) for number in range(count))


def test_an_accepted_part_is_not_sent_again_while_another_waits() -> None:
    away, done = [True], []
    taker = Taker(lambda part, _: Unavailable("later") if part == "logs" and away[0] else None)
    work = DeliveryBatch(taker, made(10), on_acknowledged=done.append)
    for _ in range(3):
        with pytest.raises(Unavailable):
            work.send()
    assert done == ["traces"]
    assert not work.is_untouched
    away[0] = False
    work.send()
    assert done == ["traces", "logs"]
    assert set(taker.taken.values()) == {1}
    work.send()
    assert len(taker.sizes) == 5


def test_parts_sent_by_another_process_are_skipped() -> None:
    taker = Taker(lambda _part, _numbers: None)
    DeliveryBatch(taker, made(3), acknowledged=["traces"]).send()
    assert {part for part, _ in taker.taken} == {"logs"}


def test_an_accepted_half_is_not_sent_again_after_a_wait() -> None:
    state = {"away": False}

    def judge(_part: str, numbers: list[int]) -> ExportError | None:
        if len(numbers) > 5:
            return Refused("too large")
        if numbers[0] >= 5 and not state["away"]:
            state["away"] = True
            return Unavailable("later")
        return None

    taker = Taker(judge, parts=("traces",))
    work = DeliveryBatch(taker, made(10))
    with pytest.raises(Unavailable):
        work.send()
    assert not work.is_untouched
    work.send()
    assert set(taker.taken.values()) == {1}
    assert len(taker.taken) == 10


def test_refused_records_are_counted_and_not_sent_again() -> None:
    refusals: list[RefusedRecords] = []

    def judge(part: str, _numbers: list[int]) -> ExportError:
        return PartlyRefused("some", 3) if part == "traces" else Refused("no such signal", whole=True, count=7)

    taker = Taker(judge)
    DeliveryBatch(taker, made(10), on_refused=refusals.append).send()
    assert [(refusal.part, refusal.count, refusal.record) for refusal in refusals] == [
        ("traces", 3, None),
        ("logs", 7, None),
    ]
    assert taker.sizes == [10, 10]


@pytest.mark.parametrize(("error", "tries"), [(RuntimeError("a fault of the destination's"), DOUBTS - 1)])
def test_any_other_error_is_doubtful(error: Exception, tries: int) -> None:
    refusals: list[RefusedRecords] = []
    taker = Taker(lambda _part, numbers: error if 0 in numbers else None, parts=("",))
    assert through(DeliveryBatch(taker, made(9), on_refused=refusals.append)) == tries
    assert [refusal.count for refusal in refusals] == [1]


def test_a_destination_without_parts_gets_undivided_batches() -> None:
    class Simple:
        got: list[Any] = []

        def send(self, records: Sequence[Any]) -> None:
            self.got.append(list(records))

        def close(self) -> None:
            pass

    records = made(4)
    DeliveryBatch(Simple(), records).send()
    assert Simple.got == [records]


def test_an_empty_batch_is_nothing_to_send() -> None:
    taker = Taker(lambda _part, _numbers: Refused("bad"))
    done: list[str] = []
    DeliveryBatch(taker, [], on_acknowledged=done.append).send()
    assert taker.sizes == []
    assert done == ["traces", "logs"]


def test_the_wait_grows_only_with_failures_in_a_row() -> None:
    waits: list[float | None] = []

    class Noted(Event):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout)
            return False

    def judge(_part: str, numbers: list[int]) -> ExportError | None:
        if len(taker.sizes) % 2:  # 429 to every second request
            return Unavailable("busy")
        return Refused("bad") if 30 in numbers else None

    taker = Taker(judge)
    RetryLoop(Noted(), RetryPolicy(first=1, longest=60), lambda _error: None).run(DeliveryBatch(taker, made(64)))
    assert len(waits) >= 12
    assert max(wait for wait in waits if wait is not None) <= 1
