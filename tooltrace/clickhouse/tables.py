"""The collector exporter's own tables, read as tooltrace's tables by plain views.

Spans are in ``otel_traces`` and log events in ``otel_logs``. Attributes are maps of text, or JSON where the exporter has
``json: true``. What attribute carries which column is said once, in :mod:`tooltrace.otel.attributes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from tooltrace.otel import attributes as names
from tooltrace.otel import evaluations
from tooltrace.store.columns import (
    ATTEMPTS,
    GATE_EVENTS,
    JSON,
    LOSSES,
    MESSAGES,
    OUTCOMES,
    REAL,
    SPANS,
    TEXT,
    TIME,
    TRUTH,
    WHOLE,
    Column,
    Table,
)

Variant = Literal["map", "json"]
"""How the exporter keeps attributes."""

MARK: Final = names.FIELDS["ending"]
"""Every span of a call that tooltrace recorded or imported has it, and none else."""

STARTED: Final = "CAST(Timestamp AS DateTime64(6, 'UTC'))"
"""When a span began. A CAST: of ``toDateTime64`` ClickHouse does not know that it keeps the order, and reads every day."""

_CONVERT: Final = {
    TEXT: "{0}",
    JSON: "nullIf({0}, 'null')",
    WHOLE: "toInt64OrNull({0})",
    REAL: "toFloat64OrNull({0})",
    TRUTH: "CAST(multiIf({0} = 'true', true, {0} = 'false', false, NULL) AS Nullable(Bool))",
    TIME: "parseDateTime64BestEffortOrNull({0}, 6, 'UTC')",
}
"""What makes a column of an attribute's text, which may be NULL; what is no such value is NULL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Where the exporter's tables are, and of which kind."""

    database: str = "otel"
    traces: str = "otel_traces"
    logs: str = "otel_logs"
    variant: Variant = "map"

    def of(self, table: str) -> str:
        """The full name of ``table``, as SQL; it may name another database itself."""
        database, dot, name = table.rpartition(".")
        return f"{quoted(database if dot else self.database)}.{quoted(name)}"


def quoted(name: str) -> str:
    """``name`` as an identifier of ClickHouse."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def literal(text: str) -> str:
    """``text`` as a string of ClickHouse."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def views(tables: Tables) -> dict[str, str]:
    """The SELECT of each base table, by its name."""
    reader = _Map() if tables.variant == "map" else _Json()
    return {
        ATTEMPTS.name: _attempts(tables, reader),
        SPANS.name: _spans(tables, reader),
        OUTCOMES.name: _outcomes(tables, reader),
        GATE_EVENTS.name: _events(tables, reader, GATE_EVENTS, names.GATE_EVENT, names.GATE_FIELDS),
        MESSAGES.name: _events(tables, reader, MESSAGES, names.MESSAGE_EVENT, names.MESSAGE_FIELDS),
        LOSSES.name: _events(tables, reader, LOSSES, names.LOSS_EVENT, names.LOSS_FIELDS),
    }


class _Map:
    """Attributes as ``Map(String, String)``."""

    kind = "Map(String, String)"

    def text(self, column: str, key: str) -> str:
        """The attribute as text; NULL where there is none."""
        return f"if({self.has(column, key)}, {column}[{literal(key)}], NULL)"

    def list(self, column: str, key: str) -> str:
        """An attribute that is a list, as the text of a JSON array."""
        return self.text(column, key)

    def has(self, column: str, key: str) -> str:
        return f"mapContains({column}, {literal(key)})"

    def object(self, column: str, without: frozenset[str] = frozenset()) -> str:
        """All attributes but ``without``, as the text of a JSON object; NULL where there are none. All values are text."""
        kept = column if not without else f"mapFilter((k, v) -> k NOT IN ({_list(without)}), {column})"
        return f"if(empty({kept}), NULL, toJSONString({kept}))"


class _Json:
    """Attributes as ``JSON``: a dot in a name makes a path of it."""

    kind = "JSON"

    def text(self, column: str, key: str) -> str:
        """The attribute as text; NULL where there is none."""
        return f"CAST({column}.{quoted(key)} AS Nullable(String))"

    def list(self, column: str, key: str) -> str:
        """An attribute that is a list, as the text of a JSON array."""
        return f"toJSONString({column}.{quoted(key)})"

    def has(self, column: str, key: str) -> str:
        return f"has({column}Keys, {literal(key)})"

    def object(self, column: str, without: frozenset[str] = frozenset()) -> str:
        """All attributes but ``without``, as the text of a JSON object; NULL where there are none."""
        kept = [f"NOT has([{_list(without)}], k)"] if without else []
        pairs = f"arrayFilter(k -> {' AND '.join(kept) or 'true'}, {column}Keys)"
        text = f"toJSONString({column})"
        members = f"arrayMap(k -> concat(toJSONString(toString(k)), ':', {_walk(text)}), {pairs})"
        return f"if(empty({pairs}), NULL, concat('{{', arrayStringConcat({members}, ','), '}}'))"


def _walk(text: str) -> str:
    """The member ``k`` of the object ``text``, each dot in ``k`` a level down."""
    return f"arrayFold((at, part) -> JSONExtractRaw(at, part), splitByChar('.', toString(k)), {text})"


_Reader = _Map | _Json


def _list(texts: frozenset[str]) -> str:
    return ", ".join(literal(text) for text in sorted(texts))


def _converted(type_: str, text: str) -> str:
    return _CONVERT[type_].format(text)


def _select(columns: Mapping[str, str], table: str, where: str) -> str:
    body = ",\n    ".join(f"{expression} AS {quoted(name)}" for name, expression in columns.items())
    return f"SELECT\n    {body}\nFROM {table}\nWHERE {where}"


def _attempts(tables: Tables, reader: _Reader) -> str:
    known = {
        "call_id": f"ifNull({reader.text('SpanAttributes', names.TOOL_CALL_ID)}, SpanId)",
        "trace_id": "TraceId",
        "span_id": "SpanId",
        "parent_span_id": "nullIf(ParentSpanId, '')",
        "started_at": STARTED,
        "attributes": reader.object("SpanAttributes", names.RESERVED),
        # an answer in words is a result to other readers alone
        "result": f"if({reader.text('SpanAttributes', names.RESULT_IS_TEXT)} = 'true', NULL, "
        f"{_converted(JSON, reader.text('SpanAttributes', names.FIELDS['result']))})",
        **_origin(reader),
    }
    columns = {column.name: known.get(column.name) or _attribute(column, reader) for column in ATTEMPTS.columns}
    return _select(columns, tables.of(tables.traces), reader.has("SpanAttributes", MARK))


def _attribute(column: Column, reader: _Reader) -> str:
    text = reader.text("SpanAttributes", names.FIELDS[column.name])
    converted = _converted(column.type, text)
    if column.required and column.type in (TEXT, WHOLE):
        return f"assumeNotNull({converted})"
    return converted


def _origin(reader: _Reader) -> dict[str, str]:
    service, host, pid = (reader.text("ResourceAttributes", key) for key in names.RESOURCE_FIELDS.values())
    return {"service": service, "host": host, "pid": _converted(WHOLE, pid)}


def _spans(tables: Tables, reader: _Reader) -> str:
    columns = {
        "trace_id": "TraceId",
        "span_id": "SpanId",
        "parent_span_id": "nullIf(ParentSpanId, '')",
        "name": "toString(SpanName)",
        "span_kind": "nullIf(lower(toString(SpanKind)), 'unspecified')",
        "started_at": STARTED,
        "duration_ms": "toNullable(Duration / 1e6)",
        "status": "nullIf(lower(toString(StatusCode)), 'unset')",
        "status_message": "nullIf(StatusMessage, '')",
        "attributes": reader.object("SpanAttributes"),
        "events": _listed("Events", {"name": "Name", "at": "Timestamp", "attributes": "Attributes"}, reader),
        "links": _listed("Links", {"trace_id": "TraceId", "span_id": "SpanId", "attributes": "Attributes"}, reader),
        "scope": "nullIf(ScopeName, '')",
        "scope_version": "nullIf(ScopeVersion, '')",
        **_origin(reader),
    }
    columns = {name: columns[name] for name in SPANS.names}
    return _select(columns, tables.of(tables.traces), f"NOT {reader.has('SpanAttributes', MARK)}")


def _listed(nested: str, members: Mapping[str, str], reader: _Reader) -> str:
    """A ``Nested`` as the text of a JSON array of objects."""
    parts = ", ".join(f"m.{number}" for number in range(1, len(members) + 1))
    shape = ", ".join(f"{name} {reader.kind if name == 'attributes' else 'String'}" for name in members)
    columns = ", ".join(f"{nested}.{column}" for column in members.values())
    made = f"arrayMap(m -> CAST(({parts}) AS Tuple({shape})), arrayZip({columns}))"
    return f"if(empty({nested}.{next(iter(members.values()))}), NULL, toJSONString({made}))"


def _named(event: str) -> str:
    return f"EventName = {literal(event)}"


def _when(reader: _Reader) -> str:
    """When the event was: its own attribute where the timestamp cannot say it."""
    late = _converted(TIME, reader.text("LogAttributes", names.AT))
    return f"ifNull({late}, {STARTED})"


def _events(tables: Tables, reader: _Reader, table: Table, event: str, fields: Mapping[str, str]) -> str:
    known = {"at": _when(reader), **_origin(reader)}
    columns = {}
    for column in table.columns:
        if column.name not in fields:
            columns[column.name] = known[column.name]
            continue
        columns[column.name] = _converted(column.type, reader.text("LogAttributes", fields[column.name]))
    if "call_id" in fields:
        columns["call_id"] = f"ifNull({columns['call_id']}, {columns['span_id']})"
    needed = [fields[column.name] for column in table.columns if column.required and column.name in fields]
    present = [reader.has("LogAttributes", key) for key in needed if key != names.TOOL_CALL_ID]
    return _select(columns, tables.of(tables.logs), " AND ".join([_named(event), *present]))


def _outcomes(tables: Tables, reader: _Reader) -> str:
    """Our own events as they were said; of others' what :mod:`tooltrace.otel.evaluations` makes of them."""
    text = {
        key: reader.text("LogAttributes", key)
        for key in (
            names.TOOL_CALL_ID,
            names.JUDGED_SPAN_ID,
            names.LABELER,
            names.EVALUATION_NAME,
            names.EVALUATION_SCORE_LABEL,
            names.EVALUATION_SCORE_VALUE,
            names.EVALUATION_EXPLANATION,
        )
    }
    score = _converted(REAL, text[names.EVALUATION_SCORE_VALUE])
    ours = reader.has("LogAttributes", names.LABELER)
    said = f"JSONExtract(ifNull({reader.list('LogAttributes', names.SAID)}, '[]'), 'Array(String)')"
    word = f"replaceRegexpAll(lower(trim({text[names.EVALUATION_SCORE_LABEL]})), '[ -]', '_')"
    right, wrong = f"{word} IN ({_list(evaluations.RIGHT)})", f"{word} IN ({_list(evaluations.WRONG)})"
    verdict = f"CAST(multiIf(ifNull({right}, false), true, ifNull({wrong}, false), false, NULL) AS Nullable(Bool))"
    inverse = f"match(ifNull({text[names.EVALUATION_NAME]}, ''), {literal('(?i)' + evaluations.INVERSE.pattern)})"
    usable = (
        f"if({score} BETWEEN 0 AND 1 AND NOT {inverse} AND ifNull({verdict} = ({score} >= 0.5), true), {score}, NULL)"
    )
    columns = {
        "call_id": text[names.TOOL_CALL_ID],
        "span_id": f"if({ours}, {text[names.JUDGED_SPAN_ID]}, nullIf(SpanId, ''))",
        "correct": f"CAST(if({ours}, if(has({said}, 'correct'), {text[names.EVALUATION_SCORE_LABEL]} = 'correct', NULL), "
        f"{verdict}) AS Nullable(Bool))",
        "score": f"if({ours}, if(has({said}, 'score'), {score}, NULL), {usable})",
        "labeler": f"coalesce({text[names.LABELER]}, nullIf({text[names.EVALUATION_NAME]}, ''), nullIf(ScopeName, ''), 'unknown')",
        "reason": text[names.EVALUATION_EXPLANATION],
        "labeled_at": _when(reader),
    }
    whole = f"({ours} OR ({columns['call_id']} IS NOT NULL OR SpanId <> '') AND ({verdict} IS NOT NULL OR {usable} IS NOT NULL))"
    return _select(columns, tables.of(tables.logs), f"{_named(names.EVALUATION_EVENT)} AND {whole}")
