"""Numbers of calls and clusters that are stored with each attempt, and the calls that have several attempts.

Most queries need to know which attempts are of one call, and which calls are of one cluster. To compute these numbers of
five texts for each attempt took half of their CPU time, and so did the search for the few calls with several attempts.

The numbers are DuckDB's ``hash``, because MD5 would make a fold a fifth slower. A later version of DuckDB may compute
another hash, so ``meta`` has that of a known row. Where it differs, a fold computes all numbers again, and a reader
computes them while it reads.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from tooltrace.store.database.schema import ATTEMPTS, REPEATED_CALLS, STORE, Table, quote_literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_PROPERTY: Final = "hashes"
_SAMPLES: Final = "('t', 'c', NULL, NULL, 'h', 1, 'a trace'), ('tool', 'a longer call id than 12', 'aa01', 'a longer conversation id', NULL, NULL, '')"
"""Two attempts, with short and long texts, which DuckDB hashes in different ways."""
_FINGERPRINT: Final = (
    f"(SELECT {quote_literal(hashlib.sha256(repr([column.sql for column in ATTEMPTS.hashes]).encode()).hexdigest()[:16])} || "
    f"string_agg(concat_ws('-', '', {', '.join(column.sql for column in ATTEMPTS.hashes)}), '') "
    f"FROM (VALUES {_SAMPLES}) AS samples(tool, call_id, first_span_id, conversation_id, host, pid, trace_id))"
)
"""Text in SQL that changes with the expressions and with DuckDB's hash."""


def with_hashes(table: Table, rows: str) -> str:
    """Return the query for ``rows`` of ``table``, a table or a subquery in SQL with the columns of its records, and their numbers."""
    return f"SELECT *{''.join(f', {column.sql} AS {column.name}' for column in table.hashes)} FROM {rows} AS records"


def replaced() -> str:
    """Return the select list of attempts with their numbers computed anew."""
    return f"* REPLACE ({', '.join(f'{column.sql} AS {column.name}' for column in ATTEMPTS.hashes)})"


def are_current(con: DuckDBPyConnection) -> bool:
    """Whether the stored numbers of the database attached as ``store`` are those that ``con`` computes."""
    sql = f"SELECT value = {_FINGERPRINT} FROM {STORE}.meta WHERE key = {quote_literal(_PROPERTY)}"
    return con.execute(sql).fetchone() == (True,)


def refresh(con: DuckDBPyConnection) -> None:
    """Compute the numbers of all attempts in the database attached as ``store``, and find the repeated calls."""
    for column in ATTEMPTS.hashes:  # needs less memory than UPDATE, which keeps the former values
        con.execute(f"ALTER TABLE {STORE}.{ATTEMPTS.name} ALTER {column.name} SET DATA TYPE UBIGINT USING {column.sql}")
    find_repeated(con)
    stamp(con)


def stamp(con: DuckDBPyConnection) -> None:
    """Note in the database attached as ``store`` that its numbers are those that ``con`` computes."""
    con.execute(f"DELETE FROM {STORE}.meta WHERE key = {quote_literal(_PROPERTY)}")
    con.execute(f"INSERT INTO {STORE}.meta SELECT {quote_literal(_PROPERTY)}, {_FINGERPRINT}")


def find_repeated(con: DuckDBPyConnection) -> None:
    """Fill the table of repeated calls from all attempts of the database attached as ``store``."""
    con.execute(f"DELETE FROM {STORE}.{REPEATED_CALLS.name}")
    con.execute(
        f"INSERT INTO {STORE}.{REPEATED_CALLS.name} "
        f"SELECT call_hash FROM {STORE}.{ATTEMPTS.name} GROUP BY call_hash HAVING count(*) > 1"
    )


def add_repeated(con: DuckDBPyConnection, *, new: str, old: str) -> None:
    """Add the calls of ``new`` attempts that have several among these, or one among the ``old`` ones.

    Both are tables in SQL. No stored attempt changes. Runs in the caller's transaction.
    """
    con.execute(
        f"""
INSERT INTO {STORE}.{REPEATED_CALLS.name}
SELECT call_hash
FROM (
    SELECT call_hash FROM {new} AS new GROUP BY call_hash HAVING count(*) > 1
    UNION
    SELECT call_hash FROM {old} AS old WHERE call_hash IN (SELECT call_hash FROM {new} AS new)
) AS found
ANTI JOIN {STORE}.{REPEATED_CALLS.name} USING (call_hash)
"""
    )
