"""The first screen: how urgent the findings are, and in how many calls they were looked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal

from tooltrace.analysis.sentence import Clause, Figure, Sentence
from tooltrace.diagnosis.finding import Finding
from tooltrace.diagnosis.wording import at, count, ms, text
from tooltrace.store.result import QueryResult

MARKED: Final = frozenset({"broken", "regressed", "cut_off"})
"""Kinds of findings that begin and end at a time."""
MAX_MARKS: Final = 12
"""Findings that are marked on a time axis."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The findings of a time range, and what was seen in it."""

    state: Literal["problem", "warning", "fine", "too_few", "empty"]
    """``fine`` only where enough finished calls were seen."""
    findings: Sequence[Finding]
    """Those that last, and those that ended in the time range; the most urgent first."""
    seen: Sentence
    """How many finished calls of how many tools were seen."""

    @property
    def worrying(self) -> list[Finding]:
        """Findings that are more than notes."""
        return [one for one in self.findings if one.severity != "note"]

    @property
    def tools(self) -> frozenset[str]:
        """Tools that a problem or a warning names."""
        return frozenset(tool for one in self.worrying for tool in one.tools)


def summarize(findings: Sequence[Finding], ranking: QueryResult) -> Summary:
    """Return the summary of ``findings`` beside the rows of ``ranking`` by tool, which are of the time range."""
    rows = [row for row in ranking.dicts() if row["calls"]]
    worst = next((one.severity for one in findings if one.severity != "note"), None)
    if not rows:
        return Summary(worst or "empty", findings, Sentence((Clause("nothing"),)))
    state = worst or ("too_few" if all(row["too_few"] for row in rows) else "fine")
    kind = "seen" if worst else state
    figures: dict[str, Figure] = {
        "n": count(sum(row["calls"] for row in rows)),
        "last": at(max(row["last_called_at"] for row in rows)),
    }
    of_one = {"tool": text(rows[0]["tool"])} if len(rows) == 1 else {"tools": count(len(rows))}
    clause = Clause(f"{kind}_of_one" if len(rows) == 1 else kind, {**figures, **of_one})
    return Summary(state, findings, Sentence((clause,)))


def cost(finding: Finding) -> Sentence | None:
    """Return what a finding costs, as far as it is known; None where nothing is."""
    found, known = finding.cost, []
    if found.calls >= 0.5:
        known.append(Clause("cost.calls", {"calls": count(found.calls)}))
    if found.seconds >= 1:
        known.append(Clause("cost.seconds", {"spent": ms(1000 * found.seconds)}))
    if found.tokens:
        known.append(Clause("cost.tokens", {"tokens": count(found.tokens)}))
    if found.money:
        known.append(Clause("cost.money", {"money": Figure(found.money, "number")}))
    separated = [part for one in known for part in (Clause("comma"), one)]
    return Sentence((Clause("cost"), *separated[1:])) if known else None


def marks(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return when tools failed more than before as columns and rows, for a time axis; the most urgent first.

    A finding that is open is known to last until its last call.
    """
    names = ("tool", "started", "ended", "lasted_ms")
    found = [one for one in findings if one.kind in MARKED][:MAX_MARKS]
    rows = [
        (tool, one.since, one.until, max(end - one.since, timedelta()) / timedelta(milliseconds=1))
        for one in found
        if one.since is not None and (end := one.until or one.last) is not None
        for tool in one.tools
    ]
    return {"columns": [{"name": name} for name in names], "rows": rows}
