"""Redaction of what is stored already: by the rules of ``configure(redact=…)``, in every file of the store."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import orjson
from msgspec.structs import replace

from tooltrace.core.fields import Field, fields_of
from tooltrace.core.records import Begun, Record, ToolCall
from tooltrace.redact.plain_data import json_of
from tooltrace.redact.redaction import Redaction
from tooltrace.redact.snapshot import Json
from tooltrace.store.database.connection import MEMORY_CATALOG, opened
from tooltrace.store.database.rewrite import SOURCE, RewriteReport, rewrite
from tooltrace.store.database.schema import ATTEMPTS, BEGUN, RECORDS, STORE, quote_identifier, quote_literal
from tooltrace.store.erase.erasure import change_journals, older_copies, refresh_fingerprints, rewrite_copies
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold_step import fold_locked
from tooltrace.store.journal.line_format import KINDS
from tooltrace.store.upkeep.backup import WAIT_SECONDS
from tooltrace.store.upkeep.exclusive import existing, locked
from tooltrace.store.upkeep.exports import ExportedFile, load_exports

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_REPLACED: Final = f"{MEMORY_CATALOG}.redacted_values"
"""A table in memory; it has hashes in place of the secrets, because DuckDB may write it to a temporary file."""
_BATCH: Final = 500


@dataclass(slots=True, kw_only=True)
class RedactReport:
    """Counts of the secrets that a redaction found; the secrets themselves are not in it."""

    values: dict[str, int] = field(default_factory=dict)
    """Number of values with a secret by ``table.column``."""
    lines: dict[str, int] = field(default_factory=dict)
    """Lines with a secret, or damaged ones, by journal and file of refused records."""
    copies: list[str] = field(default_factory=list)
    """Older copies of the database that were rewritten, or removed because they could not be read whole."""
    remaining: list[str] = field(default_factory=list)
    """One sentence for each file that may still have secrets."""
    exports: list[ExportedFile] = field(default_factory=list)
    """Exported files that exist and may have secrets."""
    exports_changed: dict[str, int] = field(default_factory=dict)
    """Records that were redacted in exported files, by path."""
    bytes_before: int = 0
    bytes_after: int = 0


def redact_stored(
    path: str | os.PathLike[str] | StorePaths,
    redaction: Redaction,
    *,
    dry_run: bool = False,
    wait: float | None = WAIT_SECONDS,
) -> RedactReport:
    """Replace the secrets in the store ``path`` that ``redaction`` finds, in the database and in all journals.

    Every text and JSON column is read, except ids. The database is rewritten, so that the bytes are gone. ``dry_run``:
    only count. A kill at any moment leaves a readable store; the same call completes the redaction.
    Raises StoreMissing, StoreBusy, StoreError.
    """
    paths = existing(path)
    lock = locked(paths, wait, "redacting")
    try:
        fold_locked(paths)
        report = _count(paths, redaction)
        if not dry_run and report.values:
            rewritten = _rewrite(paths, redaction)
            report.bytes_before, report.bytes_after = rewritten.bytes_before, rewritten.bytes_after
        report.lines = change_journals(paths, change_of(redaction), report.remaining, dry_run=dry_run)
        if not dry_run:
            refresh_fingerprints(paths, report.lines)
            changed, removed, remaining = rewrite_copies(older_copies(paths), lambda copy: _rewrite(copy, redaction))
            report.copies = sorted(changed + removed)
            report.remaining += [f"{path} may still have secrets: {reason}" for path, reason in remaining]
        return report
    finally:
        lock.release()


def _fields(kind: type[Any]) -> list[Field]:
    """Return the fields that may contain a secret: texts and JSON, but no ids and hashes."""
    return [
        each
        for each in fields_of(kind)
        if each.is_text and not each.name.endswith("_id") and each.name not in ("sha256", "reading_recorded")
    ]


def _changed(con: DuckDBPyConnection, catalog: str, redaction: Redaction) -> Iterator[tuple[str, str, str]]:
    """Yield ``table.column``, the value and the redacted value of each value of ``catalog`` that has a secret.

    The values are read and redacted here: an SQL function in Python would need numpy.
    """
    text, json = _redactor(redaction), _json_redactor(redaction)
    for kind, record in KINDS.items():
        table = RECORDS[kind].name
        for each in _fields(record):
            redact, column = json if each.type is Json else text, quote_identifier(each.name)
            rows = con.execute(
                f"SELECT CAST({column} AS VARCHAR) FROM {catalog}.{quote_identifier(table)} WHERE {column} IS NOT NULL"
            )
            while batch := rows.fetchmany(_BATCH):
                for (value,) in batch:
                    if (safe := redact(value)) != value:
                        yield f"{table}.{each.name}", value, safe


def _redactor(redaction: Redaction) -> Callable[[str], str]:
    return lambda value: value if redaction.may_skip(value) else redaction.redact_text(value)


def _json_redactor(redaction: Redaction) -> Callable[[str], str]:
    def redact(value: str) -> str:
        if redaction.may_skip(value):
            return value
        try:
            data = orjson.loads(value)
        except ValueError:  # JSON of DuckDB that is not standard, such as NaN
            return json_of(redaction.redact_text(value)).decode()
        safe = redaction.redact_value(data)
        return value if safe == data else json_of(safe).decode()

    return redact


def _count(paths: StorePaths, redaction: Redaction) -> RedactReport:
    with opened(paths, read_only=True) as con:
        found = Counter(name for name, _, _ in _changed(con, STORE, redaction))
        return RedactReport(values=dict(found), exports=[each for each in load_exports(con) if each.path.exists()])


def _rewrite(paths: StorePaths, redaction: Redaction) -> RewriteReport:
    return rewrite(paths, columns=_columns(), prepare=lambda con: _prepare(con, redaction))


def _prepare(con: DuckDBPyConnection, redaction: Redaction) -> None:
    """Create the table of redacted values: the column, the hash of the value, and what replaces it."""
    con.execute(f"CREATE TABLE {_REPLACED} (of_column VARCHAR, value_hash VARCHAR, safe_value VARCHAR)")
    reading = con.cursor()  # this connection inserts while the other one reads
    try:
        changed = _changed(reading, SOURCE, redaction)
        while batch := {(name, _hash(value)): safe for name, value, safe in islice(changed, _BATCH)}:
            rows = [[name for name, _ in batch], [key for _, key in batch], list(batch.values())]
            con.execute(f"INSERT INTO {_REPLACED} SELECT unnest(?), unnest(?), unnest(?)", rows)
    finally:
        reading.close()
    con.execute(f"CREATE OR REPLACE TABLE {_REPLACED} AS SELECT DISTINCT * FROM {_REPLACED}")


def _hash(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()


def _columns() -> dict[str, dict[str, str]]:
    """Return the SQL expression of each redacted column, by table and column."""
    columns: dict[str, dict[str, str]] = {}
    for kind, record in KINDS.items():
        table = RECORDS[kind].name
        replaced = {each.name: _replaced(table, each) for each in _fields(record)}
        columns[table] = {name: f"coalesce(({sql}), {quote_identifier(name)})" for name, sql in replaced.items()}
        if table in (ATTEMPTS.name, BEGUN.name):
            columns[table]["redacted"] = (
                f"CASE WHEN {' OR '.join(map(_exists, replaced.values()))} THEN true ELSE redacted END"
            )
    return columns


def _exists(sql: str) -> str:
    return f"({sql}) IS NOT NULL"


def _replaced(table: str, each: Field) -> str:
    """Return the query for what replaces the value of a column: one row, or none."""
    sql_type = "JSON" if each.type is Json else "VARCHAR"
    return (
        f"SELECT CAST(safe_value AS {sql_type}) FROM {_REPLACED} WHERE of_column = {quote_literal(f'{table}.{each.name}')} "
        f"AND value_hash = sha256(CAST({quote_identifier(each.name)} AS VARCHAR))"
    )


def change_of(redaction: Redaction) -> Callable[[Record], Record]:
    """Return the function that redacts one record; a record without secrets is returned itself."""
    text, json = _redactor(redaction), _json_redactor(redaction)

    def change(record: Record) -> Record:
        changed: dict[str, Any] = {}
        for each in _fields(type(record)):
            value = getattr(record, each.name)
            if value is None:
                continue
            safe = Json(json(value)) if each.type is Json else text(value)
            if safe != value:
                changed[each.name] = safe
        if not changed:
            return record
        if isinstance(record, ToolCall | Begun):
            changed["redacted"] = True
        return replace(record, **changed)

    return change
