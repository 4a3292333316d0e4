"""Conversations with planted loops of each kind, and honest ones that look like loops."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from tooltrace.core.records import ToolCall

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def compact(value: object) -> str:
    """Return ``value`` as JSON without spaces, as the recorder writes it."""
    return json.dumps(value, separators=(",", ":"))


class Conversation:
    """Records the calls of one conversation, one after the other."""

    def __init__(self, name: str, number: int, *, agent: str | None = "coder") -> None:
        self.name, self.agent = name, agent
        self.now = START
        self.records: list[ToolCall] = []
        self._number = number * 1_000
        self.draws = random.Random(number)

    def call(
        self, tool: str, arguments: object = None, result: object = "ok", *, error: str | None = None, pause: float = 5.0,
        attempts: int = 1, together: bool = False, code: str = "TIMEOUT",
    ) -> None:  # fmt: skip
        """Add a call that takes one second and starts ``pause`` seconds after the last one ended.

        ``error``: the message of its error, instead of a ``result``. ``attempts``: all but the last fail. ``together``: it
        starts with the call before.
        """
        if not together:
            self.now += timedelta(seconds=pause)
        call_id = f"call_{self._number + 1}"
        for attempt in range(1, attempts + 1):
            self._number += 1
            failed = attempt < attempts or error is not None
            message = (error or "no answer") if failed else None
            started = self.now if together else self.now + timedelta(seconds=2 * (attempt - 1))
            self.records.append(
                ToolCall(
                    tool=tool,
                    call_id=call_id,
                    trace_id=f"{self._number:032x}",
                    span_id=f"{self._number:016x}",
                    conversation_id=self.name,
                    agent=self.agent,
                    started_at=started,
                    duration_ms=1000.0,
                    attempt=attempt,
                    status="error" if failed else "success",
                    code=code if failed else None,
                    error_message=message,
                    ending="raised" if failed else "returned",
                    arguments=compact(arguments or {}),
                    result=None if failed else compact(result),
                    text=result if type(result) is str and not failed else None,
                )  # fmt: skip
            )
        if not together:
            self.now += timedelta(seconds=2 * attempts - 1)

    def work(self, calls: int = 3) -> None:
        """Add honest calls with arguments and results of their own."""
        for _ in range(calls):
            topic = self.draws.randrange(10**6)
            self.call("read_page", {"topic": f"topic {topic}"}, f"words about {topic}")


Plant = Callable[[Conversation], None]


def repeat(talk: Conversation) -> None:
    for _ in range(talk.draws.randint(3, 8)):
        talk.call("search", {"query": "invoice A-17"}, {"rows": []})


def repeat_between_work(talk: Conversation) -> None:
    for _ in range(4):
        talk.call("list_files", {"path": "/srv"}, ["a.txt", "b.txt"])
        talk.work(talk.draws.randint(1, 3))


def repeat_with_times(talk: Conversation) -> None:
    for step in range(4):
        at = (talk.now + timedelta(seconds=step)).isoformat()
        arguments = {"host": "db-1", "request_id": f"{talk.draws.random()}", "at": at, "attempt": step}
        talk.call("status", arguments, {"state": "down", "checked_at": at, "elapsed_ms": 12 + step})


def repeat_error(talk: Conversation) -> None:
    for step in range(3):
        talk.call("fetch", {"url": "https://example.org/a"}, error=f"no answer in {30 + step} s")


def alternate_two(talk: Conversation) -> None:
    for _ in range(talk.draws.randint(3, 5)):
        talk.call("open_file", {"path": "main.py"}, "def main(): pass")
        talk.call("run_tests", {}, "1 failed: test_main")


def alternate_three(talk: Conversation) -> None:
    for _ in range(3):
        talk.call("build", {}, "built")
        talk.call("deploy", {"to": "staging"}, "deployed")
        talk.call("check", {"url": "/health"}, "503")


def error_with_changed_arguments(talk: Conversation) -> None:
    for step in range(talk.draws.randint(3, 6)):
        talk.call(
            "sql", {"statement": f"SELECT {'abcdef'[step]} FROM orders"}, error="no such table: orders", code="SQL"
        )


def error_with_ids(talk: Conversation) -> None:
    for step in range(4):
        talk.call("get_order", {"id": step}, error=f"request 8f3a{step}9bc1d2 refused", code="FORBIDDEN")
        talk.work(1)


LOOPS: dict[str, tuple[Plant, str]] = {
    "repeat": (repeat, "repeat"),
    "repeat_between_work": (repeat_between_work, "repeat"),
    "repeat_with_times": (repeat_with_times, "repeat"),
    "repeat_error": (repeat_error, "repeat"),
    "alternate_two": (alternate_two, "alternation"),
    "alternate_three": (alternate_three, "alternation"),
    "error_with_changed_arguments": (error_with_changed_arguments, "error"),
    "error_with_ids": (error_with_ids, "error"),
}
"""Planted loops by name, each with the kind that the query gives it."""


def hour_of_polling(talk: Conversation) -> None:
    for minute in range(60):
        talk.call("job_status", {"job": 7}, {"state": "running", "done": minute}, pause=59)


def polling_with_sleep(talk: Conversation) -> None:
    for step in range(8):
        talk.call("job_status", {"job": 7}, f"step {step} of 8")
        talk.call("sleep", {"seconds": 30}, "slept 30 s", pause=30)


def waiting_for_a_change(talk: Conversation) -> None:
    for _ in range(5):
        talk.call("job_status", {"job": 7}, "pending")
    talk.call("job_status", {"job": 7}, "done")


def pages(talk: Conversation) -> None:
    for page in range(1, 12):
        talk.call("list_orders", {"page": page, "size": 50}, {"orders": [page * 50 + row for row in range(3)]})


def bulk_writes(talk: Conversation) -> None:
    for row in range(10):
        talk.call("insert_row", {"id": 1000 + row, "name": f"row {row}"}, {"ok": True})


def retries(talk: Conversation) -> None:
    talk.call("fetch", {"url": "https://example.org/a"}, "page", attempts=4)
    talk.work(2)
    talk.call("fetch", {"url": "https://example.org/a"}, "page", attempts=3)


def at_the_same_time(talk: Conversation) -> None:
    talk.call("search", {"query": "tea"}, "nothing")
    for _ in range(4):
        talk.call("search", {"query": "tea"}, "nothing", together=True)
    talk.work(2)


def repair(talk: Conversation) -> None:
    for step in range(5):
        talk.call("edit", {"path": "main.py", "text": f"version {step}"}, "edited")
        talk.call("run_tests", {}, f"{5 - step} failed")


def errors_that_differ(talk: Conversation) -> None:
    for error in ("no such table: orders", "no such column: total", "syntax error near FROM", "permission denied"):
        talk.call("sql", {"statement": f"SELECT 1 -- {error}"}, error=error, code="SQL")
    talk.call("sql", {"statement": "SELECT 1"}, {"rows": [1]})


def now_and_then(talk: Conversation) -> None:
    for _ in range(4):
        talk.call("read_file", {"path": "notes.md"}, "notes", pause=1200)
        talk.work(2)


HONEST: dict[str, Plant] = {
    plant.__name__: plant
    for plant in (
        hour_of_polling, polling_with_sleep, waiting_for_a_change, pages, bulk_writes, retries, at_the_same_time, repair,
        errors_that_differ, now_and_then,
    )
}  # fmt: skip


def repeat_with_a_counter(talk: Conversation) -> None:
    for turn in range(1, talk.draws.randint(4, 8)):
        talk.call("search", {"query": "invoice A-17", "try": turn}, {"rows": []})


def repeat_with_a_nested_counter(talk: Conversation) -> None:
    for turn in range(4):
        talk.call("search", {"filter": {"customer": "Ann"}, "meta": {"iteration": turn}}, "no results")
        talk.work(talk.draws.randint(0, 2))


def repeat_with_two_counters(talk: Conversation) -> None:
    for turn in range(1, 5):
        talk.call(
            "status", {"round": turn, "host": "db-1", "poll": turn - 1}, {"state": "down", "elapsed_ms": 3 * turn}
        )


def error_with_a_counter(talk: Conversation) -> None:
    for turn in range(1, 5):
        talk.call("fetch", {"url": "https://example.org/a", "n": turn}, error=f"no answer in {29 + turn} s")


def alternate_with_counters(talk: Conversation) -> None:
    for turn in range(1, 5):
        talk.call("open_file", {"path": "main.py", "turn": turn}, "def main(): pass")
        talk.call("run_tests", {"suite": "unit", "turn": turn}, "1 failed: test_main")


COUNTED_LOOPS: dict[str, tuple[Plant, str]] = {
    "repeat_with_a_counter": (repeat_with_a_counter, "repeat"),
    "repeat_with_a_nested_counter": (repeat_with_a_nested_counter, "repeat"),
    "repeat_with_two_counters": (repeat_with_two_counters, "repeat"),
    "error_with_a_counter": (error_with_a_counter, "repeat"),
    "alternate_with_counters": (alternate_with_counters, "alternation"),
}
"""Planted loops whose arguments have a counter."""


def pages_under_another_name(talk: Conversation) -> None:
    for number in range(1, 9):
        talk.call("list_orders", {"shop": "north", "p": number}, {"orders": [number * 50 + row for row in range(3)]})


def pages_up_to_the_end(talk: Conversation) -> None:
    for number in range(1, 7):
        talk.call("list_orders", {"shop": "north", "p": number}, {"orders": [number] if number < 4 else []})


def empty_pages(talk: Conversation) -> None:
    for number in range(1, 6):
        talk.call("list_orders", {"shop": "north", "page": number}, {"orders": []})


def writes_one_after_the_other(talk: Conversation) -> None:
    for number in range(1, 7):
        talk.call("insert", {"table": "rows", "n": number}, {"ok": True})


def writes_without_a_result(talk: Conversation) -> None:
    for number in range(1, 7):
        talk.call("send", {"to": "Ann", "piece": number}, None)


def records_with_equal_states(talk: Conversation) -> None:
    for number in range(1001, 1007):
        talk.call("get_state", {"shop": "north", "parcel": number}, {"state": "shipped"})


def records_with_ids_from_one(talk: Conversation) -> None:
    for number in range(1, 7):
        talk.call("get_state", {"shop": "north", "parcelId": number}, {"state": "shipped"})


def progress_under_a_counter(talk: Conversation) -> None:
    for number in range(1, 9):
        talk.call("job_status", {"job": 7, "poll": number}, {"state": "running", "done": 10 * number})


def numbers_that_skip(talk: Conversation) -> None:
    for number in (1, 2, 5, 9, 12):
        talk.call("probe", {"host": "db-1", "strength": number}, "no reaction")


def the_only_argument(talk: Conversation) -> None:
    for number in range(1, 7):
        talk.call("is_prime", {"value": number}, "no answer")


HONEST_COUNTS: dict[str, Plant] = {
    plant.__name__: plant
    for plant in (
        pages_under_another_name, pages_up_to_the_end, empty_pages, writes_one_after_the_other, writes_without_a_result,
        records_with_equal_states, records_with_ids_from_one, progress_under_a_counter, numbers_that_skip, the_only_argument,
    )
}  # fmt: skip
"""Honest conversations in which a number counts up."""


def planted(each: int = 5) -> Iterator[Conversation]:
    """Yield ``each`` conversations of every kind of loop: work, the loop, work."""
    return _conversations({name: plant for name, (plant, _) in LOOPS.items()}, each, 0)


def honest(each: int = 4) -> Iterator[Conversation]:
    """Yield ``each`` conversations of every honest kind."""
    return _conversations(HONEST, each, 500)


def counted(each: int = 5) -> Iterator[Conversation]:
    """Yield ``each`` conversations of every kind of loop with a counter."""
    return _conversations({name: plant for name, (plant, _) in COUNTED_LOOPS.items()}, each, 1000)


def honest_counts(each: int = 4) -> Iterator[Conversation]:
    """Yield ``each`` honest conversations of every kind in which a number counts up."""
    return _conversations(HONEST_COUNTS, each, 1500)


def _conversations(plants: dict[str, Plant], each: int, first: int) -> Iterator[Conversation]:
    for number, (name, plant) in enumerate((pair for pair in plants.items() for _ in range(each)), first + 1):
        talk = Conversation(f"{name}-{number}", number)
        talk.work(talk.draws.randint(1, 4))
        plant(talk)
        talk.work(talk.draws.randint(1, 4))
        yield talk


def records(conversations: Iterator[Conversation]) -> list[Any]:
    """Return the records of all ``conversations``."""
    return [record for talk in conversations for record in talk.records]
