"""Findings about failures, from the states of the tools: broken, cut off, regressed, chronic, misused, unread, new."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from tooltrace.analysis.sentence import Link, Sentence
from tooltrace.diagnosis.finding import Cost, Finding, Numbers
from tooltrace.diagnosis.wording import at, clause, code, count, limits, message, ms, names, sentence, share, text
from tooltrace.statistics.shares import wilson

UNREAD: Final = 0.5
"""Share of calls that nothing states whether they worked, above which the failure rate is only a lower limit."""
TOGETHER: Final = timedelta(minutes=15)
"""Tools that begin to fail with one code within this time have one cause."""
MIN_TOGETHER: Final = 3
"""Tools that are said as one cause."""

Row = Mapping[str, Any]


def failure_findings(states: Iterable[Row]) -> list[Finding]:
    """Return what the rows of ``states``, by tool, say: tools that fail from one cause as one finding."""
    rows = list(states)
    new = [_new(row) for row in rows if row["state"] == "new"]
    failing = [_failing(row) for row in rows if row["state"] not in ("new", "fine")]
    return [*_one_cause(failing), *new, *_unread([row for row in rows if row["state"] != "recovered"])]


def open_failures(states: Iterable[Row]) -> list[Finding]:
    """Return the findings of ``states`` that say that calls fail or are cut off now, the most urgent first."""
    found = [one for one in failure_findings(states) if one.open and one.severity != "note"]
    return sorted(found, key=Finding.key)


def _new(row: Row) -> Finding:
    said = sentence("new", tool=text(row["tool"]), n=count(row["calls"]), since=at(row["since"]))
    return _finding(row, "new", said, sentence("step.new"))


def _failing(row: Row) -> Finding:
    kind = _kind(row)
    verb = "cut" if kind == "cut_off" else "failed"
    tool, n = text(row["tool"]), count(row["calls"])
    if row["state"] != "recovered" and row["bad_in_a_row"] and row["bad_in_a_row"] == row["bad"]:
        clauses = [clause(f"{verb}_each", tool=tool, n=count(row["bad_in_a_row"]))]
    else:
        clauses = [clause(verb, tool=tool, rate=share(row["rate"]), n=n), *limits(row["low"], row["high"])]
    if row["state"] == "recovered":
        clauses.append(clause("between", since=at(row["since"]), until=at(row["until"])))
    elif row["usual_calls"] or row["state"] == "broken":
        clauses.append(clause("since", since=at(row["since"])))
    else:
        clauses.append(clause("always"))
    if row["version_since"]:
        clauses.append(clause("version", version=text(row["version_since"])))
    if 2 * row["lost"] > row["bad"]:
        clauses.append(clause("lost_calls", k=count(row["lost"])))
    if row["code"]:
        clauses.append(clause("code", code=code(row["code"])))
    if row["message"]:
        clauses.append(clause("message", message=message(row["message"])))
    if row["usual_calls"]:
        clauses.append(clause("before", rate=share(row["usual_rate"]), n=count(row["usual_calls"])))
    elif row["bad"] == row["calls"]:
        clauses.append(clause("never"))
    return _finding(row, kind, Sentence(tuple(clauses), _links(row)), _next_step(row, kind))


def _links(row: Row) -> tuple[Link, ...]:
    """Return the links to the failed calls, and to a comparison where a version came with them."""
    calls = Link("calls", {"tool": row["tool"], "status": "error"})
    if not row["version_before"]:
        return (calls,)
    sides = {"before": row["version_before"], "after": row["version_since"]}
    return calls, Link("compare", {"tool": row["tool"], **sides})


def _kind(row: Row) -> str:
    """Return the kind of a state in which calls are bad."""
    if 2 * row["cut_off"] > row["bad"]:
        return "cut_off"
    if row["state"] == "chronic":
        return "misused" if 2 * row["misused"] > row["bad"] else "chronic"
    return "regressed" if row["state"] == "recovered" else str(row["state"])


def _next_step(row: Row, kind: str) -> Sentence:
    if row["state"] == "recovered":
        return sentence("step.recovered")
    if row["version_before"]:
        return sentence("step.roll_back", before=text(row["version_before"]), after=text(row["version_since"]))
    if 2 * row["lost"] > row["bad"]:
        return sentence("step.kills")
    if kind == "cut_off":
        late = row["timeout_ms"]
        return sentence("step.waits") if late is None else sentence("step.waits_after", timeout=ms(late))
    if kind == "misused":
        return sentence("step.misused", share=share(row["misused"] / row["bad"]))
    return sentence("step.errors")


def _finding(row: Row, kind: str, said: Sentence, step: Sentence) -> Finding:
    return Finding(
        kind=kind,
        tools=(row["tool"],),
        said=said,
        steps=(step,),
        query=f"query errors --tool {shlex.quote(row['tool'])}",
        numbers=Numbers(row["rate"], row["low"], row["high"], row["calls"]),
        cost=Cost(max(row["excess"], 0.0), row["lost_ms"] / 1000) if row["bad"] and kind != "new" else Cost(),
        version=row["version_since"],
        since=row["since"],
        until=row["until"],
        last=row["last_called_at"],
        code=row["code"],
    )


def _unread(rows: Sequence[Row]) -> Iterator[Finding]:
    """Yield one finding about all tools of which more than half of the calls are unread."""
    found = [row for row in rows if not row["too_few"] and wilson(row["unread"], row["calls"])[0] > UNREAD]
    found.sort(key=lambda row: (-row["unread"], row["tool"]))
    if not found:
        return
    n, unread, bad = (sum(row[column] for row in found) for column in ("calls", "unread", "bad"))
    tools = [row["tool"] for row in found]
    of = {"tool": text(tools[0])} if len(tools) == 1 else {"k": count(len(tools)), "tools": names(tools)}
    figures = {"rate": share(unread / n), "n": count(n), "low": share(bad / n), "high": share((bad + unread) / n)}
    yield Finding(
        kind="unread",
        tools=tuple(tools),
        said=sentence("unread" if len(tools) == 1 else "unread_tools", **figures, **of),
        steps=(sentence("step.read"),),
        query="query to_label",
        numbers=Numbers(unread / n, *wilson(unread, n), n),
    )


def _one_cause(findings: list[Finding]) -> list[Finding]:
    """Return ``findings``, where tools that began to fail together, with one code, are one finding."""
    alike: dict[tuple[str | None, bool], list[Finding]] = {}
    rest = []
    for one in sorted(findings, key=lambda each: (each.since is None, each.since)):
        if one.kind in ("broken", "regressed", "cut_off") and one.since is not None:
            alike.setdefault((one.code, one.open), []).append(one)
        else:
            rest.append(one)
    for group in alike.values():
        while group:
            first = group[0].since
            assert first is not None
            together = [one for one in group if one.since is not None and one.since - first <= TOGETHER]
            group[:] = group[len(together) :]
            rest += [_merged(together)] if len(together) >= MIN_TOGETHER else together
    return rest


def _merged(findings: list[Finding]) -> Finding:
    ordered = sorted(findings, key=Finding.key)
    tools = tuple(tool for one in ordered for tool in one.tools)
    first = min(one.since for one in ordered if one.since is not None)
    ended = None if ordered[0].open else max(one.until for one in ordered if one.until is not None)
    shared = ordered[0].code
    clauses = [
        clause("together", n=count(len(tools)), minutes=count(TOGETHER.total_seconds() / 60)),
        clause("since", since=at(first)) if ended is None else clause("between", since=at(first), until=at(ended)),
        *([clause("code", code=code(shared))] if shared else []),
        clause("one_cause", n=count(len(tools)), tools=names(tools)),
    ]
    costs = [one.cost for one in ordered]
    return replace(
        ordered[0],
        tools=tools,
        said=Sentence(tuple(clauses)),
        steps=(sentence("step.shared" if ended is None else "step.recovered_all"),),
        query="query errors",
        cost=Cost(sum(one.calls for one in costs), sum(one.seconds for one in costs)),
        since=first,
        until=ended,
        last=max((one.last for one in ordered if one.last is not None), default=None),
        version=None,
    )
