"""The calls that run: each leaves the table ``begun`` with its end, or as a lost attempt once its process is gone.

The end of a call that was taken for lost may come later, from a journal that was not there. It then replaces the lost attempt.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from tooltrace.store.database.schema import ATTEMPTS, BEGUN, STORE, Table, quote_literal
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.journal_names import prefix_of, runs_since

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Running = dict[str, float]
"""When the oldest call that runs began, by the beginning of the names of its process's journals; Unix time."""


class Gone(NamedTuple):
    """The processes of this machine that had the id ``pid`` and have ended."""

    pid: int
    before: float
    """Each of their calls began before this Unix time; infinite where no process has the id now."""


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


def gone_processes(
    con: DuckDBPyConnection, paths: StorePaths, offsets: Mapping[str, int]
) -> tuple[list[Gone], Running]:
    """Return the processes of this machine that had calls in the table ``begun`` and have ended, and the calls that run.

    A process has ended once every line of it is folded too, see ``offsets``. Processes of other machines cannot be seen.
    """
    gone: list[Gone] = []
    running: Running = {}
    for pid, starts in con.execute(
        f"SELECT pid, list(epoch(started_at)) FROM {STORE}.{BEGUN.name} WHERE host = ? AND pid IS NOT NULL GROUP BY pid",
        [socket.gethostname()],
    ).fetchall():
        prefix = prefix_of(socket.gethostname(), pid)
        before = runs_since(paths, prefix, offsets)
        if min(starts) < before:
            gone.append(Gone(pid, before))
        left = [start for start in starts if start >= before]
        if left:
            running[prefix] = min(left)
    return gone, running


def lost_attempts(gone: list[Gone]) -> str:
    """Return the query for the attempts that the calls of the processes ``gone`` become."""
    processes = " OR ".join(f"(pid = {pid} AND epoch(started_at) < '{before!r}'::DOUBLE)" for pid, before in gone)
    return (
        f"(SELECT *, 'lost' AS ending FROM {STORE}.{BEGUN.name} "
        f"WHERE host = {quote_literal(socket.gethostname())} AND ({processes}))"
    )
