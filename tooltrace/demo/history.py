"""Calls of the days before the agents run, so that the pages show problems with a beginning.

The calls are drawn from a seed and recorded as calls of the past, as from logs of one's own. Each of six tools has one
problem: it broke with a version, fails all the time, is retried in vain, is too sure of itself, is called in a loop, or
hangs. Two tools are healthy.
"""

from __future__ import annotations

import secrets
from asyncio import CancelledError
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

import tooltrace as tt

CONVERSATIONS_A_DAY: Final = 60
BROKEN_FOR: Final = timedelta(days=2)
"""How long before the run ``find_order`` broke, with its version 3.1.0."""
HANGS_FOR: Final = timedelta(days=3)
"""How long before the run ``render_report`` began to hang."""
DEADLINE_MS: Final = 30_000.0
"""Time after which the agent cancels a call that hangs."""
CLAIMED: Final = 0.93
"""Confidence that ``classify_ticket`` states on average; about 62 % of its answers are right."""

_TICKETS: Final = ("billing", "delivery", "returns", "account")


@dataclass(frozen=True, slots=True)
class _PastCall:
    tool: str
    arguments: dict[str, Any]
    result: Any
    duration_ms: float
    version: str = "1.0.0"
    attempts: int = 1
    """Attempts of the call, all with the same result."""
    correct: bool | None = None
    """A label for the result; None: the call has none."""


def record_history(now: datetime, days: int, seed: int) -> int:
    """Record the calls of the ``days`` before ``now``; return their number. The same ``seed`` gives the same statuses."""
    draw, run, calls = Random(seed), secrets.token_hex(3), 0  # noqa: S311 - the same seed must give the same history
    log = tt.TraceLogger()
    for number in range(days * CONVERSATIONS_A_DAY):
        at = _start(draw, now - timedelta(days=days - number // CONVERSATIONS_A_DAY))
        with tt.context(conversation_id=f"support-{run}-{number}", agent="support", model="gpt-5-mini"):
            for call in _conversation(draw, now - at, number):
                calls += 1
                at = _record(log, call, f"call_{run}s{calls:05}", at) + timedelta(seconds=draw.uniform(1, 8))
        if number % CONVERSATIONS_A_DAY == 0:
            tt.flush()  # calls of a day at a time: the queue of the recorder is bounded
    return calls


def _start(draw: Random, day: datetime) -> datetime:
    """Return a time between 8 and 20 o'clock, UTC, of ``day``."""
    return day.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(
        hours=draw.triangular(8, 20, 13)
    )


def _record(log: tt.TraceLogger, call: _PastCall, call_id: str, at: datetime) -> datetime:
    """Record the attempts of ``call`` from ``at`` on; return when the last one ended."""
    for attempt in range(1, call.attempts + 1):
        log.record(
            call.tool,
            call.result,
            call_id=call_id,
            arguments=call.arguments,
            duration_ms=call.duration_ms,
            attempt=attempt,
            started_at=at,
            tool_version=call.version,
        )
        at += timedelta(milliseconds=call.duration_ms, seconds=1)
    if call.correct is not None:
        with suppress(tt.TooltraceError):
            tt.label(call_id=call_id, correct=call.correct, labeler="demo", reason="read by a person")
    return at


def _conversation(draw: Random, age: timedelta, number: int) -> Iterator[_PastCall]:
    order = f"A-{draw.randint(1000, 9999)}"
    yield _find_order(draw, order, broken=age < BROKEN_FOR)
    yield _PastCall("get_customer", {"order": order}, {"name": "Kim", "tier": "gold"}, draw.lognormvariate(3.7, 0.3))
    yield _classify_ticket(draw, order)
    if draw.random() < 0.5:
        yield _get_weather(draw)
    if draw.random() < 0.4:
        yield _send_email(draw, order)
    if draw.random() < 0.35:
        yield _render_report(draw, order, hangs=age < HANGS_FOR)
    if draw.random() < 0.6:
        total = draw.randint(5, 500)
        yield _PastCall("calculate_refund", {"total": total}, {"refund": total}, draw.lognormvariate(1.5, 0.3))
    if number % 57 == 40:
        yield from [
            _PastCall("list_pages", {"site": "help", "page": 1}, {"pages": ["start"], "next": 1}, 80.0)
            for _ in range(14)
        ]
    elif draw.random() < 0.2:
        page = draw.randint(1, 40)
        yield _PastCall("list_pages", {"site": "help", "page": page}, {"pages": [f"p{page}"], "next": page + 1}, 80.0)


def _find_order(draw: Random, order: str, *, broken: bool) -> _PastCall:
    result: Any = {"id": order, "status": draw.choice(["sent", "open"])}
    if draw.random() < (0.58 if broken else 0.015):
        result = KeyError("customer_id") if broken else TimeoutError("the order service did not answer")
    return _PastCall(
        "find_order", {"id": order}, result, draw.lognormvariate(4.8, 0.4), version="3.1.0" if broken else "3.0.2"
    )


def _get_weather(draw: Random) -> _PastCall:
    city, result = draw.choice(["Oslo", "Lima", "Kyoto"]), {"temperature": draw.randint(-5, 30)}
    failed = draw.random() < 0.2
    unavailable = tt.ToolResponse.error("SERVICE_UNAVAILABLE", "the weather service answered 503")
    return _PastCall("get_weather", {"city": city}, unavailable if failed else result, draw.lognormvariate(5.5, 0.4))


def _send_email(draw: Random, order: str) -> _PastCall:
    arguments, sent = {"to": "kim@example.org", "subject": f"Your order {order}"}, {"sent": True}
    if draw.random() < 0.25:
        denied = tt.ToolResponse.error("PERMISSION_DENIED", "the sender is not allowed to write to this domain")
        return _PastCall("send_email", arguments, denied, draw.lognormvariate(6, 0.2), attempts=3)
    return _PastCall("send_email", arguments, sent, draw.lognormvariate(6, 0.2))


def _classify_ticket(draw: Random, order: str) -> _PastCall:
    confidence = min(0.99, draw.gauss(CLAIMED, 0.03))
    answer = tt.ToolResponse.success(draw.choice(_TICKETS), confidence=round(confidence, 2))
    is_right, is_labelled = draw.random() < 0.62, draw.random() < 0.25
    return _PastCall(
        "classify_ticket",
        {"order": order},
        answer,
        draw.lognormvariate(6.5, 0.3),
        correct=is_right if is_labelled else None,
    )


def _render_report(draw: Random, order: str, *, hangs: bool) -> _PastCall:
    if hangs and draw.random() < 0.6:
        return _PastCall("render_report", {"order": order}, CancelledError("the deadline of the step"), DEADLINE_MS)
    return _PastCall("render_report", {"order": order}, {"pages": draw.randint(1, 9)}, draw.lognormvariate(7.2, 0.3))
