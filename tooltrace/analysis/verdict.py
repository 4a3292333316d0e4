"""Verdicts: what the results of queries say, as at most three sentences with numbers and links.

A verdict is plain data. ``tooltrace.report.sentences`` turns it into text in the reader's language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tooltrace.analysis.message import MessagePart, message_parts
from tooltrace.core.visible import shortened, visible_name
from tooltrace.statistics.shares import MIN_N
from tooltrace.store.result import QueryResult

MAX_SENTENCES = 3
_MAX_FAILING = 2
"""Failing tools with a sentence of their own; the others are counted."""
_FEW_CUT_OFF = 0.05
"""Share of cut-off attempts that is not news."""
_MAX_NAMES = 3
"""Names of those others."""
INCIDENT_FAILURES = 5
"""Consecutive failures that start an incident on the pages, in reports and in verdicts."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """One value of a sentence, with a unit of ``tooltrace.analysis.header.UNITS``."""

    value: Any
    unit: str
    parts: tuple[MessagePart, ...] = ()
    """The value, an error message, as constant and varying parts; empty for other values."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence: its kind, which selects the wording, and its values by name."""

    kind: str
    values: Mapping[str, Figure] = field(default_factory=dict)
    wording: str = ""
    """The English wording with the values in braces, of a clause whose wording a query file has."""


@dataclass(frozen=True, slots=True)
class Link:
    """Something that a reader can open next, by ids: calls, a tool, or a query with its parameters."""

    kind: Literal["calls", "tool", "compare"]
    params: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: clauses in their order, and links."""

    clauses: tuple[Clause, ...]
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """At most three sentences. ``state``: whether calls fail more than usual, do not, or are too few to tell."""

    state: Literal["failing", "usual", "too_few", "empty"]
    sentences: tuple[Sentence, ...]


def tools_verdict(ranking: QueryResult, incidents: QueryResult) -> Verdict:
    """Return what the results of ``ranking`` and ``incidents``, both by tool, say about the tools in them."""
    rows = [row for row in ranking.dicts() if row["calls"] or is_hanging(row)]
    if not rows:
        return Verdict("empty", (Sentence((Clause("nothing"),)),))
    open_incidents = _open_incidents(incidents)
    failing = [row for row in rows if needs_attention(row) or row["tool"] in open_incidents]
    sentences = [_failing(row, open_incidents.get(row["tool"])) for row in failing[:_MAX_FAILING]]
    if len(failing) > _MAX_FAILING:
        names = [shortened(visible_name(str(row["tool"]))) for row in failing[_MAX_FAILING:]]
        others = ", ".join(names[:_MAX_NAMES]) + (", …" if len(names) > _MAX_NAMES else "")
        values = {"n": _count(len(names)), "tools": Figure(others, "text")}
        sentences.append(Sentence((Clause("others_fail" if len(names) > 1 else "other_fails", values),)))
    elif failing and (rest := [row for row in rows if row not in failing]):
        sentences.append(Sentence((Clause("others_usual", {"n": _count(len(rest)), **_totals(rest)}),)))
    if failing:
        return Verdict("failing", tuple(sentences[:MAX_SENTENCES]))
    if all(row["too_few"] for row in rows):
        return Verdict("too_few", (_of_all("too_few", rows), *_ended(incidents)))
    return Verdict("usual", (_of_all("usual", rows), *_ended(incidents)))


def is_failing(row: Row) -> bool:
    """Whether a row of ``ranking`` is that of a tool that fails more than its baseline, or fails now."""
    return bool(row["open_failures"]) or (row["excess_low"] or 0) > 0


def is_hanging(row: Row) -> bool:
    """Whether a row of ``ranking`` is that of a tool of whose attempts more than a few were cut off, and enough to say so."""
    return (row["cut_off_low"] or 0) > _FEW_CUT_OFF and row["attempts"] + row["cut_off"] >= MIN_N


def surely_fails(row: Row) -> bool:
    """Whether it is failing, and there are enough calls to say so."""
    return bool(row["calls"]) and is_failing(row) and not row["too_few"]


def needs_attention(row: Row) -> bool:
    """Whether a row of ``ranking`` is that of a tool that fails more than its baseline, fails now, or hangs."""
    return is_failing(row) or is_hanging(row)


def _open_incidents(incidents: QueryResult) -> dict[str, Row]:
    return {
        row["tool"]: row
        # Reversed, so that the first of several incidents of a tool remains in the dict.
        for row in reversed(incidents.dicts())
        if row["ended"] is None and not row["too_few"] and not row["bursty"]
    }


def _failing(row: Row, incident: Row | None) -> Sentence:
    changed, tool = row["changed_at"], str(row["tool"])
    if is_hanging(row) and not is_failing(row) and incident is None:
        limits = {"low": Figure(row["cut_off_low"], "share"), "high": Figure(row["cut_off_high"], "share")}
        counts = {"cut_off": _count(row["cut_off"]), "n": _count(row["attempts"] + row["cut_off"])}
        clause = Clause("hangs", {"tool": Figure(row["tool"], "text"), **counts, **limits})
        return Sentence((clause,), (Link("tool", {"name": tool}),))
    clauses = [_rise(row)]
    if changed is not None:
        clauses.append(Clause("since", {"changed_at": Figure(changed, "time")}))
    if row["version_since"] is not None:
        clauses.append(Clause("version", {"version_since": Figure(row["version_since"], "text")}))
    if row["message"] is not None or row["code"] is not None:
        clauses.append(_error(row))
    clauses.append(Clause("count", {"failed_calls": _count(row["failed_since"] or row["failed_calls"])}))
    is_open = bool(row["open_failures"]) or incident is not None
    clauses.append(
        Clause("open" if is_open else "last_failure", {"last_failed_at": Figure(row["last_failed_at"], "time")})
    )
    if row["too_few"]:
        clauses.append(Clause("few", {"low": Figure(row["low"], "share"), "high": Figure(row["high"], "share")}))
    links = [Link("calls", {"tool": tool, "status": "error"})]
    if row["version_since"] is not None:
        links.append(Link("compare", {"tool": tool, "before": row["version_before"], "after": row["version_since"]}))
    return Sentence(tuple(clauses), tuple(links))


def _rise(row: Row) -> Clause:
    """Return how many calls fail, and how many failed before: at the change if there is one, else the baseline."""
    tool = {"tool": Figure(row["tool"], "text")}
    if row["changed_at"] is not None and row["before_rate"] is not None:
        rates = {"rate": Figure(row["after_rate"], "share"), "before": Figure(row["before_rate"], "share")}
        return Clause("rose", {**tool, **rates})
    rates = {"rate": Figure(row["rate"], "share"), "before": Figure(row["baseline_rate"], "share")}
    if not is_failing(row):
        return Clause("incident", {**tool, **rates})
    return Clause("exceeds" if row["baseline_calls"] else "exceeds_assumed", {**tool, **rates})


def _error(row: Row) -> Clause:
    code, message = Figure(row["code"], "code"), row["message"]
    if message is None:
        return Clause("code", {"code": code})
    text = Figure(message, "message", message_parts(message, row["pattern"]))
    return Clause("error", {"code": code, "message": text}) if row["code"] else Clause("message", {"message": text})


def _ended(incidents: QueryResult) -> tuple[Sentence, ...]:
    """Return a sentence on the incident with the most failures, if all have ended."""
    certain = [
        row for row in incidents.dicts() if row["ended"] is not None and not row["too_few"] and not row["bursty"]
    ]
    if not certain:
        return ()
    worst = max(certain, key=lambda row: row["failures"])
    values = {
        "tool": Figure(worst["tool"], "text"),
        "started": Figure(worst["started"], "time"),
        "lasted_ms": Figure(worst["lasted_ms"], "ms"),
        "failures": _count(worst["failures"]),
    }
    return (Sentence((Clause("ended", values),), (Link("tool", {"name": str(worst["tool"])}),)),)


def _of_all(kind: str, rows: Sequence[Row]) -> Sentence:
    """Return the sentence ``kind`` on all tools; on the tool by its name if it is the only one."""
    if len(rows) == 1:
        clause = Clause(f"{kind}_of_one", {"tool": Figure(rows[0]["tool"], "text"), **_totals(rows)})
    else:
        clause = Clause(kind, {"n": _count(len(rows)), **_totals(rows)})
    return Sentence((clause, _last_call(rows)))


def _totals(rows: Sequence[Row]) -> dict[str, Figure]:
    calls, failed = sum(row["calls"] for row in rows), sum(row["failed_calls"] for row in rows)
    return {"calls": _count(calls), "failed_calls": _count(failed), "rate": Figure(failed / calls, "share")}


def _last_call(rows: Sequence[Row]) -> Clause:
    return Clause("last_call", {"last_called_at": Figure(max(row["last_called_at"] for row in rows), "time")})


def _count(value: int) -> Figure:
    return Figure(value, "count")
