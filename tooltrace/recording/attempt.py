"""One attempt while it runs, until its record is made."""

from __future__ import annotations

from contextvars import Context as ContextVars
from sys import getsizeof
from time import time_ns
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct
from msgspec.structs import astuple

from tooltrace.core import forking
from tooltrace.core.records import ToolCall
from tooltrace.core.response import Source
from tooltrace.normalize import Rule
from tooltrace.normalize.exceptions.reader import ExceptionSummary
from tooltrace.otel.tool_span import ToolSpan
from tooltrace.recording.context import CallContext
from tooltrace.recording.model_messages import remember_attempt
from tooltrace.recording.reading import ResponseSnapshot, StreamSnapshot, ValueSnapshot
from tooltrace.recording.record_builder import build_record
from tooltrace.recording.tool_spec import ToolSpec
from tooltrace.recording.tracebacks import RaisedFrom
from tooltrace.redact.snapshot import Snapshot

if TYPE_CHECKING:
    from tooltrace.recording.call_numbers import CallUse
    from tooltrace.recording.settings import Settings

_new = object.__new__


class Attempt(ToolSpan):
    """A span of the recorder, filled in the calling thread and read by the thread that makes the record.

    Defaults are class attributes, so that an instance stores only the values that differ and those that each call reads.
    Each attribute is set at most once after the attempt has begun.
    """

    call_id: str | None = None
    number: int = 1
    use: CallUse | None = None
    """The call that the attempt belongs to; None where it has no call id."""
    inner: Attempt | None = None
    """The attempt of an observer inside this one, which may see the same execution; see ``observers``."""
    outer: Attempt | None = None
    """The attempt of the observer around this one."""
    is_same: bool = False
    """Whether the attempt surely is the execution that ``outer`` observes."""
    held: bool = False
    """Whether the attempt has ended and waits for the end of ``outer``."""
    runs_again: bool = False
    """Whether the tool was executed again after ``inner`` had ended."""
    around: Attempt | None = None
    """The attempt in which this one began, until its record is made."""
    secrets: frozenset[str] | None = None
    """What was removed from the record, and from those around it; None where the record is not made."""
    linked_by: str | None = None
    """The retry library by which the attempt is known to be a retry."""
    started: int = 0
    """Reading of the performance counter when the tool began, in nanoseconds."""
    arguments: Snapshot = None
    ending: str | None = "returned"
    result: ValueSnapshot | ResponseSnapshot | None = None
    """Snapshot of the tool's result; None where the result is unknown."""
    stream: StreamSnapshot | None = None
    """None where the result is not a stream."""
    error: ExceptionSummary | None = None
    raised_from: tuple[RaisedFrom, ...] = ()
    """Frames of the exception that ended the attempt."""
    confidence: Any = None
    """Confidence that the decorator's function read from the result."""
    sources: tuple[Source, ...] | None = None
    """Sources that the decorator's function read from the result."""
    flags: tuple[str, ...] = ()
    """Defects of the tool's result, such as ``confidence_failed``."""
    full_sizes: dict[str, int] | None = None
    """Full size in bytes of each text that was cut before the attempt was queued, by field."""
    custom_attributes: Snapshot = None
    """Attributes set by ``context`` and by the tool itself."""
    duration_ns: int | None = None
    past_end_ns: int | None = None
    """End of a call of the past, in nanoseconds since 1970; None for a call that ends now."""
    surroundings: ContextVars | None = None
    """The caller's context variables, so that the log line has the values that the application bound there."""
    parsed: tuple[Snapshot, Any] = (None, None)
    """The result as the rules of tooltrace have read it, and its data."""
    written: bool = False
    """Whether the journal has the record."""

    spec: ToolSpec
    settings: Settings
    call_context: CallContext
    """The context of the call, set by the agent."""
    captures_content: bool
    """Whether arguments and results are recorded."""
    rules: tuple[Rule, ...]
    generation: int

    @classmethod
    def begin(
        cls, spec: ToolSpec, settings: Settings, call_context: CallContext, started_ns: int | None = None
    ) -> Self:
        """Return an attempt that begins now, or began at ``started_ns`` since 1970.

        A constructor with arguments would take a third longer. Attributes with a default that each call reads are set
        here, because a default of the class is read more slowly than it is set.
        """
        self = _new(cls)
        self.name = spec.span_name
        self.spec = spec
        self.settings = settings
        self.call_context = call_context
        self.captures_content = (spec.capture or settings.capture) == "full"
        self.rules = settings.rules if spec.rules is None else spec.rules
        self.start_time = time_ns() if started_ns is None else started_ns
        self.generation = forking.generation
        self.span_id = 0
        self.span_attributes = self.end_time = self.error = self.stream = None
        return self

    @property
    def first_span_id(self) -> str | None:
        """Span id of the first attempt of the call, where its id had named another call before."""
        return None if self.use is None else self.use.first_span_id

    def make_record(self) -> ToolCall:
        """Return a new record of the ended attempt."""
        return build_record(self)

    def record(self) -> ToolCall:
        """Return the record of the ended attempt, and remember its outcome for messages to the model.

        The record is made on the first call, by the calling thread.
        """
        call = self.call
        assert call is not None
        remember_attempt(call)
        return call


def estimate_size(item: Any) -> int:
    """Return about the bytes of memory that a queued ``item`` holds: an attempt, a record, or one made later."""
    if type(item) is not Attempt:
        values = astuple(item) if isinstance(item, Struct) else (getattr(item, "text", None),)
        return _BASE_BYTES + sum(getsizeof(value) for value in values if type(value) is str)
    size, arguments, result = _BASE_BYTES, item.arguments, item.result
    if type(arguments) is bytes:
        size += len(arguments)
    if type(result) is ValueSnapshot:
        value = result.value
        size += len(value) if type(value) is bytes else getsizeof(value)
    elif type(result) is ResponseSnapshot:
        size += getsizeof(result.text) + getsizeof(result.payload) + getsizeof(result.context) + getsizeof(result.stats)
    if item.error is not None:
        size += getsizeof(item.error.message)
    if item.stream is not None:
        size += getsizeof(item.stream.text)
        for end in item.stream.ends:
            size += getsizeof(end.value) if type(end) is ValueSnapshot else 0
    return size


_BASE_BYTES = 1500
"""Bytes of an attempt without arguments and result."""
