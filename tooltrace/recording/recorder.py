"""The recorder: begins an attempt, makes its span current, ends it, and passes it to the worker."""

from __future__ import annotations

import contextvars
import sys
from contextvars import Token
from datetime import UTC, datetime
from time import perf_counter_ns
from typing import Any

from msgspec import Struct
from opentelemetry.context.context import Context

from tooltrace.core import forking
from tooltrace.core.lru import LruMap
from tooltrace.core.records import Outcome, Record
from tooltrace.faults import faults, pass_on_signal, raised_by_signal, report_fault, suppress_faults
from tooltrace.normalize import Rule
from tooltrace.normalize.exceptions import reader
from tooltrace.normalize.exceptions.control_flow import ending_of, pauses
from tooltrace.normalize.exceptions.reader import ExceptionSummary
from tooltrace.otel.attributes import AGENT_NAME
from tooltrace.otel.pipeline import pipeline_for
from tooltrace.otel.sdk_internals import SPAN_KEY, attach, current_context, global_provider
from tooltrace.recording import context as contexts
from tooltrace.recording import observers, retries, shutdown
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.call_identity import CALL_KEY, CONFIG, identify
from tooltrace.recording.call_numbers import REUSED_ID, CallNumbers, KnownCall, digest
from tooltrace.recording.cancellation import reason_of, watch_deadlines
from tooltrace.recording.inheritance import parent_pid
from tooltrace.recording.lazy_results import HANDED_OVER, follow_future
from tooltrace.recording.model_messages import ModelMessage
from tooltrace.recording.queued_item import DeferredRecord
from tooltrace.recording.reading import ResponseSnapshot, ValueSnapshot
from tooltrace.recording.result_copy import set_result, set_stream_result
from tooltrace.recording.retries import announcing_libraries, last_failed
from tooltrace.recording.retryable import judged
from tooltrace.recording.settings import Settings
from tooltrace.recording.sinks import evaluation, otel_metric, structlog
from tooltrace.recording.tool_spec import ToolSpec
from tooltrace.recording.tracebacks import take_frames
from tooltrace.recording.unfit_arguments import OURS, fails_to_bind
from tooltrace.recording.worker import Worker
from tooltrace.redact.redaction import load_rules
from tooltrace.redact.snapshot import snapshot

# bound once: looked up at each call, they take longer
_begin_attempt, _last_failed = Attempt.begin, last_failed.get

FLUSH_SECONDS = 1.0
"""Seconds for which a caller that writes at once waits for the background thread, where only that can write."""
_NOT_LOOKED_UP: Any = object()

UNKNOWN = -1
"""Value of a duration that was not measured."""


class LastAttempt(Struct, frozen=True, gc=False):
    """Span id, tool and conversation of the last attempt of a call."""

    span_id: int
    spec: ToolSpec
    conversation_id: str | None


class Recorder:
    """The recorder of one process under one configuration."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.worker = Worker(settings)
        self._calls = CallNumbers()
        self._last: LruMap[LastAttempt] = LruMap()
        """The last attempt by call id, and by conversation and call id where another conversation has used the id since."""
        self._safe_specs: LruMap[tuple[ToolSpec, ToolSpec]] | None = None
        """By identity, each spec with the one that the configured rules leave; None without such rules."""
        if settings.redaction.has_own_rules:
            self._safe_specs = LruMap(1000)
        self._running = self.worker.running
        self._running.put = self.put  # it writes at once where the durability says so
        self._drop_running = self._running.drop
        self._provider: Any = _NOT_LOOKED_UP
        self._pipeline = pipeline_for(None)
        self._reset_write_mode()
        load_rules()
        watch_deadlines()
        forking.register(self)

    def _reset_write_mode(self) -> None:
        # without a durability, each attempt looks up whether this is a child process, until the answer is yes
        has_store, durability = self.settings.store is not None, self.settings.durability
        self._writes_immediately = has_store and durability in ("call", "fsync")
        self._may_be_child = has_store and durability is None
        self._closes = False

    def begin(  # noqa: C901 - each call takes this path, and a function more costs it time
        self,
        spec: ToolSpec,
        arguments: dict[str, Any] | None,
        call_id: str | None = None,
        number: int | None = None,
        span_id: int = 0,
        started_ns: int | None = None,
        known: KnownCall | None = None,
    ) -> Attempt | None:
        """Begin an attempt and return it; None where the attempt cannot be recorded.

        ``call_id``: the model's id of the call; default: that of ``context``, else of an injected argument, else of the
        enclosing tool span of another library. ``number``: number of the attempt;
        default: counted per call. ``known``: the call that the attempt is known to belong to. ``span_id``: id for the span; a provider that makes its own spans replaces it.
        ``started_ns``: start of a call of the past, in nanoseconds since 1970.
        """
        try:
            context, otel = contexts.current.get(), current_context()
            # false for most calls outside frameworks, which have no conversation, agent or call id to search for
            if otel or context.call is not None or spec.injected or spec.find_injected or CONFIG in sys.modules:
                if call_id is None and context.call is not None and context.call.open_attempt is not None:
                    found = observers.continued_by(context.call, spec, otel.get(SPAN_KEY))
                    if found is not None:
                        return self.begin_inside(found[0], spec, arguments, is_same=found[1])
                call_id, otel, context, arguments = identify(spec, arguments, context, otel, call_id)
            settings = self.settings
            if self._safe_specs is not None:
                spec = self._safe_spec(spec)
            attempt = _begin_attempt(spec, settings, context, started_ns)
            if span_id:
                attempt.span_id = span_id
            if otel and type(enclosing := otel.get(SPAN_KEY)) is Attempt:
                attempt.around = enclosing
            attributes = spec.start_attributes if context.agent is None else _with_agent(spec, context.agent)
            try:
                provider = settings.tracer_provider or global_provider()
                if provider is not self._provider:  # an application may set one after the first call
                    self._pipeline = pipeline_for(provider)
                    self._provider = provider
                self._pipeline.start(attempt, attributes, otel)
            except BaseException as error:  # raised by a sampler or a processor of the application
                pass_on_signal(error)
                report_fault("export", lost=0)
                # the call is recorded all the same; only its span is not exported
                pipeline_for(None).start(attempt, attributes, otel)
            # without content too: they show which texts are secrets, and which call is a retry
            if arguments is not None:
                attempt.arguments = snapshot(arguments, settings.field_limit)
            if call_id is not None or _last_failed() is not None or announcing_libraries:  # it may be a retry
                self._identify_call(attempt, call_id, number, known, arguments)
            self._running.add(attempt)
            # last, so that the duration does not contain the work of the recorder
            attempt.started = perf_counter_ns()
        except BaseException as error:
            pass_on_signal(error)
            report_fault("begin")
            return None
        return attempt

    def _safe_spec(self, spec: ToolSpec) -> ToolSpec:
        """Return ``spec`` with the name, version and description that the configured rules leave."""
        assert self._safe_specs is not None
        known = self._safe_specs.get(id(spec))
        if known is None or known[0] is not spec:
            known = (spec, spec.redacted(self.settings.redaction))
            self._safe_specs.put(id(spec), known)
        return known[1]

    def begin_inside(
        self, outer: Attempt, spec: ToolSpec, arguments: dict[str, Any] | None, *, is_same: bool
    ) -> Attempt:
        """Begin an attempt of the execution that ``outer`` observes too; see :mod:`tooltrace.recording.observers`."""
        safe = spec if self._safe_specs is None else self._safe_spec(spec)
        inner = _begin_attempt(safe, self.settings, outer.call_context)
        observers.join(outer, inner, is_same=is_same)
        if inner.captures_content:
            inner.arguments = outer.arguments
            if inner.arguments is None and arguments is not None:
                inner.arguments = snapshot(spec.split_injected(arguments)[0], self.settings.field_limit)
        inner.started = perf_counter_ns()
        return inner

    def _identify_call(
        self,
        attempt: Attempt,
        call_id: str | None,
        number: int | None = None,
        known: KnownCall | None = None,
        arguments: dict[str, Any] | None = None,
    ) -> None:
        """Make ``attempt`` an attempt of the call ``call_id``; without an id, of the call that it retries, if any.

        The key includes the conversation, because some models restart their numbering in each conversation.
        """
        if call_id is None:
            if (link := retries.find_link(attempt)) is None:
                return
            failed, attempt.linked_by = link.failed, link.library
            call_id, known = failed.call_id, KnownCall(failed.number + 1, failed.first_span_id)
        attempt.call_id = call_id = str(call_id)
        spec, conversation, by = attempt.spec, attempt.call_context.conversation_id, attempt.call_context.call
        attempt.use, attempt.number = self._calls.begin(
            (conversation, spec.name, call_id),
            attempt.span_id,
            digest(arguments, attempt.arguments),
            stated=by is not None and by.stated and by.value == call_id,
            number=number,
            known=known,
        )
        if attempt.first_span_id is not None and REUSED_ID not in attempt.flags:
            attempt.flags = (*attempt.flags, REUSED_ID)
        # most ids have one entry; the second key is made where another conversation uses the id again
        earlier = self._last.get(call_id)
        if earlier is not None and earlier.conversation_id != conversation:
            self._last.put((earlier.conversation_id, call_id), earlier)
        self._last.put(call_id, LastAttempt(attempt.span_id, spec, conversation))

    def _last_attempt(self, conversation: str | None, call_id: str) -> LastAttempt | None:
        """Return the last attempt of the call in ``conversation``, else the last in any."""
        last = self._last.get(call_id)
        if last is None or conversation is None or last.conversation_id == conversation:
            return last
        return self._last.get((conversation, call_id)) or last

    def last_span_id(self, call_id: str) -> str | None:
        """Return the span id of the last attempt of the call in this process; None where it recorded none."""
        last = self._last.get(call_id)
        return None if last is None else f"{last.span_id:016x}"

    def returned(self, attempt: Attempt, result: Any, duration_ns: int | None = None) -> None:
        """End ``attempt`` with the ``result`` that the tool returned.

        ``duration_ns``: duration where the caller measured it, or ``UNKNOWN``; default: the time since the start.
        """
        elapsed = perf_counter_ns() - attempt.started
        try:
            attempt.duration_ns = elapsed if duration_ns is None else _measured(duration_ns)
            set_result(attempt, result)
            found = attempt.result
            if type(found) is ValueSnapshot:
                if found.kinds and pauses(found.kinds):
                    # the object requests input of a person: it is not the tool's result
                    attempt.ending, attempt.result = "paused", None
            elif type(found) is ResponseSnapshot and found.status == "error" and retries.is_wanted():
                retries.remember(attempt, None)
            elif attempt.ending == HANDED_OVER:
                attempt.ending, attempt.duration_ns = "returned", None
                if follow_future(result, self, attempt):
                    return
                attempt.ending = HANDED_OVER
            self._end(attempt)
        except BaseException as error:
            self._failed(attempt, error)

    def raised(self, attempt: Attempt, error: BaseException, duration_ns: int | None = None) -> None:
        """End ``attempt`` with the ``error`` that the tool raised. ``duration_ns``: as in :meth:`returned`.

        An exception with which a framework pauses, cancels or redirects a tool is not a failure of the tool, see
        :mod:`tooltrace.normalize.exceptions.control_flow`.
        """
        elapsed = perf_counter_ns() - attempt.started
        try:
            attempt.duration_ns = elapsed if duration_ns is None else _measured(duration_ns)
            attempt.ending = ending_of(type(error))
            if attempt.ending == "returned":  # the exception carries the result
                set_result(attempt, error.args[0] if error.args else None)
            elif attempt.ending == "refused" or (type(error) is TypeError and fails_to_bind(error, OURS)):
                self._refuse(attempt, reader.summarize(error))
            elif attempt.ending != "paused":
                attempt.error = _summary(attempt.ending, error)
                if attempt.error.message_size is not None:
                    attempt.full_sizes = {"error_message": attempt.error.message_size}
                if attempt.spec.retryable:
                    again, flags = judged(attempt.spec.retryable, error)
                    attempt.flags = (*attempt.flags, *flags)
                    if again is not None:
                        attempt.error = attempt.error._replace(retryable=again)
                if attempt.ending == "raised":
                    attempt.raised_from = take_frames(error)
                if retries.is_wanted():
                    retries.remember(attempt, error)
            self._end(attempt)
        except BaseException as met:
            self._failed(attempt, met)

    def finish_stream(self, attempt: Attempt, last: Any, value: Any) -> None:
        """End the attempt of a stream, which already has the stream's items.

        ``last``: the last item, as a StreamRecorder has it. ``value``: what the generator returned.
        """
        try:
            set_stream_result(attempt, last, value)
            found = attempt.result
            if isinstance(found, ResponseSnapshot) and found.status == "error" and retries.is_wanted():
                retries.remember(attempt, None)
            self._end(attempt)
        except BaseException as error:
            self._failed(attempt, error)

    def finish_without_run(self, attempt: Attempt, ending: str) -> None:
        """End ``attempt`` without an execution of the tool.

        ``ending``: ``paused``, ``declined``, ``expired``, or ``handed_over`` where its end was not seen.
        """
        with suppress_faults("record", lost=1):
            attempt.ending = ending
            self._end(attempt)

    def refused(self, attempt: Attempt, code: str, reason: str, error_type: str = "") -> None:
        """End ``attempt`` without an execution, because the system did not run the tool.

        ``code`` and ``reason`` say why. ``error_type``: class of the exception that refused it.
        """
        with suppress_faults("record", lost=1):
            self._refuse(attempt, ExceptionSummary(code, error_type, reason, None))
            self._end(attempt)

    def _refuse(self, attempt: Attempt, why: ExceptionSummary) -> None:
        attempt.ending, attempt.error, attempt.duration_ns = "refused", why, None

    def finish_unknown(self, attempt: Attempt) -> None:
        """End ``attempt`` with an unknown result."""
        with suppress_faults("record", lost=1):
            attempt.duration_ns = perf_counter_ns() - attempt.started
            self._end(attempt)

    def rules_of(self, spec: ToolSpec) -> tuple[Rule, ...]:
        """Return the rules that read the results of the tool ``spec``."""
        return self.settings.rules if spec.rules is None else spec.rules

    def reset_after_fork(self) -> None:
        """Determine again, in a forked child, when records are written."""
        self._reset_write_mode()

    def put(self, item: DeferredRecord | Record) -> None:
        """Record ``item``, which is not an attempt but an outcome, a gate or a message."""
        if not self._writes_at_once():
            self.worker.put(item)
            return
        # only the background thread notifies sinks, and it writes what could not be written here
        wanted_by_sinks = isinstance(item, Outcome) and evaluation.is_wanted()
        if wanted_by_sinks or not self.worker.write_now(item):
            self.worker.put(item)
            self.worker.wait_for_queue(FLUSH_SECONDS)

    def record_model_message(
        self, call_id: str, text: str, *, style: str, error: bool | None = None, span_id: str | None = None
    ) -> None:
        """Record ``text`` as the message that the model received for a call.

        ``error``: whether the text reports an error; None: decided from the text. ``span_id``: span id of the attempt;
        default: the last attempt of the call.
        """
        with suppress_faults("record", lost=1):
            conversation = contexts.call_context(current_context()).conversation_id
            last = self._last_attempt(conversation, call_id)
            spec = None if last is None else last.spec
            if span_id is None and last is not None:
                span_id = f"{last.span_id:016x}"
            self.put(ModelMessage(self.settings, spec, call_id, span_id, text, style, error, datetime.now(UTC)))

    def _separate_from_parent(self, attempt: Attempt) -> None:
        """Make ``attempt``, which a parent process began and ends too, a second attempt of this forked child."""
        attempt.generation = forking.generation
        attempt.renew_id()
        if attempt.call_id is not None:
            self._identify_call(attempt, attempt.call_id, known=KnownCall(attempt.number + 1, attempt.first_span_id))

    def _end(self, attempt: Attempt) -> None:  # noqa: C901 - as begin
        ended = attempt
        if attempt.inner is not None or attempt.outer is not None:
            outer = attempt.outer
            row, own = observers.settle(attempt)
            for each in own:
                self._end_alone(each, outer if each is attempt and outer is not None else attempt)
            if row is None:
                return
            attempt = row
        self._drop_running(ended)
        # a tool that forks ends in both processes: each needs a span id of its own
        if attempt.generation != forking.generation:
            self._separate_from_parent(attempt)
        if attempt.use is not None:
            attempt.use.ended(attempt)
        by_tool, by_context = attempt.span_attributes, attempt.call_context.attributes
        if by_tool is not None or by_context is not None:
            # copied now: the application may change the values as soon as the tool has returned
            attempt.custom_attributes = snapshot({**(by_context or {}), **(by_tool or {})})
        if structlog.is_wanted():
            attempt.surroundings = contextvars.copy_context()
        try:
            attempt.end(attempt.past_end_ns)
        except BaseException as error:  # raised by a processor of the application
            pass_on_signal(error)
            report_fault("export", lost=0)
        if not (self._may_be_child or self._writes_immediately) or not self._writes_at_once():
            self.worker.put(attempt)
            return
        written = self.worker.write_now(attempt)
        # the queue is for the sinks and exporters then; the thread does not write a record twice, see Attempt.written
        if not written or structlog.is_wanted() or otel_metric.is_wanted() or evaluation.is_wanted():
            self.worker.put(attempt)
        if faults.pending:  # write the counts of earlier losses too, before this process may be killed
            self.worker.wait_for_queue(FLUSH_SECONDS)

    def _end_alone(self, attempt: Attempt, outer: Attempt) -> None:
        """End ``attempt``, which began inside ``outer`` and was no execution of it, as a child."""
        observers.separate(attempt)
        attempt.around = outer
        try:
            self._pipeline.start(attempt, attempt.spec.start_attributes, span_context(outer))
        except BaseException as error:  # as in begin
            pass_on_signal(error)
            pipeline_for(None).start(attempt, attempt.spec.start_attributes, span_context(outer))
        self._end(attempt)

    def _writes_at_once(self) -> bool:
        """Whether a record is written before its caller continues.

        Evaluated for each record, because a forked child cannot be distinguished from its parent until multiprocessing
        has prepared it, and a spawned child cannot be recognised while it imports the main module.
        """
        if self._may_be_child and parent_pid() is not None:
            self._may_be_child, self._writes_immediately = False, True
        if self._writes_immediately and not self._closes:
            self._closes = True
            shutdown.on_exit(self.worker.close)  # writes the losses even where no background thread was started
        return self._writes_immediately

    def _failed(self, attempt: Attempt, error: BaseException) -> None:
        """Handle ``error``, which was raised while ``attempt`` was being ended.

        An exception raised by a signal is raised again, after the attempt was recorded as far as it was read. Any other
        error is a fault of the recorder.
        """
        self._drop_running(attempt)
        if not raised_by_signal(error):
            report_fault("record")
            return
        attempt.flags = (*attempt.flags, "interrupted")
        # the signal may have come after the attempt was queued
        if not self.worker.is_queued(attempt):
            with suppress_faults("record", lost=1):
                self._end(attempt)
        raise error


def activate(attempt: Attempt) -> Token[Context]:
    """Make the attempt's span current; pass the returned token to ``detach`` to undo it."""
    # most contexts are empty: a new one then needs no copy
    if current_context() or attempt.call_context.call is not None:
        return attach(span_context(attempt))
    return attach(Context({SPAN_KEY: attempt}))


def span_context(attempt: Attempt) -> Context:
    """Return the context in which the attempt's span is current and the model's call is marked as in progress."""
    call = attempt.call_context.call
    if call is None:
        return Context({**current_context(), SPAN_KEY: attempt})
    return Context({**current_context(), SPAN_KEY: attempt, CALL_KEY: call})


def _summary(ending: str, error: BaseException) -> ExceptionSummary:
    summary = reader.summarize(error)
    return summary._replace(code=reason_of(error) or "") if ending == "cancelled" else summary


def _measured(duration_ns: int) -> int | None:
    """Return the duration that the caller measured; None where it is UNKNOWN."""
    return None if duration_ns == UNKNOWN else duration_ns


def _with_agent(spec: ToolSpec, agent: str) -> dict[str, Any]:
    """Return the attributes of a span at its start, which samplers receive."""
    return {**spec.start_attributes, AGENT_NAME: agent}
