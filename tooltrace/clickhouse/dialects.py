"""The ways in which other instrumentations write a tool call into a span, as far as SQL can tell them.

What is read here is what :mod:`tooltrace.foreign.dialects` reads; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tooltrace.clickhouse.readers import Reader, literal
from tooltrace.otel import attributes as names

SPAN: Final = "SpanAttributes"
SPAN_NAME: Final = "toString(SpanName)"
DEFERRED: Final = "pydantic_ai.tool.deferral.name"
"""The call waits for a person, or is executed elsewhere."""
JSON_TYPE: Final = "application/json"
_METHOD: Final = "tools/call"
_KINDS: Final = ("openinference.span.kind", "traceloop.span.kind", "langfuse.observation.type", "mcp.method.name")
"""Where one of these says what a span is, a tool's name alone does not."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to write a tool call into a span's attributes."""

    name: str
    knows: Callable[[Reader], str]
    """The condition that a span is a tool call."""
    reads: Mapping[str, tuple[str, ...]]
    """Field to the attributes that say it, the first that is there counts."""
    tool: str = "NULL"
    """The tool's name, of the span's, where no attribute says it."""

    @property
    def known(self) -> str:
        """The name of its condition among those of :func:`conditions`."""
        return f"is_{self.name}"


def _gen_ai(reader: Reader) -> str:
    other = " OR ".join(reader.has(SPAN, key) for key in _KINDS)
    alone = f"{reader.has(SPAN, names.TOOL_NAME)} AND NOT ({other})"
    operation = is_(reader, names.OPERATION_NAME, names.EXECUTE_TOOL)
    return f"if({reader.has(SPAN, names.OPERATION_NAME)}, {operation}, {alone})"


def _pydantic_ai(reader: Reader) -> str:
    own = f"{reader.has(SPAN, 'tool_arguments')} OR {reader.has(SPAN, 'tool_response')}"
    named = reader.has(SPAN, names.TOOL_NAME)
    return f"if({own}, {named}, {reader.has(SPAN, DEFERRED)} OR (SpanName = 'running tool' AND {named}))"


def _mcp(reader: Reader) -> str:
    return f"{is_(reader, 'mcp.method.name', _METHOD)} OR {is_(reader, 'rpc.method', _METHOD)}"


def _openinference(reader: Reader) -> str:
    return f"ifNull(upper({reader.text(SPAN, 'openinference.span.kind')}) = 'TOOL', false)"


def is_(reader: Reader, key: str, value: str) -> str:
    """Whether the attribute ``key`` has the ``value``."""
    return f"ifNull({reader.text(SPAN, key)} = {literal(value)}, false)"


_OF_THE_CONVENTIONS: Final = {
    "tool_type": (names.TOOL_TYPE,),
    "tool_description": (names.TOOL_DESCRIPTION,),
    "call_id": (names.TOOL_CALL_ID,),
    "agent": (names.AGENT_NAME,),
    "error_type": (names.ERROR_TYPE,),
}
DIALECTS: Final = (
    Dialect(
        "traceloop",
        lambda reader: is_(reader, "traceloop.span.kind", "tool"),
        {
            **_OF_THE_CONVENTIONS,
            "tool": ("traceloop.entity.name", names.TOOL_NAME),
            "tool_version": ("traceloop.entity.version",),
            "conversation_id": (names.CONVERSATION_ID, "traceloop.association.properties.session_id"),
            "arguments": ("traceloop.entity.input", names.TOOL_CALL_ARGUMENTS),
            "result": ("traceloop.entity.output", names.TOOL_CALL_RESULT),
        },
        f"replaceRegexpOne({SPAN_NAME}, '\\\\.tool$', '')",
    ),
    Dialect(
        "gen_ai",
        _gen_ai,
        {
            **_OF_THE_CONVENTIONS,
            "tool": (names.TOOL_NAME,),
            "conversation_id": (names.CONVERSATION_ID,),
            "arguments": (names.TOOL_CALL_ARGUMENTS,),
            "result": (names.TOOL_CALL_RESULT,),
        },
        f"if(startsWith({SPAN_NAME}, 'execute_tool '), substring({SPAN_NAME}, 14), NULL)",
    ),
    Dialect(
        "pydantic_ai",
        _pydantic_ai,
        {
            "tool": (names.TOOL_NAME,),
            "call_id": (names.TOOL_CALL_ID,),
            "arguments": ("tool_arguments",),
            "result": ("tool_response",),
        },
    ),
    Dialect(
        "mcp",
        _mcp,
        {
            "tool": (names.TOOL_NAME, "mcp.tool.name"),
            "call_id": (names.TOOL_CALL_ID,),
            "conversation_id": (names.CONVERSATION_ID,),
            "arguments": (names.TOOL_CALL_ARGUMENTS,),
            "result": (names.TOOL_CALL_RESULT, "response"),
            "error_type": (names.ERROR_TYPE, "rpc.response.status_code"),
        },
        f"if(position({SPAN_NAME}, '{_METHOD} ') > 0, substring({SPAN_NAME}, position({SPAN_NAME}, '{_METHOD} ') + 11), NULL)",
    ),
    Dialect(
        "openinference",
        _openinference,
        {
            "tool": ("tool.name", "tool_call.function.name"),
            "tool_description": ("tool.description",),
            "call_id": ("tool_call.id", "tool.id"),
            "conversation_id": ("session.id",),
            "agent": ("agent.name",),
            "arguments": ("input.value", "tool_call.function.arguments"),
            "result": ("output.value",),
        },
        SPAN_NAME,
    ),
    Dialect(
        "langfuse",
        lambda reader: is_(reader, "langfuse.observation.type", "tool"),
        {
            "tool_version": ("langfuse.version",),
            "conversation_id": ("session.id", "langfuse.session.id"),
            "arguments": ("langfuse.observation.input",),
            "result": ("langfuse.observation.output",),
            "error_message": ("langfuse.observation.status_message",),
        },
        SPAN_NAME,
    ),
)
"""The first that says a thing counts."""

CONSUMED: Final = frozenset(key for dialect in DIALECTS for keys in dialect.reads.values() for key in keys) | {
    *("input.mime_type", "output.mime_type", "request", "response", "logfire.json_schema", "tool.parameters"),
    *("tool.json_schema", "langfuse.observation.level", names.OPERATION_NAME),
}
"""Attributes that are columns, and their like; the others are the call's attributes."""


def conditions(reader: Reader) -> dict[str, str]:
    """The condition of each dialect by its name in SQL."""
    return {dialect.known: dialect.knows(reader) for dialect in DIALECTS}


def is_tool(reader: Reader) -> str:
    """Whether a span is a tool call in any dialect, and not only the announcement of one."""
    known = " OR ".join(f"({condition})" for condition in conditions(reader).values())
    return f"(NOT {is_(reader, 'logfire.span_type', 'pending_span')} AND ({known}))"


def said(reader: Reader, field: str, *more: str) -> str:
    """The text of ``field``, by the first dialect that says it; NULL where none does. ``more``: said after them."""
    return f"coalesce({', '.join([*(part for part in _parts(reader, field)), *more, 'NULL'])})"


def _parts(reader: Reader, field: str) -> list[str]:
    parts = []
    for dialect in DIALECTS:
        texts = [reader.text(SPAN, key) for key in dialect.reads.get(field, ())]
        if field == "tool":
            texts = [*map(word, texts), dialect.tool]
        if texts and texts != ["NULL"]:
            parts.append(f"if({dialect.known}, coalesce({', '.join(texts)}), NULL)")
    return parts


def word(text: str) -> str:
    """A name or an id: without blanks around it, and NULL where nothing is left."""
    return f"nullIf(trim(BOTH ' \\t\\r\\n' FROM {text}), '')"
