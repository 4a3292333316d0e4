"""The loops of agents, found in the calls of conversations that repeat something."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tooltrace.analysis.loop_search import Call, Key, Loop, find_loops
from tooltrace.analysis.normal_forms import answer_form, arguments_form, error_form, is_acknowledgement, numberless_form
from tooltrace.analysis.reasoning import RowDict
from tooltrace.store.result import Gathered

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - times of the store are naive UTC
_MICROSECOND: Final = timedelta(microseconds=1)


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> list[RowDict]:
    """Return the loops: those that are running first, then those that wasted most tokens."""
    attempts: dict[Key, dict[Key, list[RowDict]]] = defaultdict(lambda: defaultdict(list))
    for row in gathered.rows():
        attempts[row["cluster"], row["agent"]][row["call_key"]].append(row)
    until = parameters["until"] or datetime.now(UTC).replace(tzinfo=None)
    ends_us = _microseconds(until) - 1_000_000 * parameters["window_s"]
    rows = []
    for of_agent in attempts.values():
        calls = _calls(of_agent.values(), parameters["k"])
        first = next(iter(of_agent.values()))[0]
        found = find_loops(calls, parameters["k"], parameters["window_s"])
        rows += [_row(loop, first, len(calls), ends_us) for loop in found]
    if (tool := parameters["tool"]) is not None:
        rows = [row for row in rows if f", {tool}, " in f", {row['tools']}, "]
    rows.sort(key=lambda row: row["span_id"])
    rows.sort(key=lambda row: (row["wasted_tokens"], row["wasted_ms"], row["last"]), reverse=True)
    rows.sort(key=lambda row: (not row["running"], row["kind"] == "poll"))
    return rows[: parameters["limit"]]


def _microseconds(at: datetime) -> int:
    return (at.replace(tzinfo=None) - _EPOCH) // _MICROSECOND


def _calls(groups: Iterable[list[RowDict]], k: int) -> list[Call]:
    """Return the calls of one agent; answers are compared only where something was asked ``k`` times."""
    known = [(max(attempts, key=_order), attempts) for attempts in groups]
    asked = {last["span_id"]: arguments_form(last["arguments"]) for last, _ in known}
    shapes = {last["span_id"]: numberless_form(last["arguments"]) for last, _ in known}
    times = Counter((last["tool"], forms[last["span_id"]]) for last, _ in known for forms in (asked, shapes))
    calls = []
    for last, attempts in known:
        span = last["span_id"]
        forms = [form for form in (asked[span], shapes[span]) if form is not None]
        is_frequent = max((times[last["tool"], form] for form in forms), default=0) >= k
        failed = last["status"] == "error"
        error = error_form(last["code"], last["error_type"], last["error_message"]) if failed else None
        calls.append(
            Call(
                tool=last["tool"],
                call_id=last["call_id"],
                span_id=span,
                started_us=min(_microseconds(row["started_at"]) for row in attempts),
                ended_us=max(_microseconds(row["started_at"]) + round(1000 * row["ms"]) for row in attempts),
                ms=sum(row["ms"] for row in attempts),
                tokens=last["tokens"],
                arguments=last["arguments"],
                result=tuple(last[name] or "" for name in ("text", "result", "error_message")),
                asked=asked[span],
                answered=(error or _answer(last)) if is_frequent else None,
                error=error,
                says_only_done=not failed and is_acknowledgement(last["text"], last["result"]),
            )
        )
    return calls


def _order(row: RowDict) -> tuple[int, datetime, str]:
    """Return the place of an attempt among those of its call."""
    return min(max(row["attempt"] or 0, 0), 1023), row["started_at"], row["span_id"]


def _answer(row: RowDict) -> Key:
    """Return what is compared of a result; None where none is recorded."""
    if row["ending"] == "returned" and row["text"] is row["result"] is row["error_message"] is None:
        return None
    return row["status"] or row["ending"], *answer_form(row["text"], row["result"])


def _row(loop: Loop, first: RowDict, places: int, ends_us: int) -> RowDict:
    calls, later = loop.calls, [call for calls in loop.rounds[1:] for call in calls]
    is_last = places - loop.last.place < loop.length
    return {
        "conversation": first["conversation"],
        "agent": first["agent"] or None,
        "tools": loop.tools,
        "kind": loop.kind,
        "length": loop.length,
        "repeats": len(loop.rounds),
        "distinct_arguments": len({tuple(call.arguments for call in calls) for calls in loop.rounds} - {(None,)}),
        "distinct_results": len({tuple(call.result for call in calls) for calls in loop.rounds}),
        "wasted_ms": float(sum(call.ms for call in later)),
        "wasted_tokens": round(round(sum(call.tokens or 0 for call in later), 6)),
        "running": is_last and max(call.ended_us for call in calls) >= ends_us,
        "first": _EPOCH + min(call.started_us for call in calls) * _MICROSECOND,
        "last": _EPOCH + max(call.started_us for call in calls) * _MICROSECOND,
        "call_id": loop.last.call_id,
        "span_id": loop.last.span_id,
    }
