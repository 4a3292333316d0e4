"""One attempt while it runs: what was asked, and what came of it, held until the record is made."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextvars import Context as ContextVars
from time import time_ns
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tooltrace.core.records import ToolCall
from tooltrace.core.response import Source, ToolResponse, is_response
from tooltrace.faults import pass_on_signal
from tooltrace.normalize import RULES
from tooltrace.normalize.engine import apply_rules
from tooltrace.normalize.exceptions.reader import ExceptionSummary
from tooltrace.normalize.result_view import snapshot_result
from tooltrace.otel.tool_span import ToolSpan
from tooltrace.recording.context import CallContext
from tooltrace.recording.model_messages import remember_attempt
from tooltrace.recording.tool_spec import ToolSpec
from tooltrace.redact.snapshot import Snapshot, snapshot

if TYPE_CHECKING:
    from tooltrace.recording.settings import Settings

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
    error: ExceptionSummary | None = None
    confidence: Any = None
    sources: tuple[Source, ...] | None = None
    flags: tuple[str, ...] = ()
    """What was wrong with what the tool gave."""
    custom_attributes: Snapshot = None
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
        self.call_context = around
        """What the agent around the tool knows."""
        self.captures_content = (spec.capture or settings.capture) == "full"
        """Whether arguments and results are recorded."""
        self.rules = settings.rules if spec.rules is None else spec.rules
        self.started_ns = time_ns()

    @property
    def needs_live_result(self) -> bool:
        """Whether a rule of the user's has to see the tool's own object, in the tool's thread."""
        return self.rules is not RULES and any(rule.live for rule in self.rules)

    def record(self) -> ToolCall:
        """The record, once the attempt has ended; made on first asking, by whichever thread asks."""
        call = self.call
        assert call is not None
        remember_attempt(call)
        return call

    def set_result(self, result: Any) -> None:
        """Hold a tool's result as it is now."""
        kind = type(result)
        plain = type(kind) is type and kind in PLAIN  # a metaclass may have a __hash__ of its own
        if not plain and is_response(result):
            self.set_response(result)
        elif self.needs_live_result and (answer := apply_rules(result, self.rules)) is not None:
            self.set_response(answer)
        elif plain:
            self.value = snapshot(result, self.settings.field_limit)
        else:
            self.value, self.kinds = snapshot_result(result, self.settings.field_limit)
        if self.spec.confidence is not None or self.spec.sources is not None:
            self.read_confidence_and_sources(result)

    def set_response(self, response: ToolResponse) -> None:
        """Hold what ``response`` says now."""
        self.response = SimpleNamespace(**{**vars(response), "data": None})
        parts = (response.data, response.stats, response.context, response.signals)
        limit = self.settings.field_limit
        self.response_parts = tuple(snapshot(part, limit) for part in parts) if self.captures_content else NOTHING

    def read_confidence_and_sources(self, result: Any) -> None:
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


def validate_confidence(value: Any) -> float | None:
    """``value`` where it is a confidence, else None: NaN, infinities and what lies outside [0, 1]."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and 0.0 <= value <= 1.0 else None
