"""What a tool produced, copied when it ended: its result, its stream, and what the decorator's functions read from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from tooltrace.core.codes import NextAction
from tooltrace.core.response import ErrorInfo, ResponseMeta, Source, Status
from tooltrace.faults import pass_on_signal
from tooltrace.redact.snapshot import Snapshot


class ValueSnapshot(Struct, frozen=True, gc=False):
    """A result that no rule has read yet."""

    value: Snapshot
    """The result; for a stream, the JSON array of its items."""
    kinds: tuple[str, ...] = ()
    """Names of the result's class and of its bases."""


class ResponseSnapshot(Struct, frozen=True, gc=False):
    """A ToolResponse, with the parts that can still change as snapshots.

    The response itself is not stored, so that the caller can release it and its data.
    """

    status: Status
    code: str | None
    text: str
    reason: str | None
    explanation: str | None
    confidence: float | None
    next_action: NextAction | None
    next_action_advised: bool
    sources: tuple[Source, ...]
    failure: ErrorInfo | None
    meta: ResponseMeta
    payload: Snapshot = None
    stats: Snapshot = None
    context: Snapshot = None
    signals: Snapshot = None


class StreamSnapshot(Struct, frozen=True, gc=False):
    """The number, the times and the text of a stream's items."""

    items: int
    first_item_ns: int | None
    """Time in the tool until the first item; None where the stream had none."""
    consumer_ns: int
    """Time that the consumer of the stream used between the items."""
    text: str | None = None
    """Joined items, where all items are text."""
    size: int = 0
    """Size of all items, including those that were not stored."""
    ends: tuple[ValueSnapshot | ResponseSnapshot, ...] = ()
    """The last item and the value that the generator returned, which may state the outcome, in this order."""


def read_claims(result: Any, confidence: Any, sources: Any) -> tuple[Any, tuple[Source, ...] | None, tuple[str, ...]]:
    """Return the confidence and the sources of ``result``, and a flag for each that could not be read.

    ``confidence`` and ``sources`` are values, functions of the result, or None. The functions are the user's own, and
    may raise anything.
    """
    flags: list[str] = []
    found_confidence: Any = None
    found_sources: tuple[Source, ...] | None = None
    if confidence is not None:
        try:
            found_confidence = confidence(result) if callable(confidence) else confidence
        except BaseException as error:
            pass_on_signal(error)
            flags.append("confidence_failed")
    if sources is not None:
        try:
            found: Iterable[Any] = sources(result) if callable(sources) else sources
            found_sources = tuple(Source.model_validate(source) for source in found or ())
        except BaseException as error:
            pass_on_signal(error)
            flags.append("sources_failed")
    return found_confidence, found_sources, tuple(flags)
