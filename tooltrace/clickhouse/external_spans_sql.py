"""Tool spans of other instrumentations as rows of ``attempts``, as far as a view can express them.

Each such span is a row: the view neither merges spans of the same call nor interprets results.
"""

from __future__ import annotations

from typing import Final

from tooltrace.clickhouse import span_outcome_sql
from tooltrace.clickhouse.attribute_sql import Reader, quote_literal, quote_literals
from tooltrace.clickhouse.conventions_sql import SPAN, SPAN_NAME, coalesce_attribute, conditions, equals, nonblank
from tooltrace.ingest.spans.conventions.attributes import CONSUMED, JSON_TYPE, LOGFIRE_KEYS
from tooltrace.ingest.spans.conventions.base import WRAPPER_MEMBERS
from tooltrace.otel import attributes as names

_WORDS: Final = ("conversation_id", "agent", "model", "tool_version", "tool_description")
_NOTHING: Final = "'[]', '{}', 'null', '\"\"', '0', 'false'"
_LLAMA_INDEX: Final = "['blocks', 'is_error', 'raw_input', 'raw_output', 'tool_name']"
"""Members of a ToolOutput of llama-index."""
_SCOPE: Final = '{"otel.scope.name":'


def aliases(reader: Reader) -> dict[str, str]:
    """Return the expressions that the columns share, by their names in SQL."""
    mime = equals(reader, "output.mime_type", JSON_TYPE)
    params = f"JSONExtractRaw(ifNull({reader.text(SPAN, 'request')}, ''), 'params')"
    return {
        **conditions(reader),
        "params": f"if(is_mcp, nullIf({params}, ''), NULL)",
        "given_text": coalesce_attribute(reader, "arguments", "nullIf(JSONExtractRaw(params, 'arguments'), '')"),
        "given": _opened(_structure("given_text")),
        # An alias may use the ones before it, so that each expression is written, and evaluated, once.
        "own_given": _traceloop(),
        "result_text": coalesce_attribute(reader, "result"),
        "answer": _structure("result_text", f"NOT is_openinference OR {mime}"),
        "own_answer": f"if((is_traceloop OR is_openinference) AND {_members('answer')} = if(is_traceloop, ['kwargs', 'output'], "
        f"{_LLAMA_INDEX}), JSONExtractRaw(answer, if(is_traceloop, 'output', 'raw_output')), answer)",
        "in_words": "JSONType(ifNull(own_answer, 'null')) = 'String'",
        **span_outcome_sql.aliases(reader),
    }


def _structure(text: str, scalars: str = "true") -> str:
    """Return ``text`` as JSON: parsed if it is JSON, else as a string. ``scalars``: whether "3" is the number 3."""
    return f"if(isValidJSON({text}) AND ({scalars} OR match({text}, '^\\\\s*[\\\\[{{]')), {text}, toJSONString({text}))"


def _members(json: str) -> str:
    return f"arraySort(JSONExtractKeys(ifNull({json}, '')))"


def _opened(json: str) -> str:
    """Return arguments by name: unwrap ``{"args": […], "kwargs": {…}}``, as decorators record it."""
    by_name, positional = (f"JSONExtractRaw(json, '{key}')" for key in ("kwargs", "args"))
    members = ", ".join(quote_literal(name) for name in sorted(WRAPPER_MEMBERS))
    wrapped = (
        f"JSONHas(json, 'kwargs') AND hasAll([{members}], {_members('json')}) "
        "AND JSONType(json, 'kwargs') = 'Object' AND NOT JSONHas(json, 'kwargs', 'args')"
    )
    both = f"concat(substring({by_name}, 1, length({by_name}) - 1), if({by_name} = '{{}}', '', ','), '\"args\":', {positional}, '}}')"
    made = f"multiIf(NOT ({wrapped}), json, {positional} IN ('', {_NOTHING}), {by_name}, {both})"
    # A lambda instead of the text itself: the expression uses its argument ten times, and arguments nest.
    return f"arrayMap(json -> {made}, [{json}])[1]"


def _traceloop() -> str:
    """Return the tool's own arguments, from the parameters of LangChain's callback or from an MCP request."""
    inputs = (
        "if(JSONType(given, 'inputs') = 'Null', JSONExtractRaw(given, 'input_str'), JSONExtractRaw(given, 'inputs'))"
    )
    return (
        f"multiIf(NOT is_traceloop OR given IS NULL, given, JSONHas(given, 'input_str') AND JSONHas(given, 'kwargs'), {inputs}, "
        f"{_members('given')} = ['arguments', 'tool_name'], JSONExtractRaw(given, 'arguments'), given)"
    )


def columns(reader: Reader) -> dict[str, str]:
    """Return the columns that an external span provides; the other columns are NULL."""
    words = {name: nonblank(coalesce_attribute(reader, name)) for name in _WORDS}
    traceloop_call_id = "if(is_traceloop, nullIf(JSONExtractString(given, 'kwargs', 'tool_call_id'), ''), NULL)"
    extension = "if(is_mcp, 'extension', NULL)"
    return {
        **words,
        "tool": f"assumeNotNull(coalesce(nullIf(JSONExtractString(params, 'name'), ''), {coalesce_attribute(reader, 'tool')}, nullIf({SPAN_NAME}, ''), 'unknown'))",
        "tool_type": f"coalesce({nonblank(coalesce_attribute(reader, 'tool_type'))}, {extension})",
        "call_id": f"assumeNotNull(coalesce({nonblank(coalesce_attribute(reader, 'call_id'))}, {traceloop_call_id}, SpanId))",
        "attempt": "toInt64(1)",
        "duration_ms": "if(Duration < 1e18, toNullable(Duration / 1e6), NULL)",
        "arguments": "multiIf(own_given IS NULL OR own_given = 'null', NULL, JSONType(own_given) = 'Object', own_given, "
        "concat('{\"input\":', own_given, '}'))",
        "result": "if((in_words AND failed AND ended = 'returned') OR own_answer = 'null', NULL, own_answer)",
        "text": "multiIf(ended <> 'returned', NULL, in_words, JSONExtractString(own_answer), failed, "
        f"coalesce(message, nullIf(kind, {quote_literal(names.ERROR_TYPE_OTHER)}), known_code), NULL)",
        "attributes": _attributes(reader),
        **span_outcome_sql.columns(),
    }


def _attributes(reader: Reader) -> str:
    without = names.RESERVED | CONSUMED
    rest = reader.as_json_object(SPAN, without, unless=f"is_logfire AND k IN ({quote_literals(LOGFIRE_KEYS)})")
    prefix = f"concat({quote_literal(_SCOPE)}, toJSONString(ScopeName)"
    suffix = f"if({rest} IS NULL, '}}', concat(',', substring(ifNull({rest}, ''), 2)))"
    return f"if(ScopeName = '', {rest}, {prefix}, {suffix}))"
