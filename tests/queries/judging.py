"""Judged attempts by the thousand: a confidence and whether it was right, and nothing else of interest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import duckdb

from tooltrace.store.database import hashes
from tooltrace.store.database.migrations import create
from tooltrace.store.database.schema import RECORDS


def tables() -> duckdb.DuckDBPyConnection:
    """The store's tables, empty, for a test that asks for them many times: they are made once."""
    con = _made()
    for table in RECORDS.values():
        con.execute(f"DELETE FROM {table.name}")
    return con


@cache
def _made() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(":memory:", config={"threads": 1})
    con.execute("SET TimeZone='UTC'")
    con.execute("ATTACH ':memory:' AS store")
    create(con)
    con.execute("USE store")
    return con


def judge(
    con: duckdb.DuckDBPyConnection,
    confidences: Sequence[float | None],
    right: Sequence[Any],
    *,
    tool: str = "search",
    conversations: Sequence[str | None] | None = None,
    signals: Sequence[str | None] | None = None,
) -> duckdb.DuckDBPyConnection:
    """Finished attempts of ``tool`` in ``con``, one for each pair; where ``right`` is None nobody judged it."""
    n = len(confidences)
    con.execute(
        """
        CREATE OR REPLACE TEMP TABLE given AS
        SELECT $tool AS tool, $tool || '_' || unnest($i) AS span_id, unnest($p) AS p, unnest($y) AS y, unnest($c) AS c,
            unnest($s) AS s
        """,
        {
            "tool": tool,
            "i": [f"{i:06}" for i in range(n)],
            "p": [None if p is None else float(p) for p in confidences],
            "y": [None if y is None else bool(y) for y in right],
            "c": list(conversations) if conversations is not None else [None] * n,
            "s": list(signals) if signals is not None else [None] * n,
        },
    )
    con.execute(
        """
        INSERT INTO attempts
            (tool, call_id, trace_id, span_id, conversation_id, started_at, status, ending, confidence, signals, attempt)
        SELECT tool, 'call_' || span_id, 'trace_' || span_id, span_id, CAST(c AS TEXT), TIMESTAMP '2026-03-01', 'success', 'returned',
            CAST(p AS DOUBLE), CAST(s AS TEXT), 1
        FROM temp.given
        """
    )
    hashes.refresh(con)
    con.execute(
        """
        INSERT INTO outcomes (span_id, correct, labeler, labeled_at)
        SELECT span_id, CAST(y AS BOOLEAN), 'check', TIMESTAMP '2026-03-02' FROM temp.given WHERE y IS NOT NULL
        """
    )
    return con


def calibrated(con: duckdb.DuckDBPyConnection, tools: int, calls: int, confidence: str) -> duckdb.DuckDBPyConnection:
    """``tools`` perfectly calibrated tools of ``calls`` judged calls. ``confidence``: SQL from ``u``, uniform in [0, 1)."""
    con.execute(
        f"""
        INSERT INTO attempts (tool, call_id, trace_id, span_id, started_at, status, ending, confidence, attempt)
        SELECT 'tool_' || tool, tool || '/' || call, tool || '/' || call, tool || '/' || call, TIMESTAMP '2026-03-01', 'success',
            'returned', {confidence}, 1
        FROM (
            SELECT tool, call, (hash(tool, call, 1) % 1000000007) / 1000000007.0 AS u
            FROM range({tools}) AS t(tool), range({calls}) AS c(call)
        )
        """
    )
    hashes.refresh(con)
    con.execute(
        """
        INSERT INTO outcomes (span_id, correct, labeler, labeled_at)
        SELECT span_id, (hash(span_id, 2) % 1000000007) / 1000000007.0 < confidence, 'check', TIMESTAMP '2026-03-02'
        FROM attempts
        """
    )
    return con
