"""The content of calls: the columns that retention empties, and since when a store has them.

Content is what a tool was given and what it returned: arguments, results, texts, messages, tracebacks.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

import duckdb

from tooltrace.core.fields import fields_of
from tooltrace.core.records import Begun, Gate, Span, ToolCall
from tooltrace.store.database.schema import ATTEMPTS, BEGUN, GATE_EVENTS, META, SPANS, STORE, Table, quote_literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_ABOUT_THE_TOOL_OR_A_PERSON: Final = ("tool_description", "answered_by")
"""Free text that says nothing about one call."""
CONTENT: Final[dict[Table, tuple[str, ...]]] = {
    table: tuple(
        field.name
        for field in fields_of(record)
        if (field.about.content or field.about.prose) and field.name not in _ABOUT_THE_TOOL_OR_A_PERSON
    )
    for table, record in ((ATTEMPTS, ToolCall), (GATE_EVENTS, Gate), (SPANS, Span), (BEGUN, Begun))
}
"""The columns that are emptied, by table."""

_PROPERTY: Final = "content_since"


def content_since(con: DuckDBPyConnection, catalog: str = STORE) -> date | None:
    """Return the first day of which the database ``catalog`` has all content; None where none was removed."""
    try:
        row = con.execute(f"SELECT value FROM {catalog}.{META.name} WHERE key = {quote_literal(_PROPERTY)}").fetchone()
    except duckdb.Error:  # only journals are read: no database is attached
        return None
    return None if row is None else date.fromisoformat(row[0])


def set_content_since(con: DuckDBPyConnection, day: date | None) -> None:
    """Note in the database attached as ``store`` that content before ``day`` was removed; None: none was."""
    con.execute(f"DELETE FROM {STORE}.{META.name} WHERE key = {quote_literal(_PROPERTY)}")
    if day is not None:
        con.execute(f"INSERT INTO {STORE}.{META.name} VALUES (?, ?)", [_PROPERTY, day.isoformat()])
