"""One call of a tool that a framework makes, from its begin to what the model reads about it.

An integration begins a ``FrameworkCall`` where the framework begins to work on the call, and ends it with the result,
the exception, or an ending without an execution. If the tool is decorated with ``trace_tool``, the decorator continues
the same attempt, so that the call is one row with the decorator's settings.

No method raises, except what a signal raised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Token
from functools import lru_cache
from time import perf_counter_ns
from typing import Any

import orjson
from opentelemetry.context.context import Context

from tooltrace.core.response import ToolResponse
from tooltrace.faults import suppress_faults
from tooltrace.normalize import normalize
from tooltrace.otel.sdk_internals import detach
from tooltrace.recording import context as contexts
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.config import get_recorder
from tooltrace.recording.context import CallContext, CallId
from tooltrace.recording.recorder import UNKNOWN, activate
from tooltrace.recording.tool_spec import ToolSpec, named_spec


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
    """The attempt of one call, begun when the object is created.

    ``spec``: see ``spec_for``. ``arguments``: those of the model, parsed or as JSON. ``call_id``: the model's id.
    ``agent`` and ``conversation`` default to those of the enclosing ``context``. ``style``: name of the framework,
    recorded with the message that the model reads. ``aliases``: further names that a decorated function of the same tool
    may have. ``attributes`` are recorded with the call.
    """

    attempt: Attempt | None = None
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
        aliases: Iterable[str] = (),
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        self.style = style
        with suppress_faults("begin", lost=1):
            self._recorder = get_recorder()
            outer = contexts.current.get()
            wanted = text_or_none(call_id)
            inherited = outer.call is not None and (
                outer.call.begun is None if wanted is None else wanted == outer.call.value
            )
            around = CallContext(
                call=outer.call if inherited else CallId(wanted),
                conversation_id=text_or_none(conversation) or outer.conversation_id,
                agent=text_or_none(agent) or outer.agent,
                attributes={**(outer.attributes or {}), **(attributes or {})} or None,
            )
            token = contexts.current.set(around)
            try:
                self.attempt = self._recorder.begin(spec, parse_arguments(arguments))
            finally:
                contexts.current.reset(token)
            if self.attempt is not None:
                open_call = CallId(self.attempt.call_id, self.attempt, frozenset({spec.name, *aliases}))
                self.attempt.call_context = self.attempt.call_context._replace(call=open_call)  # it may have baggage

    @classmethod
    def unrecorded(cls, style: str) -> FrameworkCall:
        """Return a call that records nothing, in place of one that could not be begun."""
        call = cls.__new__(cls)
        call.style = style
        return call

    @property
    def ended(self) -> bool:
        """Whether the attempt has ended, or was never begun."""
        return self.attempt is None or not self.attempt.is_recording()

    def restart(self) -> None:
        """Measure the duration from now: what came before was not the tool's."""
        if self.attempt is not None:
            self.attempt.started = perf_counter_ns()

    def enter(self) -> None:
        """Make the call current, until it ends: calls and spans of this context are its children."""
        if self.attempt is not None and self._tokens is None:
            with suppress_faults("begin"):
                self._tokens = contexts.current.set(self.attempt.call_context), activate(self.attempt)

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
    def active(self) -> Iterator[None]:
        """Make the call current inside the block."""
        self.enter()
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

    def raised(self, error: BaseException, *, ran: bool = True) -> None:
        """End with the exception that left the tool, or that kept it from running."""
        self.leave()
        if self.attempt is not None and not self.ended:
            if not ran:
                self._mark_not_run(self.attempt)
            self._recorder.raised(self.attempt, error, duration_ns=None if ran else UNKNOWN)

    def rejected(self, code: str, message: str) -> None:
        """End as a failure before the tool ran: an unknown tool, arguments that do not fit, a guardrail."""
        self.failed(code, message, ran=False)

    def failed(self, code: str, message: str, *, ran: bool = True) -> None:
        """End as a failure that the framework reports with ``message``."""
        with suppress_faults("record"):
            self.returned(ToolResponse.error(code, message or code), ran=ran)

    def cached(self, result: Any) -> None:
        """End with a result that the framework had stored."""
        with suppress_faults("record"):
            response = normalize(result)
            self.returned(
                response.model_copy(update={"meta": response.meta.model_copy(update={"cached": True})}), ran=False
            )

    def finish(self, ending: str) -> None:
        """End without an execution: ``paused``, ``declined``, ``expired`` or ``abandoned``."""
        self.leave()
        if self.attempt is not None and not self.ended:
            self._recorder.finish_without_run(self.attempt, ending)

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

    def _mark_not_run(self, attempt: Attempt) -> None:
        attempt.set_attribute(f"{self.style}.ran", value=False)


def text_or_none(value: Any) -> str | None:
    """Return an id or a name as text; None where there is none."""
    return None if value is None or value == "" else str(value)
