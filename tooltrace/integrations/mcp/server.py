"""The server's side of a tool call: the request as the server handles it, and the exception that its tool raised."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any

from opentelemetry import propagate

from tooltrace.core.codes import BLOCKED
from tooltrace.faults import report_fault, suppress_faults
from tooltrace.integrations.framework_call import FrameworkCall, ended_outside
from tooltrace.integrations.mcp import protocol
from tooltrace.otel.sdk_internals import current_context
from tooltrace.recording import context as contexts
from tooltrace.recording.context import CallContext

Handler = Callable[[Any], Awaitable[Any]]


async def record_request(context: Any, call_next: Handler, *, server: Any = None) -> Any:
    """Record the request in ``context`` if it calls a tool; a middleware for ``Server.middleware``.

    ``context`` is the SDK's ``ServerRequestContext``; ``server`` is the server that handles it.
    """
    call = _begin(context, server)
    if call is None:
        return await call_next(context)
    with call.active(below_other_spans=True):
        try:
            result = await call_next(context)
        except BaseException as error:
            call.raised(error)
            if isinstance(error, Exception):
                call.model_reads(error)
            raise
    protocol.end(call, result)
    with suppress_faults("record"):
        text = protocol.text_of(result)
        if text is not None:
            call.model_reads(text)
    return result


def traced_chain(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``ServerRunner._compose_server_middleware`` with recording around the handler, inside all middleware."""

    def compose(self: Any, inner: Handler) -> Any:
        async def handle(context: Any) -> Any:
            return await record_request(context, inner, server=self.server)

        return original(self, handle)

    return compose


def traced_call_tool(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``MCPServer.call_tool`` with recording: the handler around it turns exceptions into text."""

    async def call_tool(self: Any, name: str, arguments: Any, context: Any = None) -> Any:
        return await record_tool(name, arguments, lambda: original(self, name, arguments, context), server=self)

    return call_tool


class ToolStage:
    """Whether a call has come through the server's middleware to its tool."""

    reached = False


stage: ContextVar[ToolStage | None] = ContextVar("tooltrace_mcp_stage", default=None)
"""The stage of the call that a server with middleware of its own is handling."""


async def record_tool(
    name: str, arguments: Any, run: Callable[[], Awaitable[Any]], *, server: Any, through: ToolStage | None = None
) -> Any:
    """Record the call of a tool by its server's own method, which raises the tool's exception.

    ``through``: where the server has middleware of its own, which may refuse the call.
    """
    if ended_outside.get():
        return await run()
    try:
        attributes = {"mcp.server.name": server.name}
        call = FrameworkCall(protocol.spec_of(name), arguments, style=protocol.STYLE, attributes=attributes)
    except Exception:
        report_fault("begin")
        return await run()
    with call.active(below_other_spans=True):
        try:
            result = await run()
        except BaseException as error:
            code, exception = _refusal_code(error), _tool_exception(error)
            if code is None and through is not None and not through.reached and isinstance(error, Exception):
                code = BLOCKED
            if code is None:
                call.raised(exception)
            else:
                call.refused(code, str(exception), error=exception)
            raise
    protocol.end(call, result)
    return result


def _begin(request: Any, server: Any) -> FrameworkCall | None:
    """Return the call that ``request`` makes; None for other requests."""
    try:
        params = request.params
        name = params.get("name") if request.method == protocol.METHOD and isinstance(params, Mapping) else None
        if request.request_id is None or not isinstance(name, str) or ended_outside.get():
            return None
        attributes = protocol.client_attributes(request, server)
        if params.get("inputResponses") is not None:
            attributes[protocol.RESUMED] = True
        arguments = params.get("arguments")
        known = _with_baggage(request.meta)
        return FrameworkCall(
            protocol.spec_of(name),
            arguments if isinstance(arguments, Mapping) else {},
            style=protocol.STYLE,
            conversation=known.conversation_id or protocol.session_of(request),
            agent=known.agent or attributes.get("mcp.client.name"),
            attributes=attributes,
        )
    except Exception:
        report_fault("begin")
        return None


def _with_baggage(meta: Any) -> CallContext:
    """Return the context of the call, with what the baggage in the request's ``meta`` adds.

    The SDK uses ``meta`` for the parent of its span only.
    """
    otel = current_context()
    if isinstance(meta, Mapping) and "baggage" in meta:
        otel = propagate.extract(meta, otel)
    return contexts.call_context(otel)


def _refusal_code(error: BaseException) -> str | None:
    """Return the code of a call that the server did not run; None if the tool raised ``error``.

    A tool's own exception is the cause of the one that the server raises.
    """
    name, library = type(error).__name__, type(error).__module__.partition(".")[0]
    invalid = type(error.__cause__).__name__ == "ValidationError"
    if library == "fastmcp":
        return {"NotFoundError": "NOT_FOUND", "ValidationError": "INVALID_PARAM" if invalid else None}.get(name)
    if library == "mcp" and name == "ToolError":
        return "INVALID_PARAM" if invalid else "NOT_FOUND" if error.__cause__ is None else None
    return None


def _tool_exception(error: BaseException) -> BaseException:
    """Return the exception that the tool raised, from inside the one that the server makes of it."""
    cause = error.__cause__
    return cause if cause is not None and type(error).__name__ in ("ToolError", "UnexpectedToolError") else error
