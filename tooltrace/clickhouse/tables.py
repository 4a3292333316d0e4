"""Views that read the collector exporter's own tables as tooltrace's tables.

Spans are in ``otel_traces`` and log events in ``otel_logs``. Attributes are maps of text, or JSON if the exporter has
``json: true``. :mod:`tooltrace.otel.attributes` defines the attribute of each column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tooltrace.clickhouse import external_spans_sql
from tooltrace.clickhouse.attribute_sql import (
    Reader,
    Variant,
    converted,
    quote_identifier,
    quote_literal,
    quote_literals,
    reader_of,
)
from tooltrace.clickhouse.conventions_sql import is_tool
from tooltrace.otel import attributes as names
from tooltrace.otel import evaluation_codec
from tooltrace.store.database.schema import (
    ATTEMPTS,
    CORRECTIONS,
    GATE_EVENTS,
    INTEGER,
    JSON,
    LOSSES,
    MESSAGES,
    OUTCOMES,
    REAL,
    SPANS,
    TEXT,
    TIME,
    Table,
    TableColumn,
)

MARK: Final = names.FIELDS["ending"]
"""Attribute of exactly those spans that are calls recorded or imported by tooltrace."""

STARTED: Final = "CAST(Timestamp AS DateTime64(6, 'UTC'))"
"""Start of a span.

A CAST, because ClickHouse does not know ``toDateTime64`` to be monotonic, and would read every day.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Names and variant of the exporter's tables."""

    database: str = "otel"
    traces: str = "otel_traces"
    logs: str = "otel_logs"
    variant: Variant = "map"
    foreign: bool = False
    """Whether tool spans of other instrumentations count as tool calls too, rather than as spans."""

    def qualified_name(self, table: str) -> tuple[str, str]:
        """Return the database and the name of ``table``, which may contain a database itself."""
        database, dot, name = table.rpartition(".")
        return (database if dot else self.database), name

    def of(self, table: str) -> str:
        """Return the full name of ``table``, as SQL."""
        return ".".join(map(quote_identifier, self.qualified_name(table)))


def views(tables: Tables) -> dict[str, str]:
    """Return the SELECT of each base table by name."""
    reader = reader_of(tables.variant)
    return {
        ATTEMPTS.name: "\nUNION ALL\n".join(attempts(tables)),
        SPANS.name: _spans(tables, reader),
        OUTCOMES.name: _outcomes(tables, reader),
        CORRECTIONS.name: _events(tables, reader, CORRECTIONS, names.CORRECTION_EVENT, names.CORRECTION_FIELDS),
        GATE_EVENTS.name: _events(tables, reader, GATE_EVENTS, names.GATE_EVENT, names.GATE_FIELDS),
        MESSAGES.name: _events(tables, reader, MESSAGES, names.MESSAGE_EVENT, names.MESSAGE_FIELDS),
        LOSSES.name: _events(tables, reader, LOSSES, names.LOSS_EVENT, names.LOSS_FIELDS),
    }


def _select(columns: Mapping[str, str], table: str, where: str, aliases: Mapping[str, str] | None = None) -> str:
    body = ",\n    ".join(f"{expression} AS {quote_identifier(name)}" for name, expression in columns.items())
    first = ",\n    ".join(f"{expression} AS {name}" for name, expression in (aliases or {}).items())
    return f"{f'WITH{chr(10)}    {first}{chr(10)}' if first else ''}SELECT\n    {body}\nFROM {table}\nWHERE {where}"


def attempts(tables: Tables) -> list[str]:
    """Return the SELECTs that together make up ``attempts``: one for each kind of span."""
    reader = reader_of(tables.variant)
    return [_native_attempts(tables, reader), *([_external_attempts(tables, reader)] if tables.foreign else [])]


def attempts_of_calls(tables: Tables, ids: str, columns: Sequence[str]) -> list[str]:
    """Return the SELECTs of ``columns`` of the attempts whose call id the subquery ``ids`` has.

    The conditions are on the exporter's columns, so that its index of attribute values can be used.
    """
    reader = reader_of(tables.variant)
    has, call_id = (read("SpanAttributes", names.TOOL_CALL_ID) for read in (reader.has, reader.required_text))
    found = [
        _native_attempts(tables, reader, columns, condition)
        for condition in (f" AND {call_id} IN ({ids})", f" AND SpanId IN ({ids}) AND NOT {has}")
    ]
    if tables.foreign:
        call_id = external_spans_sql.columns(reader)["call_id"]
        found.append(_external_attempts(tables, reader, columns, f" AND {call_id} IN ({ids})"))
    return found


def _external_attempts(
    tables: Tables, reader: Reader, wanted: Sequence[str] = ATTEMPTS.names, condition: str = ""
) -> str:
    service = _origin(reader)["service"]
    expressions = {
        **_position(reader),
        **external_spans_sql.columns(reader),
        "service": f"if(startsWith(ifNull({service}, ''), 'unknown_service'), NULL, nullIf({service}, ''))",
    }
    nothing = "CAST(NULL AS Nullable(String))"
    columns = {
        column.name: expressions.get(column.name) or converted(column.type, nothing)
        for column in ATTEMPTS.columns
        if column.name in wanted
    }
    where = f"NOT {reader.has('SpanAttributes', MARK)} AND {is_tool(reader)}{condition}"
    return _select(columns, tables.of(tables.traces), where, external_spans_sql.aliases(reader))


def _position(reader: Reader) -> dict[str, str]:
    """Return the columns of a span's position in its trace, its start and its origin."""
    return {
        "trace_id": "TraceId",
        "span_id": "SpanId",
        "parent_span_id": "nullIf(ParentSpanId, '')",
        "started_at": STARTED,
        **_origin(reader),
    }


def _native_attempts(
    tables: Tables, reader: Reader, wanted: Sequence[str] = ATTEMPTS.names, condition: str = ""
) -> str:
    expressions = {
        "call_id": f"ifNull({reader.text('SpanAttributes', names.TOOL_CALL_ID)}, SpanId)",
        **_position(reader),
        "attributes": reader.as_json_object("SpanAttributes", names.RESERVED),
        # a result in words is only meant for other readers; tooltrace has it in text
        "result": f"if({reader.text('SpanAttributes', names.RESULT_IS_TEXT)} = 'true', NULL, "
        f"{converted(JSON, reader.text('SpanAttributes', names.FIELDS['result']))})",
    }
    columns = {
        column.name: expressions.get(column.name) or _attribute(column, reader)
        for column in ATTEMPTS.columns
        if column.name in wanted
    }
    where = f"{reader.has('SpanAttributes', MARK)}{condition}"
    return _select(columns, tables.of(tables.traces), where)


def _attribute(column: TableColumn, reader: Reader) -> str:
    key = names.FIELDS[column.name]
    if column.required and column.type == TEXT:
        return reader.required_text("SpanAttributes", key)
    value = converted(column.type, reader.text("SpanAttributes", key))
    return f"assumeNotNull({value})" if column.required and column.type == INTEGER else value


def _origin(reader: Reader) -> dict[str, str]:
    found = {name: reader.text("ResourceAttributes", key) for name, key in names.CALL_RESOURCE_FIELDS.items()}
    return {**found, "pid": converted(INTEGER, found["pid"])}


def _spans(tables: Tables, reader: Reader) -> str:
    columns = {
        **_position(reader),
        "name": "toString(SpanName)",
        "span_kind": "nullIf(lower(toString(SpanKind)), 'unspecified')",
        "duration_ms": "toNullable(Duration / 1e6)",
        "status": "nullIf(lower(toString(StatusCode)), 'unset')",
        "status_message": "nullIf(StatusMessage, '')",
        "attributes": reader.as_json_object("SpanAttributes"),
        "events": _nested_as_json("Events", {"name": "Name", "at": "Timestamp", "attributes": "Attributes"}, reader),
        "links": _nested_as_json(
            "Links", {"trace_id": "TraceId", "span_id": "SpanId", "attributes": "Attributes"}, reader
        ),
        "scope": "nullIf(ScopeName, '')",
        "scope_version": "nullIf(ScopeVersion, '')",
    }
    columns = {name: columns[name] for name in SPANS.names}
    calls = f" AND NOT {is_tool(reader)}" if tables.foreign else ""
    return _select(columns, tables.of(tables.traces), f"NOT {reader.has('SpanAttributes', MARK)}{calls}")


def _nested_as_json(nested: str, members: Mapping[str, str], reader: Reader) -> str:
    """Return a ``Nested`` as the text of a JSON array of objects."""
    parts = ", ".join(f"m.{number}" for number in range(1, len(members) + 1))
    shape = ", ".join(f"{name} {reader.kind if name == 'attributes' else 'String'}" for name in members)
    columns = ", ".join(f"{nested}.{column}" for column in members.values())
    made = f"arrayMap(m -> CAST(({parts}) AS Tuple({shape})), arrayZip({columns}))"
    return f"if(empty({nested}.{next(iter(members.values()))}), NULL, toJSONString({made}))"


def _is_event(event: str) -> str:
    return f"EventName = {quote_literal(event)}"


def _event_time(reader: Reader) -> str:
    """Return the time of an event: its own attribute if the timestamp cannot represent it."""
    exact_time = converted(TIME, reader.text("LogAttributes", names.AT))
    return f"ifNull({exact_time}, {STARTED})"


def _events(tables: Tables, reader: Reader, table: Table, event: str, fields: Mapping[str, str]) -> str:
    expressions = {"at": _event_time(reader), "corrected_at": _event_time(reader), **_origin(reader)}
    columns = {}
    for column in table.columns:
        if column.name not in fields:
            columns[column.name] = expressions[column.name]
            continue
        columns[column.name] = converted(column.type, reader.text("LogAttributes", fields[column.name]))
    # A correction may name a span alone; a missing call id then means that no call is named.
    if "call_id" in fields and table is not CORRECTIONS:
        columns["call_id"] = f"ifNull({columns['call_id']}, {columns['span_id']})"
    needed = [fields[column.name] for column in table.columns if column.required and column.name in fields]
    present = [reader.has("LogAttributes", key) for key in needed if key != names.TOOL_CALL_ID]
    return _select(columns, tables.of(tables.logs), " AND ".join([_is_event(event), *present]))


def _outcomes(tables: Tables, reader: Reader) -> str:
    """Return the SELECT of outcomes.

    Our own events are used unchanged, others as :mod:`tooltrace.otel.evaluation_codec` reads them.
    """
    text = {
        key: reader.text("LogAttributes", key)
        for key in (
            names.TOOL_CALL_ID,
            names.JUDGED_SPAN_ID,
            names.LABELER,
            names.LABELER_KIND,
            names.TARGET_KIND,
            names.CONVERSATION_ID,
            names.EVALUATION_NAME,
            names.EVALUATION_SCORE_LABEL,
            names.EVALUATION_SCORE_VALUE,
            names.EVALUATION_EXPLANATION,
        )
    }
    score = converted(REAL, text[names.EVALUATION_SCORE_VALUE])
    is_native = reader.has("LogAttributes", names.LABELER)
    reported = f"JSONExtract(ifNull({reader.list('LogAttributes', names.REPORTED)}, '[]'), 'Array(String)')"
    word = f"replaceRegexpAll(lower(trim({text[names.EVALUATION_SCORE_LABEL]})), '[ -]', '_')"
    right, wrong = (
        f"{word} IN ({quote_literals(evaluation_codec.RIGHT)})",
        f"{word} IN ({quote_literals(evaluation_codec.WRONG)})",
    )
    verdict = f"CAST(multiIf(ifNull({right}, false), true, ifNull({wrong}, false), false, NULL) AS Nullable(Bool))"
    inverse = (
        f"match(ifNull({text[names.EVALUATION_NAME]}, ''), {quote_literal('(?i)' + evaluation_codec.INVERSE.pattern)})"
    )
    usable = (
        f"if({score} BETWEEN 0 AND 1 AND NOT {inverse} AND ifNull({verdict} = ({score} >= 0.5), true), {score}, NULL)"
    )
    of_conversation = (
        f"({text[names.TOOL_CALL_ID]} IS NULL AND SpanId = '' AND {text[names.CONVERSATION_ID]} IS NOT NULL)"
    )
    columns = {
        "call_id": text[names.TOOL_CALL_ID],
        "span_id": f"if({is_native}, {text[names.JUDGED_SPAN_ID]}, nullIf(SpanId, ''))",
        "correct": f"CAST(if({is_native}, if(has({reported}, 'correct'), {text[names.EVALUATION_SCORE_LABEL]} = 'correct', NULL), "
        f"{verdict}) AS Nullable(Bool))",
        "score": f"if({is_native}, if(has({reported}, 'score'), {score}, NULL), {usable})",
        "labeler": f"coalesce({text[names.LABELER]}, nullIf({text[names.EVALUATION_NAME]}, ''), nullIf(ScopeName, ''), 'unknown')",
        "reason": text[names.EVALUATION_EXPLANATION],
        "labeled_at": _event_time(reader),
        "labeler_kind": f"if({is_native}, {text[names.LABELER_KIND]}, NULL)",
        "target_kind": f"if({is_native}, {text[names.TARGET_KIND]}, if({of_conversation}, 'conversation', NULL))",
        "conversation_id": f"if({is_native} OR {of_conversation}, {text[names.CONVERSATION_ID]}, NULL)",
    }
    complete = f"({is_native} OR ({columns['call_id']} IS NOT NULL OR SpanId <> '' OR {of_conversation}) AND ({verdict} IS NOT NULL OR {usable} IS NOT NULL))"
    return _select(columns, tables.of(tables.logs), f"{_is_event(names.EVALUATION_EVENT)} AND {complete}")
