"""The calls that run now, as far as they were written before their end, and the agents that are stuck now."""

from __future__ import annotations

import math
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

from tooltrace.errors import StoreMissing
from tooltrace.store.base import StoreBackend
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.journal_names import prefix_of, runs_since
from tooltrace.store.result import Statement

_SQL: Final = """
SELECT tool, agent, conversation_id AS conversation, call_id, span_id, attempt, started_at, service, host, pid, arguments
FROM begun
WHERE $tool IS NULL OR tool = $tool
ORDER BY started_at, span_id
"""
_NAMES: Final = (
    "tool", "agent", "conversation", "call_id", "span_id", "attempt", "started_at", "service", "host", "pid", "arguments"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A call that was written before its end; the fields are those of the table ``begun``."""

    tool: str
    agent: str | None
    conversation: str | None
    call_id: str
    span_id: str
    attempt: int
    started_at: datetime
    """UTC."""
    service: str | None
    host: str | None
    pid: int | None
    arguments: str | None
    """JSON."""
    state: Literal["running", "unknown"]
    """``unknown``: this machine cannot see whether the process still runs."""
    seconds: float
    """Seconds since the start."""


def running_calls(store: StoreBackend, tool: str | None = None) -> list[RunningCall]:
    """Return the calls of ``tool``, or of all tools, that run; the oldest first. Raises StoreError.

    None where the store is missing or not on this machine: they are not sent to others.
    """
    paths = store.files
    if paths is None:
        return []
    try:
        rows = store.query(Statement(name="running_calls", sql=_SQL, params={"tool": tool})).rows
    except StoreMissing:
        return []
    now = datetime.now(UTC)
    seen: dict[tuple[str | None, int | None], float] = {}
    calls = []
    for row in rows:
        values: dict[str, Any] = dict(zip(_NAMES, row, strict=True))
        process = (values["host"], values["pid"])
        if process not in seen:
            seen[process] = _runs_since(paths, *process)
        started = values["started_at"] = values["started_at"].replace(tzinfo=UTC)
        state: Literal["running", "unknown"] = "running" if started.timestamp() >= seen[process] else "unknown"
        calls.append(RunningCall(**values, state=state, seconds=max(0.0, (now - started).total_seconds())))
    return calls


def _runs_since(paths: StorePaths, host: str | None, pid: int | None) -> float:
    """Return the Unix time from which calls of the process run; infinite where this machine cannot see that it runs."""
    return runs_since(paths, prefix_of(host, pid)) if pid is not None and host == socket.gethostname() else math.inf


def elapsed(seconds: float) -> str:
    """Return a time for people, in its two largest units: ``2 min 5 s``."""
    parts: list[str] = []
    rest = int(seconds)
    for size, name in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        count, rest = divmod(rest, size)
        if count or (name == "s" and not parts):
            parts.append(f"{count} {name}")
    return " ".join(parts[:2])


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
