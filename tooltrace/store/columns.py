"""The tables of a store.

The columns of a record's table are derived from the record's fields, see ``tooltrace.core.fields``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from tooltrace.core.fields import TYPES, fields_of
from tooltrace.core.records import Gate, Loss, Message, Outcome, Span, ToolCall


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its DuckDB type and its meaning."""

    name: str
    type: str
    comment: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """One table: the meaning of a row, the columns, and the column with the row's time."""

    name: str
    comment: str
    columns: tuple[Column, ...]
    time: str = ""
    view: str = ""
    """The view that users query for the table's rows; empty where they query the table itself."""

    @property
    def public(self) -> str:
        """The name that users query: the view, else the table."""
        return self.view or self.name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


TEXT, WHOLE, REAL, TRUTH, TIME, JSON = (types.sql for types in TYPES.values())


def _columns(record: type[Any]) -> tuple[Column, ...]:
    """Return the columns of ``record``: those of the first schema, then those that migrations added."""
    fields = sorted(fields_of(record), key=lambda field: field.about.late)
    return tuple(
        Column(field.name, TYPES[field.type].sql, field.about.meaning, required=not field.nullable) for field in fields
    )


ATTEMPTS: Final = Table(
    "attempts",
    "One row per attempt: one execution of a call. NULL is unknown. The view tool_calls adds what the model saw.",
    _columns(ToolCall),
    time="started_at",
    view="tool_calls",
)

OUTCOMES: Final = Table(
    "outcomes",
    "One row per later judgement: was the result right?",
    _columns(Outcome),
    time="labeled_at",
)

MESSAGES: Final = Table(
    "messages",
    "One row per message about a result that the model was given.",
    _columns(Message),
    time="at",
)

GATE_EVENTS: Final = Table(
    "gate_events",
    "Each stop for a person when it was asked for, and again when it was answered. The view gates has each once.",
    _columns(Gate),
    time="asked_at",
    view="gates",
)

LOSSES: Final = Table(
    "losses",
    "Records that were made and could not be kept, counted by reason.",
    _columns(Loss),
    time="at",
)

SPANS: Final = Table(
    "spans",
    "One row per span that is not a tool call, of any library: what stands around the calls in their traces.",
    _columns(Span),
    time="started_at",
)

JOURNALS: Final = Table(
    "journals",
    "How far each journal that is still there has been folded in.",
    (
        Column("name", TEXT, "File name of the journal.", required=True),
        Column("folded_bytes", WHOLE, "Bytes from its beginning that are in the tables.", required=True),
    ),
)

META: Final = Table(
    "meta",
    "Facts about the store itself.",
    (
        Column("key", TEXT, "What: schema_version.", required=True),
        Column("value", TEXT, "Its value.", required=True),
    ),
)

RECORDS: Final = {
    "call": ATTEMPTS,
    "outcome": OUTCOMES,
    "gate": GATE_EVENTS,
    "message": MESSAGES,
    "loss": LOSSES,
    "span": SPANS,
}
"""The table for each kind of journal line."""
TABLES: Final = (*RECORDS.values(), JOURNALS, META)
