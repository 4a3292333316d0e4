"""The ways in which other instrumentations write a tool call into a span, as far as SQL can tell them.

The attributes are those of :mod:`tooltrace.otel.tool_spans`, which :mod:`tooltrace.foreign.dialects` reads as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tooltrace.clickhouse.readers import Reader, literal
from tooltrace.otel import attributes as names
from tooltrace.otel.tool_spans import DEFERRED, MCP_METHOD, OTHER_KINDS, READS

SPAN: Final = "SpanAttributes"
SPAN_NAME: Final = "toString(SpanName)"


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way to write a tool call into a span's attributes."""

    name: str
    knows: Callable[[Reader], str]
    """The condition that a span is a tool call."""
    tool: str = "NULL"
    """The tool's name, of the span's, where no attribute says it."""

    @property
    def known(self) -> str:
        """The name of its condition among those of :func:`conditions`."""
        return f"is_{self.name}"

    @property
    def reads(self) -> Mapping[str, tuple[str, ...]]:
        """Field to the attributes that say it, the first that is there counts."""
        return READS[self.name]


def _gen_ai(reader: Reader) -> str:
    other = " OR ".join(reader.has(SPAN, key) for key in OTHER_KINDS)
    alone = f"{reader.has(SPAN, names.TOOL_NAME)} AND NOT ({other})"
    operation = is_(reader, names.OPERATION_NAME, names.EXECUTE_TOOL)
    return f"if({reader.has(SPAN, names.OPERATION_NAME)}, {operation}, {alone})"


def _pydantic_ai(reader: Reader) -> str:
    own = f"{reader.has(SPAN, 'tool_arguments')} OR {reader.has(SPAN, 'tool_response')}"
    named = reader.has(SPAN, names.TOOL_NAME)
    return f"if({own}, {named}, {reader.has(SPAN, DEFERRED)} OR (SpanName = 'running tool' AND {named}))"


def _mcp(reader: Reader) -> str:
    return f"{is_(reader, 'mcp.method.name', MCP_METHOD)} OR {is_(reader, 'rpc.method', MCP_METHOD)}"


def _openinference(reader: Reader) -> str:
    return f"ifNull(upper({reader.text(SPAN, 'openinference.span.kind')}) = 'TOOL', false)"


def is_(reader: Reader, key: str, value: str) -> str:
    """Whether the attribute ``key`` has the ``value``."""
    return f"ifNull({reader.text(SPAN, key)} = {literal(value)}, false)"


DIALECTS: Final = (
    Dialect(
        "traceloop",
        lambda reader: is_(reader, "traceloop.span.kind", "tool"),
        f"replaceRegexpOne({SPAN_NAME}, '\\\\.tool$', '')",
    ),
    Dialect(
        "gen_ai",
        _gen_ai,
        f"if(startsWith({SPAN_NAME}, 'execute_tool '), substring({SPAN_NAME}, 14), NULL)",
    ),
    Dialect("pydantic_ai", _pydantic_ai),
    Dialect(
        "mcp",
        _mcp,
        f"if(position({SPAN_NAME}, '{MCP_METHOD} ') > 0, substring({SPAN_NAME}, position({SPAN_NAME}, '{MCP_METHOD} ') + 11), NULL)",
    ),
    Dialect("openinference", _openinference, SPAN_NAME),
    Dialect(
        "langfuse",
        lambda reader: is_(reader, "langfuse.observation.type", "tool"),
        SPAN_NAME,
    ),
)
"""The first that says a thing counts."""


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
