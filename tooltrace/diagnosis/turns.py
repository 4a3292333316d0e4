"""What the model calls after needless calls of tools cost, in tokens and in money."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from tooltrace.diagnosis.finding import Cost, Finding
from tooltrace.store.files.prices import Prices, money

Row = Mapping[str, Any]

FAILURES: Final = frozenset({"broken", "cut_off", "regressed", "chronic", "misused"})
"""Kinds whose cost is failed calls: the model goes on differently after those than after others."""


def with_turns(findings: Iterable[Finding], turns: Iterable[Row], prices: Prices) -> list[Finding]:
    """Return ``findings`` with the cost of the model calls that their needless calls led to.

    ``turns``: rows of the query ``model_turns`` by tool. A needless call costs as much as a call of its tools does on average: a failed
    one where it is about failures. Tokens stay unknown where the store has no model calls, money where no model has a price.
    """
    by_tool: dict[str, list[Row]] = {}
    for row in turns:
        by_tool.setdefault(row["tool"], []).append(row)
    return [_with_turns(one, [row for tool in one.tools for row in by_tool.get(tool, ())], prices) for one in findings]


def _with_turns(finding: Finding, rows: list[Row], prices: Prices) -> Finding:
    prefix = "failed_" if finding.kind in FAILURES else ""
    followed = sum(row["failed" if prefix else "calls"] for row in rows)
    if finding.kind not in FAILURES | {"looping"} or not followed or not finding.cost.calls:
        return finding
    used = [(row["model"], row[f"{prefix}input_tokens"] or 0, row[f"{prefix}output_tokens"] or 0) for row in rows]
    calls = finding.cost.calls / followed
    paid = [cost for cost in (money(prices, *one) for one in used) if cost is not None]
    cost = Cost(
        finding.cost.calls,
        finding.cost.seconds,
        round(calls * sum(read + written for _model, read, written in used)),
        calls * sum(paid) if paid else None,
    )
    return replace(finding, cost=cost)
