"""Conventions by which other instrumentations write a tool call into a span, as far as SQL can detect them.

The attributes are those of :mod:`tooltrace.ingest.spans.conventions.attributes`, which
:mod:`tooltrace.ingest.spans.conventions.detect` uses as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tooltrace.clickhouse.attribute_sql import Reader, quote_literal
from tooltrace.ingest.spans.conventions.attributes import (
    AI_OPERATION,
    AI_TOOL_CALL,
    DEFERRED,
    LOGFIRE_TOOL,
    MCP_METHOD,
    MERGED_TOOLS,
    NOT_SPECIFIED,
    OTHER_KINDS,
    READS,
    TEMPLATE,
)
from tooltrace.otel import attributes as names

SPAN: Final = "SpanAttributes"
SPAN_NAME: Final = "toString(SpanName)"


@dataclass(frozen=True, slots=True)
class SqlConvention:
    """One convention for a tool call in a span's attributes."""

    name: str
    condition: Callable[[Reader], str]
    """Function that returns the condition under which a span is a tool call."""
    tool: str = "NULL"
    """The tool's name from the span's name, if no attribute contains it."""

    @property
    def alias(self) -> str:
        """Name of the condition among those of :func:`conditions`."""
        return f"is_{self.name}"

    @property
    def reads(self) -> Mapping[str, tuple[str, ...]]:
        """Attributes of each field, in order of precedence."""
        return READS[self.name]


def _gen_ai(reader: Reader) -> str:
    other = " OR ".join(reader.has(SPAN, key) for key in OTHER_KINDS)
    alone = f"{reader.has(SPAN, names.TOOL_NAME)} AND NOT ({other})"
    operation = equals(reader, names.OPERATION_NAME, names.EXECUTE_TOOL)
    return f"if({reader.has(SPAN, names.OPERATION_NAME)}, {operation}, {alone})"


def _pydantic_ai(reader: Reader) -> str:
    has_content = f"{reader.has(SPAN, 'tool_arguments')} OR {reader.has(SPAN, 'tool_response')}"
    has_name = reader.has(SPAN, names.TOOL_NAME)
    return f"if({has_content}, {has_name}, {reader.has(SPAN, DEFERRED)} OR (SpanName = 'running tool' AND {has_name}))"


def _mcp(reader: Reader) -> str:
    return f"{equals(reader, 'mcp.method.name', MCP_METHOD)} OR {equals(reader, 'rpc.method', MCP_METHOD)}"


def _openinference(reader: Reader) -> str:
    return f"ifNull(upper({reader.text(SPAN, 'openinference.span.kind')}) = 'TOOL', false)"


def equals(reader: Reader, key: str, value: str) -> str:
    """Return the condition that the attribute ``key`` has the ``value``."""
    return f"ifNull({reader.text(SPAN, key)} = {quote_literal(value)}, false)"


CONVENTIONS: Final = (
    SqlConvention(
        "traceloop",
        lambda reader: equals(reader, "traceloop.span.kind", "tool"),
        f"replaceRegexpOne({SPAN_NAME}, '\\\\.tool$', '')",
    ),
    SqlConvention(
        "gen_ai",
        _gen_ai,
        # The tool's name follows the prefix: 13 characters here, 11 below; ClickHouse counts from 1.
        f"if(startsWith({SPAN_NAME}, 'execute_tool '), substring({SPAN_NAME}, 14), NULL)",
    ),
    SqlConvention("pydantic_ai", _pydantic_ai),
    SqlConvention(
        "mcp",
        _mcp,
        f"if(position({SPAN_NAME}, '{MCP_METHOD} ') > 0, substring({SPAN_NAME}, position({SPAN_NAME}, '{MCP_METHOD} ') + 11), NULL)",
    ),
    SqlConvention("openinference", _openinference, f"replaceRegexpOne({SPAN_NAME}, '\\\\.__call__$', '')"),
    SqlConvention(
        "langfuse",
        lambda reader: equals(reader, "langfuse.observation.type", "tool"),
        SPAN_NAME,
    ),
    SqlConvention("ai_sdk", lambda reader: equals(reader, AI_OPERATION, AI_TOOL_CALL)),
    SqlConvention("logfire", lambda reader: equals(reader, TEMPLATE, LOGFIRE_TOOL)),
)
"""All conventions, in order of precedence."""


def conditions(reader: Reader) -> dict[str, str]:
    """Return the condition of each convention by its name in SQL."""
    return {convention.alias: convention.condition(reader) for convention in CONVENTIONS}


def is_tool(reader: Reader) -> str:
    """Return the condition that a span is a tool call in any convention, and not only the announcement of one."""
    any_convention = " OR ".join(f"({condition})" for condition in conditions(reader).values())
    pending = equals(reader, "logfire.span_type", "pending_span")
    merged = equals(reader, names.TOOL_NAME, MERGED_TOOLS)
    return f"(NOT {pending} AND NOT {merged} AND ({any_convention}))"


def coalesce_attribute(reader: Reader, field: str, *more: str) -> str:
    """Return the text of ``field`` from the first convention that has it; NULL if none does.

    ``more``: later alternatives.
    """
    return f"coalesce({', '.join([*(part for part in _parts(reader, field)), *more, 'NULL'])})"


def _parts(reader: Reader, field: str) -> list[str]:
    parts = []
    for convention in CONVENTIONS:
        texts = [reader.text(SPAN, key) for key in convention.reads.get(field, ())]
        if field == "call_id":
            texts = [f"nullIf({each}, {quote_literal(NOT_SPECIFIED)})" for each in texts]
        if field == "tool":
            texts = [*map(nonblank, texts), convention.tool]
        if texts and texts != ["NULL"]:
            parts.append(f"if({convention.alias}, coalesce({', '.join(texts)}), NULL)")
    return parts


def nonblank(text: str) -> str:
    """Return a name or an id without surrounding blanks; NULL if nothing is left."""
    return f"nullIf(trim(BOTH ' \\t\\r\\n' FROM {text}), '')"
