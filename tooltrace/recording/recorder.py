"""From the tool's thread to the sinks: begin an attempt, run it as current, end it, hand it over."""

from __future__ import annotations

import contextvars
import sys
from contextvars import Token
from datetime import UTC, datetime
from time import perf_counter_ns
from typing import Any, NamedTuple

from opentelemetry.context.context import Context

from tooltrace.core.lru import AttemptCounter, LruMap
from tooltrace.core.records import Outcome, Record
from tooltrace.faults import faults, pass_on_signal, raised_by_signal, report_fault, suppress_faults
from tooltrace.normalize import Rule
from tooltrace.normalize.engine import apply_rules
from tooltrace.normalize.exceptions import reader
from tooltrace.otel.pipeline import Pipeline, pipeline_for
from tooltrace.otel.sdk_internals import SPAN_KEY, attach, current_context, global_provider
from tooltrace.otel.tool_span import start_attributes
from tooltrace.recording import context as contexts
from tooltrace.recording import shutdown
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.context import BAGGAGE_KEY, CallContext
from tooltrace.recording.model_messages import ModelMessage
from tooltrace.recording.record_builder import build_record
from tooltrace.recording.settings import Settings
from tooltrace.recording.sinks import evaluation, otel_metric, structlog
from tooltrace.recording.tool_spec import ToolSpec
from tooltrace.recording.worker import DeferredRecord, Worker
from tooltrace.redact.snapshot import snapshot

FLUSH_SECONDS = 1.0
"""How long a caller that writes at once may wait for the thread, where only that can write."""
_NOT_LOOKED_UP: Any = object()

UNKNOWN = -1
"""A duration that nobody measured."""

_ASKED = "tooltrace-call"
"""Key of the context inside a tool: the call that the model asked for, which is not its tools' call."""


class LastAttempt(NamedTuple):
    """The last attempt of a call."""

    span_id: int
    spec: ToolSpec


class Recorder:
    """Everything that one configuration records, in one process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.worker = Worker(settings)
        self._attempts = AttemptCounter()
        self._last: LruMap[LastAttempt] = LruMap()
        self._provider: Any = _NOT_LOOKED_UP
        self._pipeline = pipeline_for(None)
        self._forget_mode()

    def _forget_mode(self) -> None:
        keeps, durability = self.settings.store is not None, self.settings.durability
        self._writes_immediately = keeps and durability in ("call", "fsync")
        self._may_be_child = keeps and durability is None
        self._closes = False

    def begin(
        self,
        spec: ToolSpec,
        arguments: dict[str, Any] | None,
        *,
        call_id: str | None = None,
        number: int | None = None,
        span_id: int = 0,
    ) -> Attempt | None:
        """An attempt that begins now; None where it cannot be recorded.

        ``call_id`` and ``number`` (of the attempt) where the caller knows better than the surroundings. ``span_id``:
        the id by which it is to be found again; a provider that makes its own spans gives its own.
        """
        try:
            context, otel = contexts.current.get(), current_context()
            if BAGGAGE_KEY in otel:
                context = contexts.with_baggage(context, otel)
            attempt = Attempt(spec, self.settings, context)
            attempt.finish = build_record
            if span_id:
                attempt.span_id = span_id
            self._start_span(attempt, otel)
            if call_id is None and context.call is not None and otel.get(_ASKED) is not context.call:
                call_id = context.call.value
            if call_id is not None:
                attempt.call_id = call_id = str(call_id)
                self._number(attempt, spec, call_id, number)
            if arguments is not None and attempt.captures_content:
                attempt.arguments = snapshot(spec.without_injected(arguments), self.settings.field_limit)
            attempt.started = perf_counter_ns()
        except BaseException as error:
            pass_on_signal(error)
            report_fault("begin")
            return None
        return attempt

    def _number(self, attempt: Attempt, spec: ToolSpec, call_id: str, number: int | None) -> None:
        """Which attempt of its call this is. Some models number their calls anew in each conversation."""
        conversation = attempt.call_context.conversation_id
        call = (conversation, spec.name, call_id)
        if number is None:
            number = self._attempts.next(call)
        else:  # the attempts that follow go on from it
            self._attempts.put(call, number)
        attempt.number = number
        last = LastAttempt(attempt.span_id, spec)
        self._last.put((None, call_id), last)
        if conversation is not None:
            self._last.put((conversation, call_id), last)

    def returned(self, attempt: Attempt, result: Any, *, duration_ns: int | None = None) -> None:
        """The tool returned ``result``."""
        elapsed = perf_counter_ns() - attempt.started
        try:
            attempt.duration_ns = _duration(elapsed, duration_ns)
            attempt.set_result(result)
            self._end(attempt)
        except BaseException as error:
            self._failed(attempt, error)

    def raised(self, attempt: Attempt, error: BaseException, *, duration_ns: int | None = None) -> None:
        """``error`` left the tool."""
        elapsed = perf_counter_ns() - attempt.started
        try:
            attempt.duration_ns = _duration(elapsed, duration_ns)
            attempt.ending = classify_ending(error)
            attempt.error = reader.summarize(error, attempt.spec.retryable)
            self._end(attempt)
        except BaseException as met:
            self._failed(attempt, met)

    def finish_stream(self, attempt: Attempt) -> None:
        """A stream came to its end; what it gave is in the attempt."""
        try:
            attempt.read_confidence_and_sources(None)
            if attempt.needs_live_result and attempt.response is None and attempt.text is not None:
                found = apply_rules(attempt.text, attempt.rules)
                if found is not None:
                    attempt.set_response(found)
            self._end(attempt)
        except BaseException as error:
            self._failed(attempt, error)

    def finish_without_run(self, attempt: Attempt, ending: str) -> None:
        """It is over, and the tool was not executed: ``paused``, ``declined`` or ``expired``."""
        with suppress_faults("record", lost=1):
            attempt.ending = ending
            if ending == "paused" and attempt.call_id is not None:  # what goes on is the same attempt
                call = (attempt.call_context.conversation_id, attempt.spec.name, attempt.call_id)
                self._attempts.put(call, attempt.number - 1)
            self._end(attempt)

    def finish_unknown(self, attempt: Attempt) -> None:
        """It is over, and nobody said with what result."""
        with suppress_faults("record", lost=1):
            attempt.duration_ns = perf_counter_ns() - attempt.started
            self._end(attempt)

    def rules_of(self, spec: ToolSpec) -> tuple[Rule, ...]:
        """What reads the results of the tool ``spec``."""
        return self.settings.rules if spec.rules is None else spec.rules

    def reset_after_fork(self) -> None:
        """In a forked child: begin with nothing of the parent's."""
        self._attempts.reset_after_fork()
        self._last.reset_after_fork()
        self.worker.reset_after_fork()
        self._forget_mode()

    def put(self, item: DeferredRecord | Record) -> None:
        """Record ``item``, which is not an attempt: an outcome, a gate, a message."""
        if not self._writes_at_once():
            self.worker.put(item)
            return
        tells_sinks = isinstance(item, Outcome) and evaluation.is_wanted()
        if tells_sinks or not self.worker.write_now(item):
            self.worker.put(item)
            self.worker.flush(FLUSH_SECONDS)

    def record_model_message(
        self, call_id: str, text: str, *, style: str, error: bool | None = None, span_id: str | None = None
    ) -> None:
        """The model was given ``text`` as the answer to a call. ``error``: whether it tells of one; left out, that is
        found out from the text. ``span_id``: of the attempt, where it is not the call's last."""
        with suppress_faults("record", lost=1):
            conversation = contexts.call_context(current_context()).conversation_id
            last = self._last.get((conversation, call_id)) or self._last.get((None, call_id))
            spec = None if last is None else last.spec
            if span_id is None and last is not None:
                span_id = f"{last.span_id:016x}"
            self.put(ModelMessage(self.settings, spec, call_id, span_id, text, style, error, datetime.now(UTC)))

    def _start_span(self, attempt: Attempt, otel: Context) -> None:
        attributes = _start_attributes(attempt.spec, attempt.call_context)
        try:
            self.pipeline().start(attempt, attributes, otel)
        except BaseException as error:  # of a sampler or a processor of the application's
            pass_on_signal(error)
            report_fault("export", lost=0)
            pipeline_for(None).start(attempt, attributes, otel)

    def pipeline(self) -> Pipeline:
        """The way of the provider that is set now; an application may set one late."""
        provider = self.settings.tracer_provider or global_provider()
        if provider is not self._provider:
            self._pipeline = pipeline_for(provider)
            self._provider = provider
        return self._pipeline

    def _end(self, attempt: Attempt) -> None:
        own, around = attempt.span_attributes, attempt.call_context.attributes
        if own is not None or around is not None:
            attempt.custom_attributes = snapshot({**(around or {}), **(own or {})})
        if structlog.is_wanted():
            attempt.surroundings = contextvars.copy_context()
        hurry = False
        try:
            hurry = attempt.end_and_tell()
        except BaseException as error:  # of a processor of the application's
            pass_on_signal(error)
            report_fault("export", lost=0)
        if not self._writes_at_once():
            self.worker.put(attempt, hurry=hurry)
            return
        written = self.worker.write_now(attempt)
        if not written or hurry or structlog.is_wanted() or otel_metric.is_wanted() or evaluation.is_wanted():
            self.worker.put(attempt, hurry=hurry)
        if faults.pending:  # what was lost before is counted on the disk too, before this process may be killed
            self.worker.flush(FLUSH_SECONDS)

    def _writes_at_once(self) -> bool:
        """Whether a record is written before its caller goes on.

        Asked at each record, because a forked child cannot be told from its parent until multiprocessing has prepared
        it, nor a spawned one while it imports the main module.
        """
        if self._may_be_child and _is_child():
            self._may_be_child, self._writes_immediately = False, True
        if self._writes_immediately and not self._closes:
            self._closes = True
            shutdown.on_exit(self.worker.close)  # losses are still to be written, where no thread was ever needed
        return self._writes_immediately

    def _failed(self, attempt: Attempt, error: BaseException) -> None:
        """The record of ``attempt`` met ``error``. What a signal raised goes on to the application, once the attempt is
        recorded as far as it was read; all else is a fault of ours."""
        if not raised_by_signal(error):
            report_fault("record")
            return
        attempt.flags = (*attempt.flags, "interrupted")
        if not self.worker.holds(attempt):
            with suppress_faults("record", lost=1):
                self._end(attempt)
        raise error


def activate(attempt: Attempt) -> Token[Context]:
    """Make the attempt's span current, until ``detach``."""
    return attach(span_context(attempt))


def span_context(attempt: Attempt) -> Context:
    """The context in which the attempt's span is current, and the model's call is this one."""
    otel = Context(current_context())
    dict.__setitem__(otel, SPAN_KEY, attempt)
    if attempt.call_context.call is not None:
        dict.__setitem__(otel, _ASKED, attempt.call_context.call)
    return otel


def _is_child() -> bool:
    """Whether this process is a child of multiprocessing or concurrent.futures. Imports neither."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def _duration(measured: int, given: int | None) -> int | None:
    """Nanoseconds: as ``given`` where the caller knows better, None where nobody knows."""
    if given is None:
        return measured
    return None if given == UNKNOWN else given


def classify_ending(error: BaseException) -> str:
    """``raised`` is the tool's failure. A cancellation, an interrupt or an exit is not, nor is a stream that
    its consumer dropped."""
    kind = type(error)
    if issubclass(kind, Exception):
        return "raised"
    return "abandoned" if issubclass(kind, GeneratorExit) else "cancelled"


def _start_attributes(spec: ToolSpec, context: CallContext) -> dict[str, Any]:
    """The attributes that samplers see."""
    if context.agent is None:
        return spec.start_attributes
    return start_attributes(spec.name, spec.tool_type, context.agent)
