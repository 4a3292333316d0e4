"""Evidence about one tool out of its attempts: with which arguments it fails, what worked instead, and whether retries do.

Each finding is stated only where intervals decide that do not overlap those of the rest: 95 % intervals that count clusters,
as those of the query ``failure_rate`` do, wider by Bonferroni where several arguments or tools were looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

import orjson

from tooltrace.redact.plain_data import is_shallow, json_of
from tooltrace.statistics.shares import ClusterCounts, Proportion, failed_proportion, proportion_of
from tooltrace.store.base import QuerySession
from tooltrace.store.result import Statement

MAX_ATTEMPTS: Final = 2_000
"""Newest attempts of the tool that are read."""
MAX_STEPS: Final = 20_000
"""Attempts that are read of the conversations in which the tool failed."""
MIN_N: Final = 5
"""Attempts with an argument, without it, or of another tool, below which nothing is stated."""
MAX_ARGUMENTS: Final = 4_000
"""Characters of the arguments of one attempt that are read."""
_MAX_VALUE: Final = 80
_MAX_DISTANCE: Final = 10
"""Attempts after a failure in which the other tool is looked for."""

Row = Mapping[str, Any]

_ATTEMPTS: Final = f"""
SELECT span_id, call_id, started_at, status, code, message, arguments,
    coalesce(min(draw) OVER (PARTITION BY call_key(tool, call_id, first_span_id, conversation_id, host, pid)), span_id) AS draw
FROM (
    SELECT span_id, call_id, first_span_id, conversation_id, host, pid, tool, started_at, status, code,
        draw_key(conversation_id, trace_id) AS draw,
        left(error_message, 500) AS message, left(CAST(arguments AS TEXT), {MAX_ARGUMENTS + 1}) AS arguments
    FROM attempts
    WHERE tool = $tool AND ($since IS NULL OR started_at >= $since) AND is_finished(status, ending)
    ORDER BY started_at DESC, span_id DESC
    LIMIT {MAX_ATTEMPTS}
) AS newest
ORDER BY started_at DESC, span_id DESC
"""
_RETRIES: Final = """
WITH finished AS (
    SELECT *, draw_key(conversation_id, trace_id) AS draw
    FROM attempts
    WHERE tool = $tool AND ($since IS NULL OR started_at >= $since) AND is_finished(status, ending)
),
multi_attempt_calls AS (
    SELECT call_id FROM finished GROUP BY call_id HAVING count(*) > 1
),
numbered AS (
    SELECT status, attempt_no, min(draw) OVER of_call AS draw,
        max(CASE WHEN attempt_no = 1 THEN status END) OVER of_call AS first_status
    FROM (
        SELECT *,
            row_number() OVER (
                PARTITION BY call_key(tool, call_id, first_span_id, conversation_id, host, pid)
                ORDER BY attempt_order(attempt, started_at, span_id)
            ) AS attempt_no
        FROM finished
        WHERE call_id IN (SELECT call_id FROM multi_attempt_calls)
    ) AS ordered
    WINDOW of_call AS (PARTITION BY call_key(tool, call_id, first_span_id, conversation_id, host, pid))
),
clustered AS (
    SELECT draw, CAST(count(*) AS DOUBLE) AS n, CAST(count(*) FILTER (WHERE status <> 'error') AS DOUBLE) AS s
    FROM numbered
    WHERE attempt_no = 2 AND first_status = 'error'
    GROUP BY draw
)
SELECT count(*) AS clusters, sum(n) AS n, sum(s) AS s, sum(s * s) AS ss, sum(s * n) AS sn, sum(n * n) AS nn
FROM clustered
"""
_STEPS: Final = f"""
SELECT conversation_id, tool, started_at, span_id, status
FROM attempts
WHERE ($since IS NULL OR started_at >= $since) AND is_finished(status, ending) AND conversation_id IN (
    SELECT conversation_id FROM attempts
    WHERE tool = $tool AND status = 'error' AND ($since IS NULL OR started_at >= $since)
)
ORDER BY conversation_id, started_at, span_id
LIMIT {MAX_STEPS}
"""


@dataclass(frozen=True, slots=True)
class FailingArgument:
    """An argument with which a tool fails more often than without it."""

    name: str
    value: str
    """The value as JSON, or the host of an address."""
    is_host: bool
    failed: Proportion
    """Failed attempts with the argument."""
    others: Proportion
    """Failed attempts without it."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another tool that was called after failures of a tool, and worked more often than that tool does."""

    tool: str
    worked: Proportion


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the attempts of a tool say about its failures, and about what helps."""

    attempts: Sequence[Row]
    """The newest finished attempts, with their arguments."""
    failing: Proportion
    """Failed attempts among them."""
    retry: Proportion | None
    """Second attempts that succeeded, of all calls that failed first and made one; None where no call did."""
    arguments: list[FailingArgument]
    alternatives: list[Alternative]


def gather_evidence(session: QuerySession, tool: str, since: datetime | None) -> Evidence:
    """Return the evidence on ``tool`` since ``since``; None: all of its history. Raises QueryError, StoreError."""

    def rows(sql: str) -> list[dict[str, Any]]:
        return session.query(Statement(name="evidence", sql=sql, params={"tool": tool, "since": since})).dicts()

    attempts, [retries] = rows(_ATTEMPTS), rows(_RETRIES)
    failing = failed_proportion(attempts)
    return Evidence(
        attempts=attempts,
        failing=failing,
        retry=proportion_of(retries) if retries["n"] else None,
        arguments=failing_arguments(attempts),
        # a tool without failures needs no alternatives
        alternatives=alternatives(tool, rows(_STEPS), failing) if failing.k else [],
    )


def failing_arguments(attempts: Sequence[Row]) -> list[FailingArgument]:
    """Return the arguments with which the tool fails, those with the most failures first."""
    everything = ClusterCounts()
    by_pair: dict[tuple[str, str, bool], ClusterCounts] = defaultdict(ClusterCounts)
    for row in attempts:
        # A set: an attempt counts once for an argument, however often its arguments contain it.
        pairs = set(_pairs(row["arguments"]))
        if not pairs:
            continue
        is_failed = row["status"] == "error"
        everything.add(row["draw"], is_failed)
        for pair in pairs:
            by_pair[pair].add(row["draw"], is_failed)
    all_sums = everything.sums
    candidates = []
    for pair, counts in by_pair.items():
        sums = counts.sums
        if sums.s and MIN_N <= sums.n <= all_sums.n - MIN_N:
            candidates.append((pair, sums, everything.sums_without(counts, all_sums)))
    # Two intervals for each candidate: with the argument and without it.
    tested = 2 * len(candidates)
    found = []
    for pair, inside, outside in candidates:
        failed, others = inside.proportion(), outside.proportion()
        if failed.has_few_clusters or others.has_few_clusters:
            continue
        # More often than without the argument, and in more than half of the attempts.
        if inside.proportion(tested).low > max(outside.proportion(tested).high, 0.5):
            found.append(FailingArgument(*pair, failed, others))
    return sorted(found, key=lambda one: (-one.failed.k, one.failed.n, one.name, one.value))


def alternatives(tool: str, steps: Sequence[Row], failing: Proportion) -> list[Alternative]:
    """Return the tools that worked after a failure of ``tool``, the surest first.

    ``failing``: failed calls of ``tool``; an alternative works more often than ``tool`` does, by both intervals.
    """
    worked: dict[str, ClusterCounts] = defaultdict(ClusterCounts)
    by_conversation: dict[str, list[Row]] = defaultdict(list)
    for row in steps:
        by_conversation[row["conversation_id"]].append(row)
    for conversation, rows in by_conversation.items():
        seen: set[int] = set()  # one step answers for all failures before it
        for at, row in enumerate(rows):
            if row["tool"] != tool or row["status"] != "error":
                continue
            after = range(at + 1, min(at + 1 + _MAX_DISTANCE, len(rows)))
            step = next((place for place in after if rows[place]["tool"] != tool), None)
            if step is not None and step not in seen:
                seen.add(step)
                worked[rows[step]["tool"]].add(conversation, rows[step]["status"] != "error")
    candidates = {other: sums for other, counts in worked.items() if (sums := counts.sums).n >= MIN_N}
    found = []
    for other, sums in candidates.items():
        share = sums.proportion()
        if not share.has_few_clusters and sums.proportion(len(candidates)).low > max(0.5, 1 - failing.low):
            found.append(Alternative(other, share))
    return sorted(found, key=lambda one: (-one.worked.low, one.tool))


def same_arguments(attempts: Sequence[Row], arguments: Mapping[str, Any]) -> list[Row]:
    """Return the attempts with exactly these arguments, the newest first. The order of members does not matter."""
    wanted = _canonical(dict(arguments))
    return [row for row in attempts if (known := _loaded(row["arguments"])) is not None and _canonical(known) == wanted]


def _loaded(arguments: str | None) -> dict[str, Any] | None:
    if not arguments or len(arguments) > MAX_ARGUMENTS:
        return None
    try:
        value = orjson.loads(arguments)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _canonical(value: Any) -> bytes:
    if is_shallow(value):
        with suppress(TypeError):  # an integer beyond 64 bits, which JSON permits
            return json_of(value, sorted_names=True)
    return repr(value).encode()


def _pairs(arguments: str | None) -> Iterator[tuple[str, str, bool]]:
    """Yield the arguments that can be compared: short texts, numbers and flags, and the host of each address."""
    for name, value in (_loaded(arguments) or {}).items():
        if isinstance(value, str):
            if value.startswith(("http://", "https://")) and (host := _host(value)):
                yield name, host, True
            if len(value) > _MAX_VALUE:
                continue
        elif not isinstance(value, bool | int | float):
            continue
        yield name, _canonical(value).decode(), False


def _host(address: str) -> str | None:
    try:
        host = urlsplit(address).hostname
    except ValueError:
        return None
    return host if host and len(host) <= _MAX_VALUE else None
