"""One call of a tool that a framework makes, from its begin to what the model reads about it.

An integration begins a ``FrameworkCall`` where the framework begins to work on the call, and ends it with the result,
the exception, or an ending without an execution.

Several observers may know of one call: the integration of an agent framework, that of the MCP client which the framework
uses, that of a server in the same process, and the decorator of the tool itself. The first of them begins the attempt.
Those inside it recognise the call by its id, or by its name and its arguments, and become one row with it where they saw one
execution (:mod:`tooltrace.recording.observers`).

A call that ends as ``paused`` waits for a person. The next call with the same id, of the same tool in the same
conversation, has the answer: both are recorded as a ``Gate``.

No method raises, except what a signal raised.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from functools import lru_cache
from time import perf_counter_ns
from typing import Any

import orjson
from msgspec.structs import replace
from opentelemetry.context.context import Context

from tooltrace.core.codes import BLOCKED
from tooltrace.core.response import ToolResponse
from tooltrace.faults import suppress_faults
from tooltrace.integrations import reviews
from tooltrace.normalize import normalize
from tooltrace.normalize.exceptions.reader import class_name
from tooltrace.otel.sdk_internals import SPAN_KEY, attach, current_context, detach
from tooltrace.otel.tool_span import ToolSpan
from tooltrace.recording import context as contexts
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.call_identity import model_name
from tooltrace.recording.config import get_recorder
from tooltrace.recording.context import CallContext, CallId
from tooltrace.recording.recorder import UNKNOWN, span_context
from tooltrace.recording.result_copy import with_failed_value
from tooltrace.recording.tool_spec import ToolSpec, named_spec
from tooltrace.redact.snapshot import snapshot

ended_outside: ContextVar[bool] = ContextVar("tooltrace_ended_outside", default=False)
"""Whether the integration around a server in this process ends the call itself, and knows the tool's exception."""


def spec_for(name: str, description: str | None = None, function: Any = None) -> ToolSpec:
    """Return the spec of the tool ``name``: that of the decorator if ``function`` is decorated."""
    decorated = getattr(function, "__tooltrace__", None)
    return decorated if isinstance(decorated, ToolSpec) else _spec(name, description)


@lru_cache(maxsize=1024)
def _spec(name: str, description: str | None) -> ToolSpec:
    return named_spec(name, description=" ".join(description.split()) or None if description else None)


def parse_arguments(arguments: Any) -> dict[str, Any] | None:
    """Return the model's ``arguments`` by name; what is neither an object nor its JSON goes under ``value``."""
    if isinstance(arguments, str | bytes):
        try:
            arguments = orjson.loads(arguments)
        except ValueError:
            return {"value": arguments} if arguments else None
    if arguments is None or isinstance(arguments, Mapping):
        return arguments if arguments is None else dict(arguments)
    return {"value": arguments}


class FrameworkCall:
    """The attempt of one call: begun when the object is created, or by an observer around it.

    ``spec``: see ``spec_for``. ``arguments``: those of the model, parsed or as JSON. ``call_id``: the model's id.
    ``agent``, ``conversation`` and ``model`` (a name, or the framework's object) default to those of the enclosing
    ``context``. ``style``: name of the framework,
    recorded with the message that the model reads. ``aliases``: further names that a decorated function of the same tool
    may have. ``function``: the function that the framework runs, where the integration knows it: then no other one is taken for
    the execution of the call. ``attributes`` are recorded with the call.
    """

    attempt: Attempt | None = None
    _arguments: dict[str, Any] | None = None
    _key: tuple[Any, ...] | None = None
    """Key of the question to a person; None for a call without an id, and where an observer around this one has it."""
    _tokens: tuple[Token[CallContext], Token[Context]] | None = None

    def __init__(
        self,
        spec: ToolSpec,
        arguments: Any,
        *,
        style: str,
        call_id: Any = None,
        agent: Any = None,
        conversation: Any = None,
        model: Any = None,
        aliases: Iterable[str] = (),
        function: Any = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        self.style = style
        with suppress_faults("begin", lost=1):
            self._recorder = get_recorder()
            outer, wanted, known = contexts.current.get(), text_or_none(call_id), parse_arguments(arguments)
            names = frozenset() if function is not None else frozenset({spec.name, *aliases})
            around = None if outer.call is None else outer.call.open_attempt
            if outer.call is not None and around is not None and _continues(outer.call, wanted, spec.name, known):
                # an observer around this one began the call
                self.attempt = inner = self._recorder.begin_inside(around, spec, known, is_same=wanted is not None)
                inner.set_attributes(dict(attributes or {}))
                open_call = CallId(outer.call.value, inner, names | outer.call.names, spec=outer.call.spec)
                inner.call_context = replace(inner.call_context, call=open_call)
                return
            # the outer id applies to this call only if nothing else has begun under it, or if the framework gives the same id
            inherited = outer.call is not None and (around is None if wanted is None else wanted == outer.call.value)
            call_context = CallContext(
                call=outer.call if inherited else CallId(wanted),
                conversation_id=text_or_none(conversation) or outer.conversation_id,
                agent=text_or_none(agent) or outer.agent,
                model=model_name(model) or outer.model,
                attributes={**(outer.attributes or {}), **(attributes or {})} or None,
            )
            token = contexts.current.set(call_context)
            try:
                self.attempt = self._recorder.begin(spec, known)
            finally:
                contexts.current.reset(token)
            if self.attempt is not None:
                open_call = CallId(self.attempt.call_id, self.attempt, names, spec=spec)
                self.attempt.call_context = replace(self.attempt.call_context, call=open_call)  # it may have baggage
                if self.attempt.outer is None and self.attempt.call_id is not None:
                    self._arguments = known
                    self._expect_answer(self.attempt)

    @classmethod
    def unrecorded(cls, style: str) -> FrameworkCall:
        """Return a call that records nothing, in place of one that could not be begun."""
        call = cls.__new__(cls)
        call.style = style
        return call

    @property
    def ended(self) -> bool:
        """Whether the attempt has ended, or was never begun."""
        return self.attempt is None or self.attempt.held or not self.attempt.is_recording()

    def __del__(self) -> None:
        """Record a call whose end the framework did not report, where its function has ended."""
        attempt = self.attempt
        if attempt is not None and attempt.inner is not None and not self.ended:
            with suppress_faults("record"):
                attempt.inner.is_same = True
                self._recorder.finish_without_run(attempt, attempt.inner.ending or "returned")

    def restart(self) -> None:
        """Measure the duration from now: what came before was not the tool's."""
        if self.attempt is not None:
            self.attempt.started = perf_counter_ns()

    def enter(self, *, below_other_spans: bool = False) -> None:
        """Make the call current, until it ends: calls and spans of this context are its children.

        ``below_other_spans``: whether a recording span of another library remains the current span, for a framework that
        looks for its own.
        """
        if self.attempt is not None and self._tokens is None:
            with suppress_faults("begin"):
                inner = span_context(self.attempt)
                if below_other_spans:
                    outer = current_context().get(SPAN_KEY)
                    if _is_recording_elsewhere(outer):
                        # A Context of OpenTelemetry refuses item assignment; this one is new and not shared yet.
                        dict.__setitem__(inner, SPAN_KEY, outer)
                self._tokens = contexts.current.set(self.attempt.call_context), attach(inner)

    def leave(self) -> None:
        """Make the outer call current again; no effect in another context than that of ``enter``."""
        tokens, self._tokens = self._tokens, None
        if tokens is not None:
            with suppress_faults("begin"):
                detach(tokens[1])
                try:
                    contexts.current.reset(tokens[0])
                except ValueError:  # another task or thread ends the call: its context never had this one
                    return

    @contextmanager
    def active(self, *, below_other_spans: bool = False) -> Iterator[None]:
        """Make the call current inside the block. ``below_other_spans``: as in :meth:`enter`."""
        self.enter(below_other_spans=below_other_spans)
        try:
            yield
        finally:
            self.leave()

    def returned(self, result: Any, *, ran: bool = True) -> None:
        """End with the tool's ``result``. ``ran``: whether the tool's own code ran, otherwise no duration is known."""
        self.leave()
        if self.attempt is not None and not self.ended:
            if not ran:
                self._mark_not_run(self.attempt)
            self._recorder.returned(self.attempt, result, duration_ns=None if ran else UNKNOWN)
        self._record_review("input")  # only a request for input makes a pause of a call that returned

    def raised(self, error: BaseException, *, ran: bool = True, waits_for: str = "confirmation") -> None:
        """End with the exception that left the tool, or that kept it from running. ``waits_for``: as in ``finish``."""
        self.leave()
        if self.attempt is not None and not self.ended:
            if not ran:
                self._mark_not_run(self.attempt)
            self._recorder.raised(self.attempt, error, duration_ns=None if ran else UNKNOWN)
        self._record_review(waits_for)

    def refused(self, code: str, reason: str, *, error: BaseException | None = None) -> None:
        """End without an execution, because the framework did not run the tool.

        ``code`` and ``reason`` say why: an unknown tool, arguments that do not fit, a limit, a hook, a guardrail.
        ``error``: the exception that refused the call.
        """
        self.leave()
        if self.attempt is not None and not self.ended:
            with suppress_faults("record"):
                self._recorder.refused(self.attempt, code, reason or code, "" if error is None else class_name(error))
        self._record_review("confirmation")

    def blocked(self, reason: str) -> None:
        """End without an execution, because a hook or a guardrail blocked the call.

        Where the call waited for a person, that person declined it.
        """
        if self._key is not None and reviews.pending.get(self._key) is not None:
            self.finish("declined")
        else:
            self.refused(BLOCKED, reason)

    def failed(self, code: str, message: str) -> None:
        """End as a failure that the framework reports with ``message``."""
        with suppress_faults("record"):
            self.returned(ToolResponse.error(code, message or code))

    def cached(self, result: Any) -> None:
        """End with a result that the framework had stored."""
        with suppress_faults("record"):
            response = with_failed_value(normalize(result), result)
            self.returned(
                response.model_copy(update={"meta": response.meta.model_copy(update={"cached": True})}), ran=False
            )

    def finish(self, ending: str, *, waits_for: str | None = "confirmation", note: str | None = None) -> None:
        """End without an execution: ``paused``, ``declined``, ``expired`` or ``abandoned``.

        ``waits_for``: what a paused call waits for: ``confirmation``, ``input`` or ``external``; None where another
        call has the question. ``note``: the words of the person who declined the call.
        """
        self.leave()
        if self.attempt is not None and not self.ended:
            self._recorder.finish_without_run(self.attempt, ending)
        self._record_review(waits_for, note)

    def model_reads(self, text: Any) -> None:
        """Record ``text`` as what the model reads about the call."""
        attempt = self.attempt
        if attempt is None:
            return
        with suppress_faults("record", lost=1):
            words = text if isinstance(text, str) else str(text)
            self._recorder.record_model_message(
                attempt.call_id or attempt.hex_id, words, style=self.style, span_id=attempt.hex_id
            )

    def _expect_answer(self, attempt: Attempt) -> None:
        """Link ``attempt`` to the paused attempt that it continues, if there is one."""
        self._key = (self.style, attempt.call_context.conversation_id, attempt.spec.name, attempt.call_id)
        review = reviews.pending.get(self._key)
        if review is not None and review.span is not None:
            attempt.add_link(review.span)

    def _record_review(self, waits_for: str | None, note: str | None = None) -> None:
        """Record the answer that the ended call brought, and the question if it was paused."""
        attempt, key, self._key = self.attempt, self._key, None
        if attempt is None or key is None:
            return
        with suppress_faults("record", lost=1):
            ending = attempt.ending
            review = None if ending == "abandoned" else reviews.pending.pop(key)
            if review is not None:
                decision = ending if ending in ("declined", "expired") else "approved"
                changed = reviews.changes(review.arguments, self._arguments)
                reviews.record_answer(self._recorder, review, decision, attempt, note=note, changed=changed)
            if ending == "paused" and waits_for is not None:
                span_id, call_id = attempt.hex_id, attempt.call_id or attempt.hex_id
                review = reviews.PendingReview(
                    span_id, call_id, waits_for, datetime.now(UTC), attempt.number, attempt.context, self._arguments
                )
                reviews.record_question(self._recorder, review, key)

    def _mark_not_run(self, attempt: Attempt) -> None:
        attempt.set_attribute(f"{self.style}.ran", value=False)


def text_or_none(value: Any) -> str | None:
    """Return an id or a name as text; None where there is none."""
    return None if value is None or value == "" else str(value)


def is_same_call(attempt: Attempt, tool: str, arguments: Mapping[str, Any] | None) -> bool:
    """Whether a call of ``tool`` with ``arguments`` that begins inside ``attempt`` is the call of the attempt."""
    if not attempt.is_recording() or tool not in _names(attempt.spec.name):
        return False
    # Without content the attempt has no arguments to compare.
    if not attempt.captures_content:
        return True
    return snapshot(dict(arguments or {}), attempt.settings.field_limit) == (attempt.arguments or b"{}")


def _continues(outer: CallId, wanted: str | None, tool: str, arguments: Mapping[str, Any] | None) -> bool:
    """Whether a call with the id ``wanted``, if any, is the call ``outer``, which an observer around it has begun."""
    around: Attempt | None = outer.open_attempt
    if around is None or around.inner is not None or around.held or not around.is_recording():
        return False
    return is_same_call(around, tool, arguments) if wanted is None else wanted == outer.value


_SEPARATORS = re.compile(r"[_./:\-]+")
"""Characters that may separate the name of a server or a toolset from that of its tool."""


@lru_cache(maxsize=1024)
def _names(tool: str) -> frozenset[str]:
    """Return the name of ``tool``, and its ends that may be the tool's own name, without a prefix."""
    return frozenset(
        {tool, *(tool[joint.end() :] for joint in _SEPARATORS.finditer(tool, 1) if joint.end() < len(tool))}
    )


def _is_recording_elsewhere(span: Any) -> bool:
    """Whether ``span`` is a recording span of another library."""
    return span is not None and not isinstance(span, ToolSpan) and span.is_recording()
