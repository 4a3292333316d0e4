"""The page that compares two conversations call by call.

The address has both: ``/diff?a=ID&b=ID``, or two versions, ``/diff?before_version=1.2&version=2.0``, of which the page compares
conversations that begin with the same call.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.analysis.alignment import AlignedPair, Call, align
from tooltrace.server.request import app_state, time_range
from tooltrace.server.templates import render
from tooltrace.server.value_changes import IN_THE_HEAD, ValueChange, value_changes

CALLS: Final = 1_000
"""Calls of each conversation that are compared: the time of an alignment grows with the square."""
PAIRS: Final = 6
"""Pairs of conversations with two versions that the page offers."""
KINDS: Final = ("same", "changed", "removed", "added")


@dataclass(frozen=True, slots=True)
class ComparedCalls:
    """One row of the page: a call of each side, or of one side, and what differs."""

    pair: AlignedPair
    kind: str
    tool: str
    in_head: tuple[str, ...]
    """Names of the values that differ and that the head of each call shows."""
    changes: tuple[ValueChange, ...]
    factor: float | None
    """How many times as long B took as A, where that is a difference."""

    @classmethod
    def of(cls, pair: AlignedPair) -> ComparedCalls:
        """Compare the two calls of ``pair``."""
        tool = (pair.a or pair.b or {})["tool"]
        in_head = tuple(name for name in pair.changes if name in IN_THE_HEAD)
        return cls(pair, pair.kind, tool, in_head, value_changes(pair), pair.duration_factor)


@dataclass(frozen=True, slots=True)
class ConversationTotals:
    """The totals of one side."""

    conversation: str
    calls: int
    failed: int
    """Number of calls whose last attempt failed."""
    attempts: int
    tool_ms: float
    """Milliseconds in the tools."""
    lasted_ms: float
    """Milliseconds from the first start to the last end, pauses included."""
    is_cut: bool
    """Whether the conversation has more calls than the page compares."""

    @classmethod
    def of(cls, conversation: str, calls: list[Call], *, is_cut: bool) -> ConversationTotals:
        """Sum up ``calls``, in order of their start."""
        first = calls[0]["started_at"]
        ends = ((call["started_at"] - first) / timedelta(milliseconds=1) + (call["duration_ms"] or 0) for call in calls)
        return cls(
            conversation=conversation,
            calls=len(calls),
            failed=sum(call["status"] == "error" for call in calls),
            attempts=sum(call["attempts"] for call in calls),
            tool_ms=sum(call["duration_ms"] or 0.0 for call in calls),
            lasted_ms=max(ends),
            is_cut=is_cut,
        )


async def diff(request: Request) -> Response:
    """Render the page: the totals of both conversations, and their calls side by side; without both, the form alone."""
    address = request.query_params
    pairs = await _pairs(request)
    named = [pairs[0]["before"], pairs[0]["after"]] if pairs else [address.get(side, "") for side in ("a", "b")]
    found = await asyncio.gather(*(_calls(request, name) for name in named if name))
    unknown = [name for name, calls in zip(filter(None, named), found, strict=True) if not calls]
    context: dict[str, Any] = {"named": named, "unknown": unknown, "compared": None, "most": CALLS, "pairs": pairs}
    if all(named) and not unknown:
        context |= await asyncio.to_thread(_compare, named, found, only_changes=address.get("only") == "changes")
    return render(request, "pages/diff.html", status=404 if unknown else 200, **context)


async def _pairs(request: Request) -> list[dict[str, Any]] | None:
    """Return pairs of conversations with the two versions in the address; None if it has none."""
    address = request.query_params
    versions = {name: address.get(name, "").strip() for name in ("before_version", "version")}
    if not all(versions.values()):
        return None
    params = {**time_range(address).params, **versions, "tool": address.get("tool", "").strip() or None, "limit": PAIRS}
    return (await app_state(request).cache.query("version_pairs", **params)).dicts()


async def _calls(request: Request, conversation: str) -> list[Call]:
    result = await app_state(request).cache.query("conversation_calls", conversation=conversation, limit=CALLS + 1)
    return result.dicts()


def _compare(named: list[str], found: list[list[Call]], *, only_changes: bool) -> dict[str, Any]:
    """Return the values of the template; runs in a thread, because an alignment takes a tenth of a second."""
    a, b = (calls[:CALLS] for calls in found)
    compared = [ComparedCalls.of(pair) for pair in align(a, b)]
    counts = Counter(one.kind for one in compared)
    return {
        "compared": [one for one in compared if not only_changes or one.kind != "same" or one.factor is not None],
        "counts": {kind: counts[kind] for kind in KINDS},
        "totals": [
            ConversationTotals.of(name, calls[:CALLS], is_cut=len(calls) > CALLS)
            for name, calls in zip(named, found, strict=True)
        ],
        "only_changes": only_changes,
    }


ROUTES = [Route("/diff", diff)]
