"""Histories with planted problems, as short scripts, each with the findings that are its truth.

A script has parts ``RATE:CALLS``, where RATE is the percentage of calls that fail: ``1:400 60:80`` is a tool of which 1 % of 400 calls
fail, then 60 % of 80. ``CALLS!`` are cut off in place of failing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.queries.conftest import START
from tooltrace.core.records import Outcome, Record, ToolCall

Truth = set[tuple[str, str]]


@dataclass
class Story:
    """Records, and the findings of them that are problems or warnings: pairs of a kind and a tool, or tools with commas."""

    records: list[Record] = field(default_factory=list)
    truth: Truth = field(default_factory=set)
    rng: random.Random = field(default_factory=lambda: random.Random(7))

    def add(self, **given: Any) -> ToolCall:
        """Add one attempt of a call, and of a conversation, of its own."""
        number = len(self.records) + 1
        known: dict[str, Any] = {
            "tool": "search", "call_id": f"call_{number}", "trace_id": f"{number:032x}", "span_id": f"{number:016x}",
            "conversation_id": f"conversation_{number}", "started_at": START, "duration_ms": 20.0, "status": "success",
        }  # fmt: skip
        record = ToolCall(**{**known, **given})
        self.records.append(record)
        return record

    def calls(
        self,
        tool: str,
        script: str,
        *,
        days: float = 10,
        begin: datetime = START,
        ms: Callable[[float], float] | None = None,
        **failed: Any,
    ) -> None:
        """Add the calls of ``script``, at equal distances over ``days``. ``failed``: fields of those that fail."""
        parts = [(float(rate.rstrip("!")) / 100, int(count)) for rate, count in map(_split, script.split())]
        is_cut_off = "!" in script
        total = sum(count for _, count in parts)
        at = 0
        for rate, count in parts:
            for _ in range(count):
                started = begin + timedelta(days=days * at / total)
                at += 1
                took = ms(at / total) if ms else 20.0 + 5 * self.rng.random()
                if self.rng.random() >= rate:
                    self.add(tool=tool, started_at=started, duration_ms=took)
                elif is_cut_off:
                    self.add(
                        tool=tool, started_at=started, **{"duration_ms": 30_000.0, "status": None, **CUT_OFF, **failed}
                    )
                else:
                    self.add(
                        tool=tool,
                        started_at=started,
                        duration_ms=took,
                        status="error",
                        **{"code": "API_ERROR", **failed},
                    )

    def label(self, record: ToolCall, *, correct: bool) -> None:
        self.records.append(
            Outcome(
                span_id=record.span_id,
                correct=correct,
                labeled_at=record.started_at + timedelta(hours=1),
                target_kind="attempt",
            )
        )


CUT_OFF = {"ending": "abandoned"}


def _split(part: str) -> list[str]:
    return part.split(":")


def story(*truth: tuple[str, str]) -> Callable[[Callable[[Story], None]], Callable[[], Story]]:
    def make(tell: Callable[[Story], None]) -> Callable[[], Story]:
        def told() -> Story:
            found = Story(truth=set(truth))
            tell(found)
            return found

        STORIES[tell.__name__] = told
        return told

    return make


STORIES: dict[str, Callable[[], Story]] = {}


def _planted(name: str, script: str, *truth: tuple[str, str], **given: Any) -> None:
    def told() -> Story:
        found = Story(truth=set(truth))
        found.calls("search", script, **given)
        return found

    STORIES[name] = told


_planted("a tool that always works", "0:300")
_planted("a tool that rarely fails", "1:2000")
_planted("three calls, all failed", "100:3", ("broken", "search"))
_planted("three thousand calls, all failed", "100:3000", ("broken", "search"))
_planted("two calls, both failed", "100:2")
_planted("it broke at the end", "1:400 100:12", ("broken", "search"))
_planted("it broke, with few calls before", "0:20 100:8", ("broken", "search"))
_planted("a rise that lasts", "1:400 50:80", ("regressed", "search"))
_planted("a rise two thousand calls ago", "1:500 30:2000", ("regressed", "search"))
_planted("a small rise in many calls", "2:2000 10:600", ("regressed", "search"))
_planted("a rise that went back in part", "1:500 60:120 20:150", ("regressed", "search"))
_planted("a rise after an old outage", "1:500 90:40 1:500 40:80", ("regressed", "search"))
_planted("an outage that is over", "1:500 100:40 1:500")
_planted("three outages that are over", "1:300 100:20 1:300 100:25 1:300 100:20 1:300")
_planted("bad all along", "20:400", ("chronic", "search"))
_planted("bad all along, and broken now", "20:400 100:25", ("broken", "search"))
_planted("bad all along, and better now", "30:300 1:300")
_planted("the model calls it wrongly", "20:400", ("misused", "search"), code="INVALID_PARAM")
_planted("calls that hang", "100!:30", ("cut_off", "search"))
_planted("calls that hang after a good period", "0:60 50!:60", ("cut_off", "search"))
_planted("a share of calls that hangs all along", "25!:200", ("cut_off", "search"))
_planted("a rise within an hour", "1:400 60:60", ("regressed", "search"), days=1 / 24)
_planted("a rise within a year", "1:400 60:60", ("regressed", "search"), days=365)
_planted(
    "half as fast since the middle",
    "0:400",
    ("slow", "search"),
    ms=lambda at: 200.0 + 5 * at if at < 0.5 else 900.0 + 5 * at,
)
_planted("as fast as ever", "0:400", ms=lambda at: 200.0 + 20 * (at * 997 % 1))


@story(("slow", "search"))
def near_its_own_timeout(told: Story) -> None:
    told.calls("search", "0:300", ms=lambda at: 35_000.0 + 20_000 * (at * 997 % 1))
    told.calls("search", "100:6", code="TIMEOUT", ms=lambda _: 60_000.0)


@story(("useless_retries", "search"), ("chronic", "search"))
def retries_that_never_help(told: Story) -> None:
    told.calls("search", "0:160")
    for number in range(41):
        for attempt in (1, 2):
            told.add(
                call_id=f"retried_{number}", conversation_id=f"r_{number}", attempt=attempt, status="error", code="PERMISSION_DENIED",
                started_at=START + timedelta(hours=5 * number, seconds=2 * attempt),
            )  # fmt: skip


@story()
def retries_that_help(told: Story) -> None:
    told.calls("search", "0:160")
    for number in range(41):
        for attempt, status in ((1, "error"), (2, "success")):
            told.add(
                call_id=f"retried_{number}", conversation_id=f"r_{number}", attempt=attempt, status=status, code="RATE_LIMIT" if attempt == 1 else None,
                started_at=START + timedelta(hours=5 * number, seconds=2 * attempt),
            )  # fmt: skip


def _labelled(told: Story, confidence: float, right: float, n: int) -> None:
    for number in range(n):
        record = told.add(confidence=confidence + 0.05 * told.rng.random(), started_at=START + timedelta(hours=number))
        told.label(record, correct=told.rng.random() < right)


@story(("overconfident", "search"))
def thirty_points_overconfident(told: Story) -> None:
    _labelled(told, 0.9, 0.6, 63)


@story(("underconfident", "search"))
def underconfident(told: Story) -> None:
    _labelled(told, 0.4, 0.95, 63)


@story()
def well_calibrated(told: Story) -> None:
    _labelled(told, 0.78, 0.8, 200)


@story(("looping", "search"))
def a_conversation_that_repeats_equal_calls(told: Story) -> None:
    told.calls("search", "0:100")
    for number in range(12):
        told.add(
            conversation_id="stuck",
            arguments='{"page": 1}',
            result='"the same"',
            started_at=START + timedelta(days=2, seconds=20 * number),
        )


@story(("regressed", "search"), ("chronic", "fetch"))
def two_at_once(told: Story) -> None:
    told.calls("search", "1:400 60:80")
    told.calls("fetch", "20:300")


@story(("regressed", "search"))
def one_of_many_tools(told: Story) -> None:
    for number in range(12):
        told.calls(f"tool_{number}", "2:120")
    told.calls("search", "1:400 60:80")


@story(("regressed", "a, b, c, d, e"))
def one_shared_outage_is_one_finding(told: Story) -> None:
    for tool in "abcde":
        told.calls(tool, "1:300 70:60", code="SERVICE_UNAVAILABLE")


@story(
    ("regressed", "orders"),
    ("chronic", "mail"),
    ("useless_retries", "mail"),
    ("overconfident", "search"),
    ("slow", "render"),
    ("looping", "list"),
)
def five_bad_tools(told: Story) -> None:
    told.calls("orders", "1:480 58:120")
    told.calls("mail", "20:204", code="PERMISSION_DENIED")
    failed = [
        record
        for record in told.records
        if isinstance(record, ToolCall) and record.tool == "mail" and record.status == "error"
    ]
    for record in failed[:41]:
        again = record.started_at + timedelta(seconds=2)
        told.add(tool="mail", call_id=record.call_id, conversation_id=record.conversation_id, trace_id=record.trace_id,
                 attempt=2, status="error", code="PERMISSION_DENIED", started_at=again)  # fmt: skip
    _labelled(told, 0.9, 0.6, 63)
    told.calls("render", "0:300", ms=lambda at: 35_000.0 + 20_000 * (at * 997 % 1))
    told.calls("render", "100:6", code="TIMEOUT", ms=lambda _: 60_000.0)
    told.calls("list", "0:120")
    for number in range(12):
        told.add(
            tool="list", conversation_id="stuck", arguments='{"page": 1}', result='"the same"',
            started_at=START + timedelta(days=2, seconds=20 * number),
        )  # fmt: skip
    told.calls("fine", "1:300")


@story()
def a_daily_rhythm_is_no_change(told: Story) -> None:
    for number in range(2400):
        started = START + timedelta(minutes=6 * number)
        failed = told.rng.random() < (0.09 if 8 <= started.hour < 18 else 0.005)
        told.add(started_at=started, status="error" if failed else "success", code="RATE_LIMIT" if failed else None)


def healthy(seed: int) -> Iterator[ToolCall]:
    """Yield the calls of three tools whose rates do not change; conversations differ, and one tool fails in a daily rhythm."""
    told = Story(rng=random.Random(seed))
    for tool, rate in (("search", 0.01), ("fetch", 0.03), ("plan", 0.0)):
        n = told.rng.choice((5, 30, 150))
        for number in range(n):
            started = START + timedelta(days=8 * number / n)
            now = rate * (1.6 if started.hour < 12 else 0.4) if tool == "fetch" else rate
            bad = told.rng.random() < now
            told.add(
                tool=tool, started_at=started, conversation_id=f"c{number // 4}", trace_id=f"{number // 4:032x}",
                duration_ms=told.rng.lognormvariate(4, 0.5), status="error" if bad else "success", code="API_ERROR" if bad else None,
            )  # fmt: skip
    yield from (record for record in told.records if isinstance(record, ToolCall))
