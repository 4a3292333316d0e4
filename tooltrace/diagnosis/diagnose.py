"""The diagnosis of a store: all findings, in the order in which to look at them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from tooltrace.analysis.catalog import find
from tooltrace.analysis.evidence import alternatives, attempts_statement, steps_statement
from tooltrace.analysis.parameters import Time
from tooltrace.core.plural import format_count
from tooltrace.diagnosis.failures import failure_findings
from tooltrace.diagnosis.finding import Finding, Numbers
from tooltrace.diagnosis.trust import confidence_findings, hidden_findings, source_findings
from tooltrace.diagnosis.waste import loop_findings, retry_findings, slow_findings
from tooltrace.diagnosis.wording import name, percent
from tooltrace.recording import config
from tooltrace.statistics.shares import failed_proportion
from tooltrace.store.base import QuerySession, StoreBackend, open_store
from tooltrace.store.result import Statement

MAX_LOOPS: Final = 10_000
"""Loops that are read."""
MAX_ALTERNATIVES: Final = 5
"""Failing tools for which another tool is looked for."""

_LOSSES: Final = 'SELECT reason, sum("count") AS lost FROM losses GROUP BY reason ORDER BY lost DESC'


def diagnose(
    since: Time | None = None,
    *,
    until: Time | None = None,
    tool: str | None = None,
    store: str | os.PathLike[str] | StoreBackend | None = None,
) -> list[Finding]:
    """Return what is wrong with the recorded tools, the most urgent first; an empty list where nothing is.

    The whole history is read, so that a tool that broke 9 days ago is broken in every range. ``since``: leave out what ended before
    this time. ``until``: the diagnosis at this time. ``tool``: findings about this tool only. ``store``: another store than the
    configured one. Raises BadParameter, StoreError.
    """
    config.wait_until_written()
    return diagnose_store(open_store(config.queried_store(store)), since, until=until, tool=tool)


def diagnose_store(
    store: StoreBackend, since: Time | None = None, *, until: Time | None = None, tool: str | None = None
) -> list[Finding]:
    """Return the same of ``store``, without waiting for the calls of this process."""
    start = find("failure_rate").bind(since=since, until=until)["since"]
    assert start is None or isinstance(start, datetime)
    if not store.exists():
        return []
    with store.session() as session:
        found = diagnose_in(session, until=until)
    return [one for one in found if _is_within(one, start) and (tool is None or tool in one.tools)]


def diagnose_in(session: QuerySession, *, until: Time | None = None) -> list[Finding]:
    """Return all findings of the store of ``session``, also those that have ended."""

    def rows(name: str, **params: Any) -> list[dict[str, Any]]:
        found = session.query(find(name).statement(until=until, **params)).dicts()
        return [row for row in found if row.get("tool", "") is not None]

    states, calibration = rows("states"), rows("calibration")
    failing = [_with_alternative(session, one) for one in failure_findings(states)]
    findings = [
        *failing,
        *slow_findings(states, rows("drift")),
        *retry_findings(rows("retry_survival"), rows("retries")),
        *loop_findings(rows("loops", limit=MAX_LOOPS)),
        *confidence_findings(calibration, lambda tool: rows("thresholds", tool=tool)),
        *hidden_findings(rows("laundering", limit=MAX_LOOPS)),
        *source_findings(rows("sources"), calibration),
        *_lost(session),
    ]
    return sorted(findings, key=Finding.key)


def _is_within(finding: Finding, start: datetime | None) -> bool:
    """Whether the finding lasts, or ended at ``start`` or later."""
    if finding.until is None or start is None:
        return True
    at = start if start.tzinfo is None else start.astimezone(UTC).replace(tzinfo=None)
    return finding.until >= at


def _with_alternative(session: QuerySession, finding: Finding) -> Finding:
    """Return ``finding`` with the tool that worked after its failures as its next step, if there is one."""
    if not finding.open or finding.kind not in ("broken", "cut_off", "regressed", "chronic") or len(finding.tools) > 1:
        return finding
    [tool] = finding.tools
    failing = failed_proportion(session.query(attempts_statement(tool, finding.since)).dicts())
    if not failing.k:
        return finding
    others = alternatives(tool, session.query(steps_statement(tool, finding.since)).dicts(), failing)
    if not others:
        return finding
    best = others[0]
    worked = f"After its failures, {name(best.tool)} worked {best.worked.k} of {format_count(best.worked.n, 'time')}."
    return replace(finding, next_step=f"{worked} {finding.next_step}")


def _lost(session: QuerySession) -> Iterator[Finding]:
    """Yield the records that could not be stored."""
    rows = session.query(Statement(name="losses", sql=_LOSSES)).dicts()
    reasons = {row["reason"]: int(row["lost"] or 0) for row in rows}
    total = sum(reasons.values())
    if total:
        most = next(iter(reasons))
        yield Finding(
            kind="recording",
            tools=(),
            sentence=f"{format_count(total, 'record')} could not be stored, {percent(reasons[most] / total)} of them for {name(most)}.",
            next_step="Give the disk space, or the queue more room: configure(queue_size=…).",
            query="doctor",
            numbers=Numbers(float(total), None, None, total),
        )
