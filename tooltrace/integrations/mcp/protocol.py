"""Names and values of the protocol that both sides of a call use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tooltrace.faults import suppress_faults
from tooltrace.integrations.framework_call import FrameworkCall
from tooltrace.recording.tool_spec import ToolSpec, named_spec
from tooltrace.redact.plain_data import json_of

METHOD = "tools/call"
STYLE = "mcp"
RESUMED = "mcp.resumed"
"""Attribute: true if the request brings the client's answers to an earlier, paused request."""
_INPUT_REQUIRED = "input_required"
_MEMBERS = (("content",), ("structured_content", "structuredContent"), ("is_error", "isError"))
"""Names of the members of a result, in the SDK's classes and in the wire form."""


@lru_cache(maxsize=1024)
def spec_of(tool: str) -> ToolSpec:
    """Return the spec of a server's tool; the conventions call it an extension."""
    return named_spec(tool, tool_type="extension")


def server_attributes(session: Any) -> dict[str, Any]:
    """Return what a client's ``session`` knows about its server, by the names of OpenTelemetry's conventions."""
    info = session.server_info
    return _known(
        {
            "mcp.method.name": METHOD,
            "mcp.protocol.version": session.protocol_version,
            "mcp.server.name": getattr(info, "name", None),
            "mcp.server.version": getattr(info, "version", None),
        }
    )


def client_attributes(request: Any, server: Any) -> dict[str, Any]:
    """Return what the context of a ``request`` tells the ``server`` about the call and its client."""
    params = request.session.client_params
    info = getattr(params, "client_info", None)
    return _known(
        {
            "mcp.method.name": METHOD,
            "mcp.protocol.version": request.protocol_version,
            "jsonrpc.request.id": None if request.request_id is None else str(request.request_id),
            "mcp.session.id": session_of(request),
            "mcp.client.name": getattr(info, "name", None),
            "mcp.client.version": getattr(info, "version", None),
            "mcp.server.name": getattr(server, "name", None),
        }
    )


def session_of(request: Any) -> str | None:
    """Return the id of the transport's session; None where there is none (stdio, a stateless server)."""
    connection = getattr(request.session, "_connection", None)
    session = getattr(connection, "session_id", None)
    return None if session is None else str(session)


def end(call: FrameworkCall, result: Any) -> None:
    """Record that ``result`` is the outcome of ``call``; one that requests input from the client is a pause."""
    with suppress_faults("record", lost=1):
        if is_pause(result):
            call.finish("paused", waits_for="input")
        else:
            call.returned(_unwrapped(result))


def _unwrapped(result: Any) -> Any:
    """Return the value that the tool returned, where the server had to wrap it into an object for the protocol."""
    content, structured, failed = (_member(result, *names) for names in _MEMBERS)
    if failed or not isinstance(structured, Mapping) or list(structured) != ["result"]:
        return result
    value, blocks = structured["result"], content if isinstance(content, list) else []
    texts = [_member(block, "text") for block in blocks]
    # Only if the text block repeats the value; otherwise the tool itself returned an object with this one member.
    return value if texts in ([value], [_json(value)]) else result


def _member(value: Any, *names: str) -> Any:
    """Return the first of the members ``names`` that ``value`` has, as a mapping or as an object."""
    if isinstance(value, Mapping):
        return next((value[name] for name in names if name in value), None)
    return next((getattr(value, name) for name in names if hasattr(value, name)), None)


def _json(value: Any) -> str | None:
    """Return ``value`` as a server writes it into a text block; None if it is not plain data."""
    try:
        return json_of(value).decode()
    except (TypeError, ValueError, RecursionError):
        return None


def is_pause(result: Any) -> bool:
    """Whether ``result`` requests input from the client instead of answering the call."""
    if isinstance(result, Mapping):
        return result.get("resultType") == _INPUT_REQUIRED
    requested = getattr(result, "input_required", result)  # FastMCP wraps the request into a result of its own
    return getattr(requested, "result_type", None) == _INPUT_REQUIRED


def text_of(result: Any) -> str | None:
    """Return the text blocks of a result in its wire form, one per line; None if it has no content."""
    content = result.get("content") if isinstance(result, Mapping) else None
    if not isinstance(content, list):
        return None
    return "\n".join(block["text"] for block in content if isinstance(block, Mapping) and block.get("type") == "text")


def _known(attributes: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in attributes.items() if value is not None}
