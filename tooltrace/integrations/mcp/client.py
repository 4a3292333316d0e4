"""The client's side of a tool call: ``ClientSession.call_tool``, which every client of the SDK uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tooltrace.faults import report_fault
from tooltrace.integrations.framework_call import FrameworkCall, enclosing_call, same_name, spec_of
from tooltrace.integrations.mcp import protocol
from tooltrace.otel.sdk_internals import SPAN_KEY, current_context
from tooltrace.recording.attempt import Attempt


def traced_call_tool(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``ClientSession.call_tool`` with recording."""

    async def call_tool(self: Any, name: str, arguments: Any = None, *args: Any, **options: Any) -> Any:
        attributes: dict[str, Any] = {}
        try:
            attributes = protocol.server_attributes(self)
            call = _begin(name, arguments, attributes, resumed=options.get("input_responses") is not None)
        except Exception:
            report_fault("begin")
            call = None
        if call is None:
            return await original(self, name, arguments, *args, **options)
        with call.around(attributes, current=True):
            try:
                result = await original(self, name, arguments, *args, **options)
            except BaseException as error:
                call.raised(error)
                raise
        protocol.end(call, result)
        return result

    return call_tool


def _begin(name: str, arguments: Any, attributes: dict[str, Any], *, resumed: bool) -> FrameworkCall | None:
    """Return the call that the client makes; None if the current attempt is already that of the same tool."""
    call = enclosing_call(name, arguments)
    if call is not None:
        return call
    span = current_context().get(SPAN_KEY)
    if isinstance(span, Attempt) and span.is_recording() and same_name(span.spec.name, name):
        span.set_attributes(attributes)
        return None
    if resumed:
        attributes[protocol.RESUMED] = True
    return FrameworkCall(spec_of(name, tool_type=protocol.TOOL_TYPE), arguments, attributes=attributes)
