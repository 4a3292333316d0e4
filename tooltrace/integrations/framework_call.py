"""One tool call that a framework makes, recorded once.

Several observers may know of the same call: the integration of an agent framework, that of the MCP client which the
framework uses, that of a server in the same process, and the decorator of the tool itself. The first of them begins
the attempt. Those inside it recognise the call by its name and its arguments, and continue that attempt: they add
attributes, and the innermost ends it, because it has the tool's own result or exception.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import Token
from functools import lru_cache
from typing import Any

from opentelemetry.context.context import Context

from tooltrace.faults import report_fault, suppress_faults
from tooltrace.otel.sdk_internals import SPAN_KEY, attach, current_context, detach
from tooltrace.otel.tool_span import ToolSpan
from tooltrace.recording import context as contexts
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.config import get_recorder
from tooltrace.recording.context import CallContext, CallId
from tooltrace.recording.tool_spec import ToolSpec, named_spec

JOINTS = tuple("_./:-")
"""Characters that may separate the name of a server or a toolset from that of its tool."""


@lru_cache(maxsize=1024)
def spec_of(tool: str, description: str | None = None, tool_type: str = "function") -> ToolSpec:
    """Return the spec of a tool that the framework describes."""
    return named_spec(tool, description=" ".join((description or "").split()) or None, tool_type=tool_type)


class FrameworkCall(CallId):
    """A call that a framework makes of the tool ``spec``, from its beginning.

    ``call_id`` is the model's id, ``conversation_id`` and ``agent`` the framework's names; None means: inherited.
    ``attributes`` are recorded with the call. Faults of the recorder are reported, and never raised.
    """

    __slots__ = ("_adopted", "_attempt", "_context", "_ended", "arguments", "recorder", "tool")

    def __init__(
        self,
        spec: ToolSpec,
        arguments: Mapping[str, Any] | None,
        *,
        call_id: str | None = None,
        conversation_id: str | None = None,
        agent: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(call_id)
        self.tool = spec.name
        self.arguments = arguments or {}
        self.recorder = get_recorder()
        self._adopted = self._ended = False
        outer = contexts.current.get()
        around = CallContext(
            call=outer.call,
            conversation_id=conversation_id or outer.conversation_id,
            agent=agent or outer.agent,
            attributes={**(outer.attributes or {}), **(attributes or {})} or None,
        )
        token = contexts.current.set(around)
        try:
            self._attempt = self.recorder.begin(spec, dict(self.arguments), call_id=call_id)
        except Exception:
            self._attempt = None
            report_fault("begin")
        finally:
            contexts.current.reset(token)
        self._context = around._replace(call=self)
        if self._attempt is not None:
            self.value = self._attempt.call_id
            self._attempt.call_context = self._attempt.call_context._replace(call=self)

    def offer(self, spec: ToolSpec) -> tuple[Attempt | None, str | None]:
        """Return the attempt for the decorator of the same tool, once; other tools are calls of their own."""
        if not same_name(self.tool, spec.name):
            return None, None
        if (
            self._adopted
            or self._ended
            or self._attempt is None
            or self._attempt.settings is not get_recorder().settings
        ):
            return None, self.value
        self._adopted = True
        return self._attempt, self.value

    def is_same(self, tool: str, arguments: Mapping[str, Any] | None) -> bool:
        """Whether a call of ``tool`` with ``arguments`` that begins inside this call is this call."""
        if self._ended or not same_name(self.tool, tool):
            return False
        try:
            return arguments is self.arguments or (arguments or {}) == self.arguments
        except Exception:  # an argument of the framework's own class, which cannot be compared
            return False

    @property
    def span_id(self) -> str | None:
        """Span id of the attempt, in hex; None if it is not recorded."""
        return None if self._attempt is None else self._attempt.hex_id

    @contextmanager
    def around(self, attributes: Mapping[str, Any] | None = None, *, current: bool | None = None) -> Iterator[None]:
        """Assign what happens inside the block to this call.

        ``attributes`` are recorded with the call. ``current``: whether the attempt's span becomes the current span;
        default: only where no span of another library is recording, so that the framework finds its own spans.
        """
        tokens = self.enter(attributes, current=current)
        try:
            yield
        finally:
            self.exit(tokens)

    def enter(
        self, attributes: Mapping[str, Any] | None = None, *, current: bool | None = None
    ) -> tuple[Token[CallContext], Token[Context] | None]:
        """Begin the block of :meth:`around`; pass the result to :meth:`exit`."""
        inside = self._context
        if attributes:
            inside = inside._replace(attributes={**(inside.attributes or {}), **attributes})
            self.set_attributes(attributes)
        token, span = contexts.current.set(inside), None
        with suppress_faults("begin"):
            otel = current_context()
            if self._attempt is not None and (_is_free(otel) if current is None else current):
                inner = Context(otel)
                dict.__setitem__(inner, SPAN_KEY, self._attempt)
                span = attach(inner)
        return token, span

    def exit(self, tokens: tuple[Token[CallContext], Token[Context] | None]) -> None:
        """End the block of :meth:`around`."""
        if tokens[1] is not None:
            detach(tokens[1])
        try:
            contexts.current.reset(tokens[0])
        except ValueError:  # the framework ends the call in another task
            return

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Record ``attributes`` with the call, as long as it runs."""
        if self._attempt is not None:
            self._attempt.set_attributes(attributes)

    def returned(self, result: Any, *, duration_ns: int | None = None) -> None:
        """Record that the call returned ``result``, unless it has ended."""
        attempt = self._end()
        if attempt is not None:
            self.recorder.returned(attempt, result, duration_ns=duration_ns)

    def raised(self, error: BaseException, *, duration_ns: int | None = None) -> None:
        """Record that the call raised ``error``, unless it has ended."""
        attempt = self._end()
        if attempt is not None:
            self.recorder.raised(attempt, error, duration_ns=duration_ns)

    def finish(self, ending: str) -> None:
        """Record that the call ended without an execution of the tool (``paused``, ``declined``, ``expired``)."""
        attempt = self._end()
        if attempt is not None:
            self.recorder.finish_without_run(attempt, ending)

    def seen(self, text: str, *, style: str, error: bool | None = None) -> None:
        """Record ``text`` as the message that the model received for the call."""
        if self.span_id is not None:
            self.recorder.record_model_message(
                self.value or self.span_id, text, style=style, error=error, span_id=self.span_id
            )

    def _end(self) -> Attempt | None:
        """Return the attempt if this object has to end it; None if it has ended, or the tool's decorator ends it."""
        attempt, ended = self._attempt, self._ended
        self._ended = True
        return None if ended or self._adopted else attempt


def enclosing_call(tool: str, arguments: Mapping[str, Any] | None) -> FrameworkCall | None:
    """Return the call that the call of ``tool`` with ``arguments`` is part of; None if it is a call of its own."""
    call = contexts.current.get().call
    return call if isinstance(call, FrameworkCall) and call.is_same(tool, arguments) else None


def same_name(outer: str, inner: str) -> bool:
    """Whether both names mean one tool; the outer may have the name of a server or a toolset in front."""
    return outer == inner or (outer.endswith(inner) and outer[: -len(inner)].endswith(JOINTS))


def _is_free(otel: Context) -> bool:
    """Whether no span of another library is recording in ``otel``."""
    span: Any = otel.get(SPAN_KEY)
    return span is None or isinstance(span, ToolSpan) or not span.is_recording()
