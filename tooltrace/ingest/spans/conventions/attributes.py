"""The attributes by which other instrumentations describe a tool call; used by Python, and by SQL in ClickHouse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tooltrace.otel import attributes as names

DEFERRED: Final = "pydantic_ai.tool.deferral.name"
"""Attribute of a call that waits for a person or is executed elsewhere."""
JSON_TYPE: Final = "application/json"
MCP_METHOD: Final = "tools/call"
AI_OPERATION: Final = "ai.operationId"
"""Attribute in which the Vercel AI SDK names what a span shows."""
AI_TOOL_CALL: Final = "ai.toolCall"
MERGED_TOOLS: Final = "(merged tools)"
"""Name of the tool in google-adk's span for the merged responses of parallel calls, which is not a call."""
NOT_SPECIFIED: Final = "<not specified>"
"""Text that google-adk writes for an id or a response that does not exist."""
TEMPLATE: Final = "logfire.msg_template"
"""Attribute with the unformatted message of a span of Logfire."""
LOGFIRE_TOOL: Final = "Function: {name}"
GENERIC_ERRORS: Final = ("*errors.errorString", "*errors.joinError", "*fmt.wrapError", "*fmt.wrapErrors", "error")
"""Exception types that name no class: Go's errors without a type of their own. ``error.type`` says more."""
NOT_RUN: Final = frozenset(("-32700", "-32600", "-32601", "-32602"))
"""Errors of JSON-RPC that an MCP server answers with before it runs a tool: it does not know the tool, or refuses the arguments."""
FETCH_FAILURES: Final = ("fetch failed", "Failed to fetch", "Load failed", "NetworkError when attempting to fetch")
"""Beginnings of the messages with which ``fetch`` raises a TypeError in Node and in browsers: a network error."""
OTHER_KINDS: Final = ("openinference.span.kind", "traceloop.span.kind", "langfuse.observation.type", "mcp.method.name")
"""Attributes that state a span's kind: a span with one of them is not a tool call merely because it names a tool."""

_OF_THE_CONVENTIONS: Final = {
    "tool_type": (names.TOOL_TYPE,),
    "tool_description": (names.TOOL_DESCRIPTION,),
    "call_id": (names.TOOL_CALL_ID,),
    "agent": (names.AGENT_NAME,),
    "model": ("gen_ai.request.model", "gen_ai.response.model"),
    "error_type": (names.ERROR_TYPE,),
}
READS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "traceloop": {
        **_OF_THE_CONVENTIONS,
        "tool": ("traceloop.entity.name", names.TOOL_NAME),
        "tool_version": ("traceloop.entity.version",),
        "conversation_id": (
            names.CONVERSATION_ID,
            "traceloop.association.properties.session_id",
            "traceloop.association.properties.thread_id",
        ),
        "agent": (names.AGENT_NAME, "traceloop.association.properties.lc_agent_name"),
        "arguments": ("traceloop.entity.input", names.TOOL_CALL_ARGUMENTS),
        "result": ("traceloop.entity.output", names.TOOL_CALL_RESULT),
    },
    "gen_ai": {
        **_OF_THE_CONVENTIONS,
        "tool": (names.TOOL_NAME,),
        "conversation_id": (names.CONVERSATION_ID, "session.id"),
        "arguments": (names.TOOL_CALL_ARGUMENTS, "gcp.vertex.agent.tool_call_args"),
        "result": (names.TOOL_CALL_RESULT, "gcp.vertex.agent.tool_response"),
    },
    "pydantic_ai": {
        "tool": (names.TOOL_NAME,),
        "call_id": (names.TOOL_CALL_ID,),
        "arguments": ("tool_arguments",),
        "result": ("tool_response",),
    },
    "mcp": {
        "tool": (names.TOOL_NAME, "mcp.tool.name"),
        "call_id": (names.TOOL_CALL_ID,),
        "conversation_id": (names.CONVERSATION_ID,),
        "arguments": (names.TOOL_CALL_ARGUMENTS,),
        "result": (names.TOOL_CALL_RESULT, "response"),
        "error_type": (names.ERROR_TYPE, "rpc.response.status_code"),
    },
    "openinference": {
        "tool": ("tool.name", "tool_call.function.name"),
        "tool_description": ("tool.description",),
        "call_id": ("tool_call.id", "tool.id"),
        "conversation_id": ("session.id",),
        "agent": ("agent.name",),
        "model": ("llm.model_name",),
        "arguments": ("input.value", "tool_call.function.arguments"),
        "result": ("output.value",),
    },
    "langfuse": {
        "tool_version": ("langfuse.version",),
        "conversation_id": ("session.id", "langfuse.session.id"),
        "model": ("langfuse.observation.model.name",),
        "arguments": ("langfuse.observation.input",),
        "result": ("langfuse.observation.output",),
        "error_message": ("langfuse.observation.status_message",),
    },
    "ai_sdk": {
        "tool": ("ai.toolCall.name",),
        "call_id": ("ai.toolCall.id",),
        "conversation_id": tuple(
            f"ai.telemetry.metadata.{name}" for name in ("sessionId", "conversationId", "threadId", "chatId")
        ),
        "agent": ("ai.telemetry.functionId",),
        "model": ("ai.model.id",),
        "arguments": ("ai.toolCall.args",),
        "result": ("ai.toolCall.result",),
    },
    "logfire": {
        "tool": ("name",),
        "arguments": ("input",),
        "result": ("output",),
        "error_message": ("error",),
    },
}
"""Map from convention and field to the attributes that hold the field; the first one present is used."""

LOGFIRE_KEYS: Final = frozenset(key for keys in READS["logfire"].values() for key in keys)
"""Attributes that a field covers in a span of Logfire only: in any other span such a name may mean anything."""
CONSUMED: Final = frozenset(
    key for reads in READS.values() for keys in reads.values() for key in keys
) - LOGFIRE_KEYS | {
    AI_OPERATION,
    *("input.mime_type", "output.mime_type", "request", "response", "logfire.json_schema", "tool.parameters"),
    *("tool.json_schema", "langfuse.observation.level", names.OPERATION_NAME),
}
"""Attributes that a field of the record covers, and related ones; all others are stored as the call's attributes."""
