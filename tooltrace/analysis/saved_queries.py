"""Queries in SQL that people saved in a store under a name.

A saved query is a record like a label: it is appended to a journal of the store, so that it can be saved while others
record. A query is not changed or removed there; of several records with one name the latest counts.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from tooltrace.core.records import SavedQuery
from tooltrace.errors import BadParameter, UnknownQuery, UnsupportedByStore, near
from tooltrace.recording.settings import Settings
from tooltrace.redact.sanitizer import Sanitizer
from tooltrace.store.base import StoreBackend
from tooltrace.store.result import Statement

MAX_NAME_LENGTH: Final = 80
MAX_SQL_LENGTH: Final = 200_000
AUTHOR: Final = "human"
"""Author of a query where nobody is named."""

# NULLS FIRST: of a query that was saved and deleted at the same time, the deletion counts.
_LATEST: Final = """
SELECT "name", "sql", saved_by, saved_at
FROM saved_queries
QUALIFY row_number() OVER (PARTITION BY "name" ORDER BY saved_at DESC, "sql" NULLS FIRST) = 1
ORDER BY "name"
"""


def require_supported(store: StoreBackend) -> None:
    """Raise UnsupportedByStore where the store cannot save queries."""
    if not store.can_save_queries:
        raise UnsupportedByStore(
            f"the store {store} cannot save queries: keep the SQL in a file, or use a local store; nothing was saved"
        )


def saved_queries(store: StoreBackend) -> dict[str, SavedQuery]:
    """Return the saved queries of ``store`` by name; empty for a store that does not exist yet.

    Raises StoreError, and UnsupportedByStore for a store that has none.
    """
    require_supported(store)
    if not store.exists():
        return {}
    rows = store.query(Statement(sql=_LATEST), missing_ok=True).rows
    found = [
        SavedQuery(name=name, sql=sql, saved_by=author, saved_at=at.replace(tzinfo=UTC))
        for name, sql, author, at in rows
    ]
    return {query.name: query for query in found if query.sql is not None}


def saved_query(store: StoreBackend, name: str) -> SavedQuery:
    """Return the saved query ``name``. Raises UnknownQuery, StoreError, UnsupportedByStore."""
    found = saved_queries(store)
    if name not in found:
        raise UnknownQuery(f"no query is saved as {name[:MAX_NAME_LENGTH]!r}{near(name, list(found))}")
    return found[name]


def save_query(store: StoreBackend, name: str, sql: str, *, saved_by: str | None = None) -> SavedQuery:
    """Save ``sql`` as ``name`` in ``store``, in place of an earlier one; ``saved_by`` names the person.

    Raises BadParameter for an invalid name or SQL, StoreError where it cannot be written, UnsupportedByStore.
    """
    require_supported(store)
    query = _checked(name, sql, saved_by)
    store.write([query])
    return query


def delete_query(store: StoreBackend, name: str, *, deleted_by: str | None = None) -> None:
    """Delete the saved query ``name`` from the list. Raises UnknownQuery, StoreError, UnsupportedByStore."""
    saved_query(store, name)
    store.write([SavedQuery(name=name, sql=None, saved_by=_author(deleted_by), saved_at=datetime.now(UTC))])


def _checked(name: str, sql: str, saved_by: str | None) -> SavedQuery:
    name, sql = name.strip(), sql.strip()
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise BadParameter(
            f"the name of a saved query must have 1 to {MAX_NAME_LENGTH} printable characters; got {name[:100]!r}"
        )
    if not sql or len(sql) > MAX_SQL_LENGTH:
        raise BadParameter(f"a saved query must have 1 to {MAX_SQL_LENGTH:,} characters of SQL; got {len(sql):,}")
    settings = Settings(store=None)
    sanitizer = Sanitizer((settings.redaction,), 4 * MAX_SQL_LENGTH)
    for what, text in (("name", name), ("SQL", sql)):
        if sanitizer.sanitize_text("sql", text) != text:
            raise BadParameter(
                f"the {what} of the query has a text in the form of a secret, or invalid characters: remove it; nothing was "
                "saved"
            )
    return SavedQuery(name=name, sql=sql, saved_by=_author(saved_by), saved_at=datetime.now(UTC))


def _author(name: str | None) -> str:
    settings = Settings(store=None)
    text = Sanitizer((settings.redaction,), settings.field_limit).sanitize_text(
        "saved_by", (name or "").strip() or AUTHOR
    )
    return (text or AUTHOR)[:MAX_NAME_LENGTH]
