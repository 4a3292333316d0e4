"""One tool call that several observers know of, recorded once.

They are the integration of an agent framework, that of the MCP client which the framework uses, that of a server in the
same process, and the decorator of the tool itself. The first of them begins the attempt. Those inside it recognise the
call by its name and its arguments, and continue the attempt: they add attributes, and the innermost ends it, because it
has the tool's own result or exception.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import Token
from functools import lru_cache
from typing import Any

from opentelemetry.context.context import Context

from tooltrace.faults import suppress_faults
from tooltrace.otel.sdk_internals import SPAN_KEY, attach, current_context, detach
from tooltrace.otel.tool_span import ToolSpan
from tooltrace.recording import context as contexts
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.config import get_recorder
from tooltrace.recording.context import CallContext, CallId
from tooltrace.recording.recorder import Recorder, span_context
from tooltrace.recording.tool_spec import ToolSpec, named_spec
from tooltrace.redact.snapshot import snapshot

Tokens = tuple[Token[CallContext], Token[Context] | None]

_JOINTS = re.compile(r"[_./:\-]+")
"""Characters that may separate the name of a server or a toolset from that of its tool."""


@lru_cache(maxsize=1024)
def spec_of(tool: str, description: str | None = None, tool_type: str = "function") -> ToolSpec:
    """Return the spec of a tool that the framework describes."""
    return named_spec(tool, description=" ".join((description or "").split()) or None, tool_type=tool_type)


class SharedCall:
    """A call of the tool ``spec``, begun here or by an observer around this one.

    ``call_id`` is the model's id, ``conversation_id`` and ``agent`` the framework's names; None means: inherited.
    ``attributes`` are recorded with the call. Faults of the recorder are reported, and never raised.
    """

    __slots__ = ("_attempt", "_call", "_context", "_recorder")

    _attempt: Attempt | None
    _recorder: Recorder

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
        self._recorder, self._attempt = get_recorder(), None
        self._context = outer = contexts.current.get()
        self._call = CallId(call_id)
        given = dict(arguments or {})
        with suppress_faults("begin", lost=1):
            known = outer.call
            if known is not None and known.begun is not None and is_same_call(known.begun, spec.name, given):
                self._call, self._attempt = known, known.begun
                known.names |= {spec.name}
                known.begun.set_attributes(dict(attributes or {}))
                return
            around = CallContext(
                call=outer.call if call_id is None else self._call,
                conversation_id=conversation_id or outer.conversation_id,
                agent=agent or outer.agent,
                attributes={**(outer.attributes or {}), **(attributes or {})} or None,
            )
            token = contexts.current.set(around)
            try:
                attempt = self._recorder.begin(spec, given, call_id=call_id)
            finally:
                contexts.current.reset(token)
            if attempt is not None:
                self._call = CallId(attempt.call_id, attempt, frozenset({spec.name}))
                self._attempt, self._context = attempt, attempt.call_context._replace(call=self._call)
                attempt.call_context = self._context

    @property
    def span_id(self) -> str | None:
        """Span id of the attempt, in hex; None if it is not recorded."""
        return None if self._attempt is None else self._attempt.hex_id

    @contextmanager
    def around(self, *, current: bool | None = None) -> Iterator[None]:
        """Assign what happens inside the block to this call.

        ``current``: whether the attempt's span becomes the current span; default: only where no span of another library
        is recording, so that the framework finds its own spans.
        """
        tokens = self.enter(current=current)
        try:
            yield
        finally:
            self.leave(tokens)

    def enter(self, *, current: bool | None = None) -> Tokens:
        """Begin the block of :meth:`around`; pass the result to :meth:`leave`."""
        token, span = contexts.current.set(self._context), None
        with suppress_faults("begin"):
            if self._attempt is not None:
                outer = current_context()
                inner = span_context(self._attempt)
                if not (_is_free(outer) if current is None else current):
                    dict.__setitem__(inner, SPAN_KEY, outer[SPAN_KEY])
                span = attach(inner)
        return token, span

    def leave(self, tokens: Tokens) -> None:
        """End the block of :meth:`around`."""
        if tokens[1] is not None:
            detach(tokens[1])
        try:
            contexts.current.reset(tokens[0])
        except ValueError:  # the framework ends the call in another task
            return

    def returned(self, result: Any, *, duration_ns: int | None = None) -> None:
        """Record that the call returned ``result``, unless it has ended. ``duration_ns``: as in ``Recorder.returned``."""
        attempt = self._running()
        if attempt is not None:
            self._recorder.returned(attempt, result, duration_ns=duration_ns)

    def raised(self, error: BaseException) -> None:
        """Record that the call raised ``error``, unless it has ended."""
        attempt = self._running()
        if attempt is not None:
            self._recorder.raised(attempt, error)

    def finish(self, ending: str) -> None:
        """Record that the call ended without a result (``paused``, ``declined``, ``abandoned``), unless it has ended."""
        attempt = self._running()
        if attempt is not None:
            self._recorder.finish_without_run(attempt, ending)

    def seen(self, text: str, *, style: str, error: bool | None = None) -> None:
        """Record ``text`` as the message that the model received for the call."""
        if self.span_id is not None:
            call_id = self._call.value or self.span_id
            self._recorder.record_model_message(call_id, text, style=style, error=error, span_id=self.span_id)

    def _running(self) -> Attempt | None:
        """Return the attempt if it runs, and the tool's decorator does not end it."""
        attempt = self._attempt
        return attempt if attempt is not None and self._call.begun is attempt and attempt.is_recording() else None


def is_same_call(attempt: Attempt, tool: str, arguments: Mapping[str, Any] | None) -> bool:
    """Whether a call of ``tool`` with ``arguments`` that begins inside ``attempt`` is the call of the attempt."""
    if not attempt.is_recording() or tool not in _names(attempt.spec.name):
        return False
    return (
        attempt.arguments is None or snapshot(dict(arguments or {}), attempt.settings.field_limit) == attempt.arguments
    )


@lru_cache(maxsize=1024)
def _names(tool: str) -> frozenset[str]:
    """Return the name of ``tool``, and its ends that may be the tool's own name, without a prefix."""
    return frozenset({tool, *(tool[joint.end() :] for joint in _JOINTS.finditer(tool, 1) if joint.end() < len(tool))})


def _is_free(otel: Context) -> bool:
    """Whether no span of another library is recording in ``otel``."""
    span: Any = otel.get(SPAN_KEY)
    return span is None or isinstance(span, ToolSpan) or not span.is_recording()
