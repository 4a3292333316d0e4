"""Rows of the query ``loops`` about agents that are stuck now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, Final

from tooltrace.store.base import StoreBackend
from tooltrace.store.result import Statement

LoopRow = dict[str, Any]
"""A row of the query ``loops``, by column."""
SEARCHED: Final = timedelta(hours=1)
"""Age of the calls that are searched for running loops."""


def stuck(rows: Iterable[LoopRow]) -> list[LoopRow]:
    """Return the loops in ``rows`` without polling that waits for a change, which is not a fault."""
    return [row for row in rows if row["kind"] != "poll"]


def running(rows: Iterable[LoopRow]) -> list[LoopRow]:
    """Return the loops in ``rows`` that still run, without polling."""
    return [row for row in stuck(rows) if row["running"]]


_ARGUMENTS: Final = """
SELECT span_id, arguments
FROM attempts
WHERE started_at BETWEEN $first AND $last AND span_id IN (SELECT unnest($ids))
"""


def with_arguments(store: StoreBackend, rows: Sequence[LoopRow]) -> list[LoopRow]:
    """Return ``rows`` with the member ``arguments``: those of the last call, as JSON text, or None. Raises StoreError.

    In a loop of equal calls they are those of every round.
    """
    if not rows:
        return []
    # The last attempt of a call may be a retry, which starts later than the call: the span is that of the attempt.
    params = {
        "first": min(row["last"] for row in rows),
        "last": max(row["last"] for row in rows) + SEARCHED,
        "ids": [row["span_id"] for row in rows],
    }
    found = store.query(Statement(name="arguments_of_loops", sql=_ARGUMENTS, params=params)).rows
    arguments = {span_id: text for span_id, text in found}  # noqa: C416 - typed as a pair
    return [{**row, "arguments": arguments.get(row["span_id"])} for row in rows]
