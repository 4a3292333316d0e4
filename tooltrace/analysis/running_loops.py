"""Rows of the query ``loops`` about agents that are stuck now."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

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
