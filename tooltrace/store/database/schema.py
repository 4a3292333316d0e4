"""The tables of a store, derived from the fields of the records, and the quoting of names and values in SQL.

``tooltrace.core.fields`` describes the fields, ``views`` the views over the tables, and ``migrations`` creates both.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

from tooltrace.core.fields import TYPES, fields_of
from tooltrace.core.records import Begun, Correction, Gate, Loss, Message, Outcome, SavedQuery, Span, ToolCall

STORAGE_VERSION: Final = "v1.5.0"
"""The oldest DuckDB file format with all features that the store needs; DuckDB 1.5 and 2.0 read it."""
STORE: Final = "store"
"""The name under which the database is attached."""
ANSWER: Final = "memory.settled.answer"
"""Table of a result that outlives the lease on the database."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column: its name, its DuckDB type and its meaning."""

    name: str
    type: str
    comment: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class HashColumn:
    """One column of 64 bits that the store computes of the others: its name, its meaning and its SQL."""

    name: str
    comment: str
    sql: str


@dataclass(frozen=True, slots=True)
class Table:
    """One table: the meaning of a row, the columns, and the column with the row's time."""

    name: str
    comment: str
    columns: tuple[TableColumn, ...]
    time: str = ""
    view: str = ""
    """The view that users query for the table's rows; empty where they query the table itself."""
    hashes: tuple[HashColumn, ...] = ()
    """Further columns, which ``tooltrace.store.database.hashes`` keeps. No record and no file of an exporter has them."""

    @property
    def public(self) -> str:
        """The name that users query: the view, else the table."""
        return self.view or self.name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


TEXT, INTEGER, REAL, BOOLEAN, TIME, JSON = (types.sql for types in TYPES.values())


def _columns(record: type[Any]) -> tuple[TableColumn, ...]:
    return tuple(
        TableColumn(field.name, TYPES[field.type].sql, field.about.meaning, required=not field.nullable)
        for field in fields_of(record)
    )


ATTEMPTS: Final = Table(
    "attempts",
    "One row per attempt: one execution of a call. NULL is unknown. The view tool_calls adds the text that the model received. "
    "Retention removes content and keeps the row.",
    _columns(ToolCall),
    time="started_at",
    view="tool_calls",
    hashes=(
        HashColumn(
            "call_hash",
            "Number of the call: text_key(call_key(tool, call_id, first_span_id, conversation_id, host, pid)). Its attempts have the same one. Not in ClickHouse.",
            "hash(row(tool, coalesce(first_span_id, call_id), coalesce(conversation_id, host, ''), "
            "CASE WHEN conversation_id IS NULL THEN coalesce(pid, -1) ELSE -2 END))",
        ),
        HashColumn(
            "cluster_hash",
            "Number of the cluster: text_key(draw_key(conversation_id, trace_id)). Not in ClickHouse.",
            "hash(coalesce(conversation_id, trace_id))",
        ),
    ),
)

OUTCOMES: Final = Table(
    "outcomes",
    "One row per label: whether a result was right, or a conversation reached its goal.",
    _columns(Outcome),
    time="labeled_at",
)

CORRECTIONS: Final = Table(
    "corrections",
    "One row per correction of a reading. Those in force are applied to attempts; status_recorded has the recorded status there.",
    _columns(Correction),
    time="corrected_at",
)

MESSAGES: Final = Table(
    "messages",
    "One row per message with which the model received a result.",
    _columns(Message),
    time="at",
)

GATE_EVENTS: Final = Table(
    "gate_events",
    "One row per stop for a person when it is requested, and another when it is answered. The view gates has one per stop.",
    _columns(Gate),
    time="asked_at",
    view="gates",
)

LOSSES: Final = Table(
    "losses",
    "Numbers of records that could not be stored, by reason.",
    _columns(Loss),
    time="at",
)

SPANS: Final = Table(
    "spans",
    "One row per span that is not a tool call, of any library: the context of the calls in their traces.",
    _columns(Span),
    time="started_at",
)

SAVED_QUERIES: Final = Table(
    "saved_queries",
    "One row per saving or deletion of a query under a name. Of several with one name the latest counts.",
    _columns(SavedQuery),
    time="saved_at",
)

BEGUN: Final = Table(
    "begun",
    "One row per call that runs, once it has run for configure(begun_after=…) seconds. The fold that has its end removes it; where its "
    "process is gone, it becomes an attempt with the ending lost. A row of a host that cannot be seen stays. Not in ClickHouse.",
    _columns(Begun),
    time="started_at",
)

REPEATED_CALLS: Final = Table(
    "repeated_calls",
    "One row per call that has several attempts, and perhaps some of calls that have one. A call that is not here has one "
    "attempt: only the attempts of these calls have to be compared.",
    (TableColumn("call_hash", "UBIGINT", "Number of the call, as in attempts.", required=True),),
)

JOURNALS: Final = Table(
    "journals",
    "The folded part of each journal that still exists.",
    (
        TableColumn("name", TEXT, "File name of the journal.", required=True),
        TableColumn(
            "folded_bytes", INTEGER, "Bytes from the start of the journal that are in the tables.", required=True
        ),
        TableColumn(
            "fingerprint",
            INTEGER,
            "CRC-32 of the last bytes of that part, to notice a journal that was truncated or replaced.",
            required=True,
        ),
    ),
)

EXPORTS: Final = Table(
    "exports",
    "One row per file or folder that tooltrace export or tooltrace backup wrote from this store. Forgetting and redaction "
    "read it to find copies of the records.",
    (
        TableColumn("path", TEXT, "Absolute path.", required=True),
        TableColumn("format", TEXT, "Name of the destination, such as parquet; duckdb for a backup.", required=True),
        TableColumn("written_at", TIME, "Time when the latest export to this path began.", required=True),
    ),
    time="written_at",
)

META: Final = Table(
    "meta",
    "Properties of the store.",
    (
        TableColumn("key", TEXT, "Name of the property, such as schema.", required=True),
        TableColumn("value", TEXT, "Value of the property.", required=True),
    ),
)

RECORDS: Final = {
    "call": ATTEMPTS,
    "outcome": OUTCOMES,
    "correction": CORRECTIONS,
    "gate": GATE_EVENTS,
    "message": MESSAGES,
    "loss": LOSSES,
    "span": SPANS,
    "query": SAVED_QUERIES,
    "begun": BEGUN,
}
"""The table for each kind of journal line."""
TABLES: Final = (*RECORDS.values(), EXPORTS, REPEATED_CALLS, JOURNALS, META)

LONG_TEXTS: Final = {"attempts": ("arguments", "result", "text"), "messages": ("text",), "spans": ("attributes",)}
"""Columns of texts that may have kilobytes, by table: their compression is ZSTD.

DuckDB's own choice takes up to seven times as long to write, for twice the size. ZSTD takes at least two blocks (512 KiB)
for a column of a row group, so it is not for columns that are mostly NULL or short.
"""


def column_ddl(table: Table, *, compressed: bool = False) -> str:
    """Return the column list of a ``CREATE TABLE``; ``compressed``: for a table in a file, see LONG_TEXTS."""
    long = LONG_TEXTS.get(table.name, ()) if compressed else ()
    columns = [
        f"{quote_identifier(column.name)} {column.type}{' NOT NULL' if column.required else ''}"
        f"{' USING COMPRESSION zstd' if column.name in long else ''}"
        for column in table.columns
    ]
    return ", ".join([*columns, *(f"{column.name} UBIGINT" for column in table.hashes)])


def _fingerprint() -> str:
    definitions = [f"{table.name} ({column_ddl(table)})" for table in TABLES]
    return hashlib.sha256("\0".join(definitions).encode()).hexdigest()[:12]


def quote_identifier(name: str) -> str:
    """Return ``name`` as an identifier in DuckDB's SQL."""
    return '"' + name.replace('"', '""') + '"'


def quote_literal(text: str) -> str:
    """Return ``text`` as a string in DuckDB's SQL, for statements that accept no parameters."""
    return "'" + text.replace("'", "''") + "'"


def row_fingerprint(table: Table) -> str:
    """Return an SQL expression that identifies a row: the span id, or a hash of all columns for other tables."""
    if table in (ATTEMPTS, SPANS, BEGUN):
        return "span_id"
    values = ", ".join(f"CAST({quote_identifier(name)} AS VARCHAR)" for name in table.names)
    return f"md5(CAST([{values}] AS VARCHAR))"


SCHEMA: Final = _fingerprint()
"""Fingerprint of the names and columns of all tables: a store has it in ``meta``, and one with another is refused."""
