"""The calls that run: each leaves the table ``begun`` with its end, or as a lost attempt once its process is gone.

The end of a call that was taken for lost may come later, from a journal that was not there. It then replaces the lost attempt.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tooltrace.store.database.schema import ATTEMPTS, BEGUN, STORE, Table, quote_literal
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.journal_names import is_gone, prefix_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Processes = dict[str, int]
"""The process ids of this machine that run calls, by the beginning of the names of their journals."""


def drop_ended(con: DuckDBPyConnection, begun: str, attempts: str, new: Callable[[Table], str]) -> None:
    """Remove the calls of the table ``begun`` of which ``attempts`` has the end.

    ``new`` gives the new rows of a table in SQL: no other rows are compared. Runs in the caller's transaction.
    """
    if con.execute(f"SELECT 1 FROM {begun} LIMIT 1").fetchone() is None:
        return
    con.execute(f"DELETE FROM {begun} WHERE span_id IN (SELECT span_id FROM {new(ATTEMPTS)} AS new)")
    first, last = con.execute(f"SELECT min(started_at), max(started_at) FROM {new(BEGUN)} AS new").fetchone() or (
        None,
        None,
    )
    if first is not None:  # the range lets DuckDB skip the row groups of other times
        con.execute(
            f"DELETE FROM {begun} WHERE span_id IN (SELECT span_id FROM {attempts} WHERE started_at BETWEEN ? AND ?)",
            [first, last],
        )


def replaced_by_end(con: DuckDBPyConnection, staged: str) -> list[str]:
    """Return the span ids of the lost attempts of the store of which the table ``staged`` has the end."""
    first, last = con.execute(f"SELECT min(started_at), max(started_at) FROM {staged}").fetchone() or (None, None)
    if first is None:
        return []
    found = con.execute(
        f"SELECT span_id FROM {STORE}.{ATTEMPTS.name} WHERE started_at BETWEEN ? AND ? AND ending = 'lost' "
        f"AND span_id IN (SELECT span_id FROM {staged} WHERE ending <> 'lost')",
        [first, last],
    ).fetchall()
    return [span_id for (span_id,) in found]


def running_processes(con: DuckDBPyConnection) -> Processes:
    """Return the processes of this machine that have calls in the table ``begun``; those of others cannot be seen."""
    host = socket.gethostname()
    found = con.execute(
        f"SELECT DISTINCT pid FROM {STORE}.{BEGUN.name} WHERE host = ? AND pid IS NOT NULL", [host]
    ).fetchall()
    return {prefix_of(host, pid): pid for (pid,) in found}


def gone_processes(paths: StorePaths, running: Processes, offsets: Mapping[str, int]) -> Processes:
    """Return those of ``running`` that have ended, and of which every line is folded, see ``offsets``."""
    return {prefix: pid for prefix, pid in running.items() if is_gone(paths, prefix, offsets)}


def lost_attempts(gone: Processes) -> str:
    """Return the query for the attempts that the calls of the processes ``gone`` become."""
    pids = ", ".join(map(str, gone.values()))
    return (
        f"(SELECT *, 'lost' AS ending FROM {STORE}.{BEGUN.name} "
        f"WHERE host = {quote_literal(socket.gethostname())} AND pid IN ({pids}))"
    )
