"""One attempt while it runs: its arguments and its result, held until the record is made."""

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
"""Types that are never a ToolResponse nor a class that a rule reads.

Checked first, because ``isinstance`` on pydantic models is slow.
"""
NOTHING: tuple[Snapshot, ...] = (None, None, None, None)


class Attempt(ToolSpan):
    """A span of the recorder, filled in the calling thread and read by the thread that makes the record.

    Defaults are class attributes, so that an instance stores only the values that differ, which saves time and memory.
    """

    call_id: str | None = None
    number: int = 1
    started: int = 0
    """Reading of the performance counter when the tool began, in nanoseconds."""
    arguments: Snapshot = None
    ending: str = "returned"
    value: Any = UNSET
    """Snapshot of the result, which the rules read."""
    kinds: tuple[str, ...] = ()
    """Names of the result's class and of its bases."""
    text: str | None = None
    """Joined items of a stream, where all items are text."""
    items: int | None = None
    """Number of items that a stream yielded; None where the result is not a stream."""
    stream_size: int = 0
    """Size of all items that a stream yielded, including those that were not stored."""
    response: Any = None
    """Fields of a ToolResponse without its data.

    The object itself is not stored, so that the caller can release it and its data.
    """
    response_parts: tuple[Snapshot, ...] = NOTHING
    """Snapshots of the mutable parts of a response: data, stats, context, signals."""
    error: ExceptionSummary | None = None
    confidence: Any = None
    sources: tuple[Source, ...] | None = None
    flags: tuple[str, ...] = ()
    """Defects of the tool's result, such as ``confidence_failed``."""
    custom_attributes: Snapshot = None
    """Attributes set by ``context`` and by the tool itself."""
    first_item_ns: int | None = None
    consumer_ns: int | None = None
    duration_ns: int | None = None
    surroundings: ContextVars | None = None
    """The caller's context variables, so that the log line has the values that the application bound there."""
    written: bool = False
    """Whether the journal has the record."""

    def __init__(self, spec: ToolSpec, settings: Settings, around: CallContext) -> None:
        self._name = spec.span_name
        self.spec = spec
        self.settings = settings
        self.call_context = around
        """The context of the call, set by the agent."""
        self.captures_content = (spec.capture or settings.capture) == "full"
        """Whether arguments and results are recorded."""
        self.rules = settings.rules if spec.rules is None else spec.rules
        self.started_ns = time_ns()

    @property
    def needs_live_result(self) -> bool:
        """Whether a rule of the user must read the tool's own object, in the tool's thread."""
        return self.rules is not RULES and any(rule.live for rule in self.rules)

    def record(self) -> ToolCall:
        """Return the record of the ended attempt, and remember its outcome for messages to the model.

        The record is made on the first call, by the calling thread.
        """
        call = self.call
        assert call is not None
        remember_attempt(call)
        return call

    def set_result(self, result: Any) -> None:
        """Store a snapshot of the tool's ``result``."""
        kind = type(result)
        plain = type(kind) is type and kind in PLAIN  # a metaclass may define its own __hash__, which would run here
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
        """Store the fields of ``response``, and snapshots of its mutable parts."""
        self.response = SimpleNamespace(**{**vars(response), "data": None})
        parts = (response.data, response.stats, response.context, response.signals)
        limit = self.settings.field_limit
        self.response_parts = tuple(snapshot(part, limit) for part in parts) if self.captures_content else NOTHING

    def read_confidence_and_sources(self, result: Any) -> None:
        """Read confidence and sources from ``result``, with the functions or values that the decorator has."""
        self.confidence, self.sources, flags = read_claims(result, self.spec.confidence, self.spec.sources)
        self.flags = (*self.flags, *flags)


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


def validate_confidence(value: Any) -> float | None:
    """Return ``value`` if it is a number in [0, 1], else None.

    NaN, infinities and booleans give None too.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and 0.0 <= value <= 1.0 else None
