"""The client's side of a tool call: ``ClientSession.call_tool``, which every client of the SDK uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tooltrace.faults import report_fault
from tooltrace.integrations.framework_call import FrameworkCall, is_same_call
from tooltrace.integrations.mcp import protocol
from tooltrace.otel.sdk_internals import SPAN_KEY, current_context
from tooltrace.recording import context as contexts
from tooltrace.recording.attempt import Attempt


def traced_call_tool(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``ClientSession.call_tool`` with recording."""

    async def call_tool(self: Any, name: str, arguments: Any = None, *args: Any, **options: Any) -> Any:
        try:
            resumed = options.get("input_responses") is not None
            call = _begin(name, arguments, protocol.server_attributes(self), resumed=resumed)
        except Exception:
            report_fault("begin")
            call = None
        if call is None:
            return await original(self, name, arguments, *args, **options)
        with call.active():
            try:
                result = await original(self, name, arguments, *args, **options)
            except BaseException as error:
                call.raised(error)
                raise
        protocol.end(call, result)
        return result

    return call_tool


def _begin(name: str, arguments: Any, attributes: dict[str, Any], *, resumed: bool) -> FrameworkCall | None:
    """Return the call that the client makes; None if another attempt of the same call is current."""
    span, outer = current_context().get(SPAN_KEY), contexts.current.get().call
    # The decorator of a function that forwards to this client has begun the attempt already; an integration around it
    # is found by FrameworkCall.
    if (
        isinstance(span, Attempt)
        and (outer is None or outer.open_attempt is not span)
        and is_same_call(span, name, arguments)
    ):
        span.set_attributes(attributes)
        return None
    if resumed:
        attributes[protocol.RESUMED] = True
    return FrameworkCall(protocol.spec_of(name), arguments, style=protocol.STYLE, attributes=attributes)
