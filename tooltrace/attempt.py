"""One attempt while it runs: what was asked, and what came of it, held until the record is made."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextvars import Context as ContextVars
from time import time_ns
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tooltrace.capture import Snapshot, snapshot
from tooltrace.interrupts import pass_on_signal
from tooltrace.normalize import RULES
from tooltrace.normalize.exceptions import SeenException
from tooltrace.normalize.reading import read
from tooltrace.normalize.see import sight
from tooltrace.otel.span import ToolSpan
from tooltrace.record import ToolCall
from tooltrace.response import Source, ToolResponse, is_response
from tooltrace.spec import ToolSpec
from tooltrace.surroundings import CallContext
from tooltrace.told import remember

if TYPE_CHECKING:
    from tooltrace.settings import Settings

UNSET: Any = object()
PLAIN = frozenset({str, int, float, bool, type(None), dict, list, bytes})
"""What is no response for certain, nor of a class that a rule knows; pydantic makes ``isinstance`` dear."""
NOTHING: tuple[Snapshot, ...] = (None, None, None, None)


class Attempt(ToolSpan):
    """A span of the recorder's: filled in the calling thread, read by whoever makes the record.

    What most attempts leave as it is stands on the class: an instance holds only what differs.
    """

    call_id: str | None = None
    number: int = 1
    started: int = 0
    """The monotonic clock when the tool began, in nanoseconds."""
    arguments: Snapshot = None
    ending: str = "returned"
    value: Any = UNSET
    """A result's snapshot, for the rules to read."""
    kinds: tuple[str, ...] = ()
    """The result's class and the bases of that."""
    text: str | None = None
    """A stream's items, where all are text."""
    items: int | None = None
    """How many items a stream gave."""
    stream_size: int = 0
    """How much a stream gave, kept or not."""
    response: Any = None
    """The fields of a ToolResponse; the object itself, with its data, is the caller's to let go of."""
    response_parts: tuple[Snapshot, ...] = NOTHING
    """Snapshots of what can change inside a response: data, stats, context, signals."""
    error: SeenException | None = None
    confidence: Any = None
    sources: tuple[Source, ...] | None = None
    flags: tuple[str, ...] = ()
    """What was wrong with what the tool gave."""
    said: Snapshot = None
    """The attributes that the surroundings and the tool itself set."""
    first_item_ns: int | None = None
    consumer_ns: int | None = None
    duration_ns: int | None = None
    surroundings: ContextVars | None = None
    """The caller's context variables, for a log line with what the application bound there."""
    written: bool = False
    """True once the journal has the record."""

    def __init__(self, spec: ToolSpec, settings: Settings, around: CallContext) -> None:
        self._name = spec.span_name
        self.spec = spec
        self.settings = settings
        self.around = around
        """What the agent around the tool knows."""
        self.full = (spec.capture or settings.capture) == "full"
        """Whether arguments and results are recorded."""
        self.rules = settings.rules if spec.rules is None else spec.rules
        self.started_ns = time_ns()

    @property
    def reads_live(self) -> bool:
        """Whether a rule of the user's has to see the tool's own object, in the tool's thread."""
        return self.rules is not RULES and any(rule.live for rule in self.rules)

    def record(self) -> ToolCall:
        """The record, once the attempt has ended; made on first asking, by whichever thread asks."""
        call = self.call
        assert call is not None
        remember(call)
        return call

    def take(self, result: Any) -> None:
        """Hold a tool's result as it is now."""
        kind = type(result)
        plain = type(kind) is type and kind in PLAIN  # a metaclass may have a __hash__ of its own
        if not plain and is_response(result):
            self.hold(result)
        elif self.reads_live and (answer := read(result, self.rules)) is not None:
            self.hold(answer)
        elif plain:
            self.value = snapshot(result, self.settings.field_limit)
        else:
            self.value, self.kinds = sight(result, self.settings.field_limit)
        if self.spec.confidence is not None or self.spec.sources is not None:
            self.claim(result)

    def hold(self, response: ToolResponse) -> None:
        """Hold what ``response`` says now."""
        self.response = SimpleNamespace(**{**vars(response), "data": None})
        parts = (response.data, response.stats, response.context, response.signals)
        limit = self.settings.field_limit
        self.response_parts = tuple(snapshot(part, limit) for part in parts) if self.full else NOTHING

    def claim(self, result: Any) -> None:
        """Confidence and sources, as the decorator was told to read them from ``result``."""
        spec = self.spec
        if spec.confidence is not None:
            try:
                self.confidence = spec.confidence(result) if callable(spec.confidence) else spec.confidence
            except BaseException as error:
                pass_on_signal(error)
                self.flags = (*self.flags, "confidence_failed")
        if spec.sources is not None:
            try:
                found: Iterable[Any] = spec.sources(result) if callable(spec.sources) else spec.sources
                self.sources = tuple(Source.model_validate(source) for source in found)
            except BaseException as error:
                pass_on_signal(error)
                self.flags = (*self.flags, "sources_failed")


def usable_confidence(value: Any) -> float | None:
    """``value`` where it is a confidence, else None: NaN, infinities and what lies outside [0, 1]."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and 0.0 <= value <= 1.0 else None
