"""Advice on a call that an agent is about to make, from the history of its tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from tooltrace.analysis.catalog import find
from tooltrace.analysis.evidence import Alternative, FailingArgument, Row, gather_evidence, same_arguments
from tooltrace.analysis.parameters import Time
from tooltrace.diagnosis.failures import open_failures
from tooltrace.diagnosis.finding import Finding
from tooltrace.statistics.shares import Proportion
from tooltrace.store.base import QuerySession, StoreBackend

NOW: Final = "24h"
"""The window of "now", unless the caller names another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAdvice:
    """Evidence on one tool. Rows are those of the named queries; None and empty lists where there are none."""

    tool: str
    rate: Row | None
    """The row of ``failure_rate`` in the window."""
    finding: Finding | None
    """What is wrong with the tool now, by its whole history; None where nothing is."""
    errors: Sequence[Row]
    """The rows of ``errors`` in the window, the most frequent first."""
    retry: Proportion | None
    """Second attempts that succeeded, of all calls that failed first and made one; None where no call did."""
    calibration: Row | None
    """The row of ``calibration`` over all labelled attempts."""
    same: Sequence[Row]
    """Attempts in the window with exactly the given arguments, the newest first."""
    same_read: int
    """Attempts in which they were looked for."""
    arguments: list[FailingArgument]
    alternatives: list[Alternative]


def advise(
    store: StoreBackend, tool: str, arguments: Mapping[str, Any] | None = None, *, since: Time | None = NOW
) -> ToolAdvice:
    """Return the evidence on ``tool`` since ``since``. Raises BadParameter, QueryError, StoreError."""
    if not store.exists():
        find("failure_rate").bind(since=since)
        return ToolAdvice(
            tool=tool, rate=None, finding=None, errors=(), retry=None, calibration=None, same=(), same_read=0,
            arguments=[], alternatives=[],
        )  # fmt: skip
    with store.session() as session:
        return advise_in(session, tool, arguments, since=since)


def advise_in(
    session: QuerySession, tool: str, arguments: Mapping[str, Any] | None = None, *, since: Time | None = NOW
) -> ToolAdvice:
    """Return the same from an open session. Raises BadParameter, QueryError, StoreError."""
    window: dict[str, Any] = {"since": since, "tool": tool}
    start = find("failure_rate").bind(**window)["since"]
    assert start is None or isinstance(start, datetime)

    def rows(name: str, **params: Any) -> list[dict[str, Any]]:
        return session.query(find(name).statement(**params)).dicts()

    found = gather_evidence(session, tool, start)
    return ToolAdvice(
        tool=tool,
        rate=next(iter(rows("failure_rate", **window)), None),
        finding=next(iter(open_failures(rows("states", tool=tool))), None),
        errors=rows("errors", **window),
        retry=found.retry,
        calibration=next(iter(rows("calibration", tool=tool)), None),
        same=[] if arguments is None else same_arguments(found.attempts, arguments),
        same_read=len(found.attempts),
        arguments=found.arguments,
        alternatives=found.alternatives,
    )
