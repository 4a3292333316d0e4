"""Evidence about one tool out of its attempts: with which arguments it fails, what worked instead, and whether retries do.

Each finding is stated only where intervals decide: 95 % Wilson intervals, wider by Bonferroni where several arguments or
tools were looked at, that do not overlap those of the rest.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import NormalDist
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import orjson

from tooltrace.store.result import Statement

MAX_ATTEMPTS: Final = 2_000
"""Newest attempts of the tool that are read."""
MAX_STEPS: Final = 20_000
"""Attempts that are read of the conversations in which the tool failed."""
MIN_N: Final = 5
"""Attempts with an argument, without it, or of another tool, below which nothing is stated."""
MIN_CONVERSATIONS: Final = 3
"""Conversations in which an argument failed, where conversations are known: calls of one are alike."""
MAX_ARGUMENTS: Final = 4_000
"""Characters of the arguments of one attempt that are read."""
_MAX_VALUE: Final = 80
_MAX_DISTANCE: Final = 10
"""Attempts after a failure in which the other tool is looked for."""

Row = Mapping[str, Any]

_ATTEMPTS: Final = f"""
SELECT span_id, call_id, conversation_id, started_at, status, code,
    left(error_message, 500) AS message, left(CAST(arguments AS TEXT), {MAX_ARGUMENTS + 1}) AS arguments
FROM attempts
WHERE tool = $tool AND ($since IS NULL OR started_at >= $since) AND is_finished(status, ending)
ORDER BY started_at DESC, span_id DESC
LIMIT {MAX_ATTEMPTS}
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


class Proportion(NamedTuple):
    """``k`` of ``n``, with the limits of an interval."""

    k: int
    n: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """K / n; 0 for none."""
        return self.k / self.n if self.n else 0.0


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


def attempts_statement(tool: str, since: datetime | None) -> Statement:
    """Return the statement for the newest finished attempts of ``tool``, with their arguments."""
    return Statement(name="evidence", sql=_ATTEMPTS, params={"tool": tool, "since": since})


def steps_statement(tool: str, since: datetime | None) -> Statement:
    """Return the statement for the attempts of all conversations in which ``tool`` failed, in their order."""
    return Statement(name="evidence", sql=_STEPS, params={"tool": tool, "since": since})


def wilson(k: int, n: int, comparisons: int = 1) -> Proportion:
    """Return ``k`` of ``n`` with the 95 % Wilson interval, wider where it is one of several ``comparisons``."""
    if not n:
        return Proportion(k, n, 0.0, 1.0)
    z = NormalDist().inv_cdf(1 - 0.025 / max(comparisons, 1))
    p, zz = k / n, z * z
    middle, half = p + zz / (2 * n), z * math.sqrt(p * (1 - p) / n + zz / (4 * n * n))
    low, high = (middle - half) / (1 + zz / n), (middle + half) / (1 + zz / n)
    return Proportion(k, n, 0.0 if k == 0 else low, 1.0 if k == n else high)


def failing_arguments(attempts: Sequence[Row]) -> list[FailingArgument]:
    """Return the arguments with which the tool fails, those with the most failures first."""
    n: Counter[tuple[str, str, bool]] = Counter()
    failed: Counter[tuple[str, str, bool]] = Counter()
    conversations: dict[tuple[str, str, bool], set[str]] = defaultdict(set)
    total = total_failed = 0
    for row in attempts:
        pairs = set(_pairs(row["arguments"]))
        if not pairs:
            continue
        is_failed = row["status"] == "error"
        total, total_failed = total + 1, total_failed + is_failed
        n.update(pairs)
        if is_failed:
            failed.update(pairs)
            for pair in pairs:
                conversations[pair].add(row["conversation_id"] or row["span_id"])
    candidates = [
        pair
        for pair in failed
        if n[pair] >= MIN_N and total - n[pair] >= MIN_N and len(conversations[pair]) >= MIN_CONVERSATIONS
    ]
    tested = 2 * len(candidates)
    found = []
    for pair in candidates:
        inside = wilson(failed[pair], n[pair], tested)
        outside = wilson(total_failed - failed[pair], total - n[pair], tested)
        if inside.low > max(outside.high, 0.5):
            found.append(FailingArgument(*pair, wilson(inside.k, inside.n), wilson(outside.k, outside.n)))
    return sorted(found, key=lambda one: (-one.failed.k, one.failed.n, one.name, one.value))


def alternatives(tool: str, steps: Sequence[Row], failing: Proportion) -> list[Alternative]:
    """Return the tools that worked after a failure of ``tool``, the surest first.

    ``failing``: failed calls of ``tool``; an alternative works more often than ``tool`` does, by both intervals.
    """
    worked: Counter[str] = Counter()
    n: Counter[str] = Counter()
    by_conversation: dict[str, list[Row]] = defaultdict(list)
    for row in steps:
        by_conversation[row["conversation_id"]].append(row)
    for rows in by_conversation.values():
        seen: set[int] = set()  # one step answers for all failures before it
        for at, row in enumerate(rows):
            if row["tool"] != tool or row["status"] != "error":
                continue
            after = range(at + 1, min(at + 1 + _MAX_DISTANCE, len(rows)))
            step = next((place for place in after if rows[place]["tool"] != tool), None)
            if step is not None and step not in seen:
                seen.add(step)
                n[rows[step]["tool"]] += 1
                worked[rows[step]["tool"]] += rows[step]["status"] != "error"
    tested = sum(count >= MIN_N for count in n.values())
    found = []
    for other, count in n.items():
        limits = wilson(worked[other], count, tested)
        if count >= MIN_N and limits.low > max(0.5, 1 - failing.low):
            found.append(Alternative(other, wilson(worked[other], count)))
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
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # an integer beyond 64 bits, which JSON permits
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
