"""The diagnosis of a store: all findings, in the order in which to look at them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from tooltrace.analysis.catalog import find
from tooltrace.analysis.evidence import gather_evidence
from tooltrace.analysis.parameters import Time
from tooltrace.diagnosis.failures import failure_findings
from tooltrace.diagnosis.finding import Finding, Numbers
from tooltrace.diagnosis.trust import confidence_findings, hidden_findings, source_findings
from tooltrace.diagnosis.turns import with_turns
from tooltrace.diagnosis.waste import loop_findings, retry_findings, slow_findings
from tooltrace.diagnosis.wording import count, sentence, share, text
from tooltrace.recording import config
from tooltrace.store.base import QuerySession, StoreBackend, open_store
from tooltrace.store.files.prices import Prices, read_prices
from tooltrace.store.result import Statement

MAX_ADVISED: Final = 8
"""Findings about failures for which the history is asked what helps, the most urgent ones."""
MAX_LOOPS: Final = 10_000
"""Loops that are read."""

_HAS_SPANS: Final = "SELECT 1 FROM spans LIMIT 1"
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
        found = diagnose_in(session, read_prices(store.files), until=until)
    return within(found, start, tool)


def diagnose_in(session: QuerySession, prices: Prices, *, until: Time | None = None) -> list[Finding]:
    """Return all findings of the store of ``session``, also those that have ended; ``prices`` are those of its models."""

    def rows(name: str, **params: Any) -> list[dict[str, Any]]:
        found = session.query(find(name).statement(until=until, **params)).dicts()
        return [row for row in found if row.get("tool", "") is not None]

    states, calibration = rows("states"), rows("calibration")
    failing = sorted(failure_findings(states), key=Finding.key)
    failing[:MAX_ADVISED] = [_with_evidence(session, one) for one in failing[:MAX_ADVISED]]
    findings = [
        *failing,
        *slow_findings(states),
        *retry_findings(rows("retry_survival"), lambda tool: rows("retries", tool=tool)),
        *loop_findings(rows("loops", limit=MAX_LOOPS)),
        *confidence_findings(calibration, lambda tool: rows("thresholds", tool=tool)),
        *hidden_findings(rows("laundering", limit=MAX_LOOPS)),
        *source_findings(rows("sources"), calibration),
        *_lost(session),
    ]
    if any(one.cost.calls for one in findings) and session.query(Statement(name="has_spans", sql=_HAS_SPANS)).rows:
        findings = with_turns(findings, rows("model_turns"), prices)
    return sorted(findings, key=Finding.key)


def within(findings: Iterable[Finding], since: datetime | None, tool: str | None = None) -> list[Finding]:
    """Return the findings that last or ended at ``since`` or later, about ``tool`` where that is given."""
    start = since if since is None or since.tzinfo is None else since.astimezone(UTC).replace(tzinfo=None)
    return [
        one
        for one in findings
        if (one.until is None or start is None or one.until >= start) and (tool is None or tool in one.tools)
    ]


def _with_evidence(session: QuerySession, finding: Finding) -> Finding:
    """Return ``finding`` with what its history advises as its first steps: another tool, a retry, an argument to avoid."""
    if not finding.open or finding.severity == "note" or len(finding.tools) > 1:
        return finding
    [tool] = finding.tools
    found = gather_evidence(session, tool, finding.began)
    if not found.failing.k:
        return finding
    steps = []
    if found.alternatives:
        worked = found.alternatives[0].worked
        steps.append(
            sentence("step.alternative", other=text(found.alternatives[0].tool), k=count(worked.k), n=count(worked.n))
        )
    if found.retry is not None and found.retry.low > 0.5:
        steps.append(sentence("step.retry", k=count(found.retry.k), n=count(found.retry.n)))
    if found.arguments:
        one = found.arguments[0]
        counts = {"k": count(one.failed.k), "n": count(one.failed.n)}
        rest = {"k_other": count(one.others.k), "n_other": count(one.others.n)}
        steps.append(sentence("step.argument", argument=text(one.name), value=text(one.value), **counts, **rest))
    return replace(finding, steps=(*steps, *finding.steps))


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
            said=sentence("lost", n=count(total), share=share(reasons[most] / total), reason=text(most)),
            steps=(sentence("step.disk"),),
            query="doctor",
            numbers=Numbers(float(total), None, None, total),
        )
