"""A tool call that several observers know of, recorded once.

They are the integration of an agent framework, that of the MCP client which the framework uses, that of a server in the
same process, and the decorator of the tool itself. The first of them begins the attempt. Those inside it recognise the
call by its name and its arguments, and continue the attempt: they add attributes, and the innermost ends it, because it
has the tool's own result or exception.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from opentelemetry.context.context import Context

from tooltrace.faults import suppress_faults
from tooltrace.integrations.framework_call import FrameworkCall
from tooltrace.otel.sdk_internals import SPAN_KEY, attach, current_context
from tooltrace.otel.tool_span import ToolSpan
from tooltrace.recording import context as contexts
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.config import get_recorder
from tooltrace.recording.context import CallId
from tooltrace.recording.recorder import span_context
from tooltrace.recording.tool_spec import ToolSpec
from tooltrace.redact.snapshot import snapshot

_JOINTS = re.compile(r"[_./:\-]+")
"""Characters that may separate the name of a server or a toolset from that of its tool."""

ended_outside: ContextVar[bool] = ContextVar("tooltrace_ended_outside", default=False)
"""Whether the integration around a server in this process ends the call itself, and knows the tool's exception."""


class SharedCall(FrameworkCall):
    """A call that is begun here, or that an observer around this one has begun."""

    def __init__(
        self,
        spec: ToolSpec,
        arguments: Mapping[str, Any] | None,
        *,
        style: str,
        call_id: Any = None,
        agent: Any = None,
        conversation: Any = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        with suppress_faults("begin", lost=1):
            outer: CallId | None = contexts.current.get().call
            if outer is not None and outer.begun is not None and is_same_call(outer.begun, spec.name, arguments):
                self.style, self._recorder, self.attempt = style, get_recorder(), outer.begun
                outer.names |= {spec.name}
                outer.begun.set_attributes(dict(attributes or {}))
                return
        super().__init__(
            spec,
            dict(arguments or {}),
            style=style,
            call_id=call_id,
            agent=agent,
            conversation=conversation,
            attributes=attributes,
        )

    def enter(self, *, current: bool | None = None) -> None:
        """Assign what happens from now on in this context to the call, until :meth:`leave`.

        ``current``: whether the attempt's span becomes the current span; default: only where no span of another library
        is recording, so that the framework finds its own spans.
        """
        if self.attempt is None or self._tokens is not None:
            return
        with suppress_faults("begin"):
            outer, inner = current_context(), span_context(self.attempt)
            if not (_is_free(outer) if current is None else current):
                dict.__setitem__(inner, SPAN_KEY, outer[SPAN_KEY])
            self._tokens = contexts.current.set(self.attempt.call_context), attach(inner)

    @contextmanager
    def around(self, *, current: bool | None = None) -> Iterator[None]:
        """Assign what happens inside the block to the call. ``current``: as in :meth:`enter`."""
        self.enter(current=current)
        try:
            yield
        finally:
            self.leave()


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
