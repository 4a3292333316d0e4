"""Forgetting: the removal of chosen calls, and of all that belongs to them, from a store for good."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb

from tooltrace.errors import ConfigError, QueryError, StoreError
from tooltrace.store.database.connection import opened
from tooltrace.store.database.schema import STORE
from tooltrace.store.erase import erasure, tombstones
from tooltrace.store.erase.erasure import ErasureReport
from tooltrace.store.erase.tombstones import CONVERSATION_ATTRIBUTES, CallPeriod, Tombstone, digest
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.scratch import has_files, sweep
from tooltrace.store.fold.fold_step import fold_locked
from tooltrace.store.upkeep.exclusive import existing, locked
from tooltrace.store.upkeep.exports import ExportedFile, load_exports

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

WAIT_SECONDS: Final = 10.0
"""Seconds that a forgetting waits for readers and folds by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The calls to forget: those that satisfy every condition that is given. At least one is required."""

    conversation_id: str | None = None
    call_id: str | None = None
    where: str | None = None
    """A condition in SQL over the columns of ``tool_calls``."""
    whole_traces: bool = False
    """Whether to forget all spans of the calls' traces, even where other calls are in these traces."""

    def __post_init__(self) -> None:
        if not (self.conversation_id or self.call_id or self.where):
            raise ConfigError(
                "nothing to forget: pass a conversation id, a call id or a condition; nothing was changed"
            )


@dataclass(slots=True, kw_only=True)
class ForgetReport:
    """The result of a forgetting."""

    attempts: int = 0
    """Attempts that the selection names."""
    calls: int = 0
    """Distinct call ids of these attempts."""
    spans_left: int = 0
    """Spans that remain because other calls are in their traces; ``whole_traces`` forgets them too."""
    erased: ErasureReport = field(default_factory=ErasureReport)
    exports: list[ExportedFile] = field(default_factory=list)
    """Exported files that may have the records: they exist, and were written after the first of the attempts began."""
    exports_changed: dict[str, int] = field(default_factory=dict)
    """Records that were removed from exported files, by path."""

    @property
    def remaining(self) -> list[str]:
        """One sentence for each file that may still have the records."""
        return self.erased.remaining


def forget(
    path: str | os.PathLike[str] | StorePaths,
    selection: Selection,
    *,
    wait: float | None = WAIT_SECONDS,
    dry_run: bool = False,
) -> ForgetReport:
    """Remove the selected calls with their messages, labels, corrections, gates and spans from the store ``path``.

    The database is rewritten, so that the bytes are gone, and the lines in journals are overwritten, also in those of
    running processes. Hashes of the ids are kept as tombstones, by which later folds, imports and recoveries leave the
    records out. A call that begins after the forgetting is recorded, whatever conversation it belongs to.

    ``wait``: seconds to wait for readers and folds; None waits without limit. ``dry_run``: only count.
    Raises StoreMissing, StoreBusy, QueryError for a wrong condition, and StoreError. A kill at any moment leaves a
    store that the next fold completes.
    """
    paths = existing(path)
    lock = locked(paths, wait, "forgetting")
    try:
        fold_locked(paths)
        report, tombstone = _select(paths, selection)
        if dry_run:
            return report
        if not report.attempts and selection.where is not None:
            return report
        try:
            tombstones.add(paths, tombstone)
        except OSError as error:
            raise StoreError(f"cannot write {tombstones.file_of(paths)}: {error}; nothing was forgotten") from error
        report.erased = erasure.complete(paths) or report.erased
        report.remaining.extend(_sentence(path) for path in sweep(paths) if has_files(path))
        return report
    finally:
        lock.release()


def _sentence(path: Path) -> str:
    return f"{path} may have the records until the process that has it ends: it removes the folder then"


def _select(paths: StorePaths, selection: Selection) -> tuple[ForgetReport, Tombstone]:
    with opened(paths, read_only=True) as con:
        con.execute(f"USE {STORE}")
        _find_attempts(con, selection)
        _find_traces_and_spans(con, selection)
        return _report(con), _tombstone(con, selection, tombstones.load(paths).key)


def _find_attempts(con: DuckDBPyConnection, selection: Selection) -> None:
    conditions, values = ["true"], []
    for column in ("conversation_id", "call_id"):
        if (value := getattr(selection, column)) is not None:
            conditions.append(f"{column} = ?")
            values.append(value)
    if selection.where is not None:
        conditions.append("span_id IN (SELECT span_id FROM chosen)")
        try:
            # line breaks around the condition: a comment at its end would hide the closing parenthesis
            if len(duckdb.extract_statements(f"SELECT 1 WHERE (\n{selection.where}\n)")) != 1:
                raise QueryError("the condition must be one SQL expression; nothing was forgotten")
            # calls that run have the columns that are known before their end; the others are NULL
            con.execute(
                "CREATE TEMP TABLE chosen AS SELECT span_id FROM (FROM tool_calls UNION ALL BY NAME FROM begun) "
                f"WHERE (\n{selection.where}\n) IS TRUE"
            )
        except duckdb.Error as error:
            raise QueryError(f"wrong condition: {' '.join(str(error).split())[:300]}; nothing was forgotten") from error
    con.execute(
        "CREATE TEMP TABLE forgotten AS SELECT span_id, call_id, trace_id, started_at "
        f"FROM (FROM attempts UNION ALL BY NAME FROM begun) WHERE {' AND '.join(conditions)}",
        values,
    )


def _find_traces_and_spans(con: DuckDBPyConnection, selection: Selection) -> None:
    """Find the traces without remaining attempts, and in the other traces the spans below forgotten attempts."""
    remaining = (
        ""
        if selection.whole_traces
        else ("EXCEPT SELECT trace_id FROM attempts WHERE span_id NOT IN (SELECT span_id FROM forgotten)")
    )
    con.execute(f"CREATE TEMP TABLE traces AS SELECT DISTINCT trace_id FROM forgotten {remaining}")
    named, values = "false", []
    if selection.conversation_id is not None and selection.call_id is None and selection.where is None:
        paths = [f"json_extract_string(attributes, '$.\"{name}\"') = ?" for name in CONVERSATION_ATTRIBUTES]
        named, values = f"coalesce({' OR '.join(paths)}, false)", [selection.conversation_id] * len(paths)
    con.execute(
        f"""
CREATE TEMP TABLE below AS
WITH RECURSIVE below AS (
    SELECT span_id FROM forgotten
    UNION
    SELECT span_id FROM spans WHERE {named}
    UNION
    SELECT s.span_id FROM spans AS s JOIN below ON s.parent_span_id = below.span_id
)
SELECT span_id FROM below
""",
        values,
    )


def _report(con: DuckDBPyConnection) -> ForgetReport:
    attempts, calls = _row(con, "SELECT count(*), count(DISTINCT call_id) FROM forgotten")
    (left,) = _row(
        con,
        "SELECT count(*) FROM spans WHERE trace_id IN (SELECT trace_id FROM forgotten) "
        "AND trace_id NOT IN (SELECT trace_id FROM traces) AND span_id NOT IN (SELECT span_id FROM below)",
    )
    (first,) = _row(con, "SELECT min(started_at) FROM forgotten")
    exports = [
        each
        for each in load_exports(con)
        if first is not None and each.written_at >= first.replace(tzinfo=UTC) and each.path.exists()
    ]
    return ForgetReport(attempts=attempts, calls=calls, spans_left=left, exports=exports)


def _row(con: DuckDBPyConnection, sql: str) -> Sequence[Any]:
    return con.execute(sql).fetchone() or (0, 0)


_WHOLE_CONVERSATIONS: Final = """
SELECT conversation_id
FROM attempts
WHERE conversation_id IN (SELECT conversation_id FROM outcomes WHERE target_kind = 'conversation')
GROUP BY conversation_id
HAVING bool_and(span_id IN (SELECT span_id FROM forgotten))
"""
"""The labelled conversations of which every attempt is forgotten."""


def _tombstone(con: DuckDBPyConnection, selection: Selection, key: str) -> Tombstone:
    now = datetime.now(UTC)
    # an id that is one of several conditions does not name all its records: the attempts that were found are named instead
    only_conversation = selection.call_id is None and selection.where is None
    only_call = selection.conversation_id is None and selection.where is None
    conversations = [selection.conversation_id] if selection.conversation_id and only_conversation else []
    whole = con.execute(_WHOLE_CONVERSATIONS).fetchall()
    calls = _periods(con, key, now)
    if selection.call_id and only_call:
        calls = [CallPeriod(id=digest(key, "call", selection.call_id), until=now, all=True)]
    return Tombstone(
        id=secrets.token_hex(8),
        at=now,
        key=key,
        spans=[digest(key, "span", span_id) for (span_id,) in con.execute("SELECT span_id FROM below").fetchall()],
        traces=[digest(key, "trace", trace) for (trace,) in con.execute("SELECT trace_id FROM traces").fetchall()],
        conversations=[digest(key, "conversation", one) for one in conversations],
        labelled=[digest(key, "conversation", one) for (one,) in whole],
        calls=calls,
    )


def _periods(con: DuckDBPyConnection, key: str, now: datetime) -> list[CallPeriod]:
    """Return when records that name only a call id are about a forgotten call.

    Of several calls with one id, such a record is about the last that started before it.
    """
    rows = con.execute(
        """
SELECT call_id, CASE WHEN has_earlier THEN min(started_at) END, next_at
FROM (
    SELECT
        call_id, started_at, is_forgotten,
        coalesce(bool_or(NOT is_forgotten) OVER (
            PARTITION BY call_id ORDER BY started_at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ), false) AS has_earlier,
        min(started_at) FILTER (WHERE NOT is_forgotten) OVER (
            PARTITION BY call_id ORDER BY started_at ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
        ) AS next_at
    FROM (
        SELECT call_id, started_at, span_id IN (SELECT span_id FROM forgotten) AS is_forgotten
        FROM attempts
        WHERE call_id IN (SELECT call_id FROM forgotten)
    )
)
WHERE is_forgotten
GROUP BY call_id, has_earlier, next_at
"""
    ).fetchall()
    return [
        CallPeriod(
            id=digest(key, "call", call_id),
            since=since and since.replace(tzinfo=UTC),
            until=min(next_at.replace(tzinfo=UTC), now) if next_at else now,
        )
        for call_id, since, next_at in rows
    ]
