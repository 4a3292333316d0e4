"""Findings about failures, from the states of the tools: broken, cut off, regressed, chronic, misused, unread, new."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from tooltrace.core.plural import format_count
from tooltrace.diagnosis.finding import Cost, Finding, Numbers
from tooltrace.diagnosis.wording import duration, limits, moment, name, names, percent, quoted
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


def _new(row: Row) -> Finding:
    sentence = f"{name(row['tool'])} is new: {format_count(row['calls'], 'call')} since {moment(row['since'])}, nothing to compare with yet."
    return _finding(row, "new", sentence, "Call it more often, or label some of its results.")


def _failing(row: Row) -> Finding:
    kind, tool = _kind(row), name(row["tool"])
    rate = f"{percent(row['rate'])} of {format_count(row['calls'], 'call')}"
    verb = "did not finish" if kind == "cut_off" else "failed"
    interval = limits(row["low"], row["high"])
    since = f"since {moment(row['since'])}"
    if row["state"] == "recovered":
        sentence = f"{tool}: {rate} {verb}{interval} from {moment(row['since'])} to {moment(row['until'])}"
    elif row["bad_in_a_row"] and row["bad_in_a_row"] == row["bad"]:
        sentence = f"{tool} {verb} in each of its last {format_count(row['bad_in_a_row'], 'call')}, {since}"
    elif row["usual_calls"]:
        sentence = f"{tool}: {rate} {verb}{interval} {since}"
    else:
        sentence = f"{tool}: {rate} {verb}{interval}, as long as it is recorded"
    if row["version_since"]:
        sentence += f", with version {name(row['version_since'])}"
    if 2 * row["lost"] > row["bad"]:
        sentence += f"; the process of {row['lost']:,} of them was gone before their end"
    if row["code"]:
        sentence += f", mostly {name(row['code'])}"
    if row["message"]:
        sentence += f" {quoted(row['message'])}"
    if row["usual_calls"]:
        sentence += f"; before, {percent(row['usual_rate'])} of {row['usual_calls']:,}"
    elif row["bad"] == row["calls"]:
        sentence += "; it has never worked"
    return _finding(row, kind, f"{sentence}.", _next_step(row, kind))


def _kind(row: Row) -> str:
    """Return the kind of a state in which calls are bad."""
    if 2 * row["cut_off"] > row["bad"]:
        return "cut_off"
    if row["state"] == "chronic":
        return "misused" if 2 * row["misused"] > row["bad"] else "chronic"
    return "regressed" if row["state"] == "recovered" else str(row["state"])


def _next_step(row: Row, kind: str) -> str:
    if row["state"] == "recovered":
        return "Nothing: it has come back."
    if row["version_before"]:
        return f"Roll back to version {name(row['version_before'])}, or see what {name(row['version_since'])} changed."
    if 2 * row["lost"] > row["bad"]:
        return (
            "It may kill its process: look for it among the kills for lack of memory, and read the arguments of its lost calls. In a "
            "process of its own it would fail alone."
        )
    if kind == "cut_off":
        after = "" if row["timeout_ms"] is None else f" after about {duration(row['timeout_ms'])}"
        return (
            f"Find out what it waits for: it is given up{after}. A timeout inside the tool gives an error with a cause."
        )
    if kind == "misused":
        return (
            f"The model calls it wrongly: {percent(row['misused'] / row['bad'])} of its failures are INVALID_PARAM or NOT_FOUND. "
            "Say in its description which arguments it takes."
        )
    return "Read its errors, and mend the most frequent one first."


def _finding(row: Row, kind: str, sentence: str, next_step: str) -> Finding:
    return Finding(
        kind=kind,
        tools=(row["tool"],),
        sentence=sentence,
        next_step=next_step,
        query=f"query errors --tool {shlex.quote(row['tool'])}",
        numbers=Numbers(row["rate"], row["low"], row["high"], row["calls"]),
        cost=Cost(max(row["excess"], 0.0), row["lost_ms"] / 1000) if row["bad"] and kind != "new" else Cost(),
        version=row["version_since"],
        since=row["since"],
        until=row["until"],
        code=row["code"],
    )


def _unread(rows: Sequence[Row]) -> Iterator[Finding]:
    """Yield one finding about all tools of which more than half of the calls are unread."""
    found = [row for row in rows if not row["too_few"] and wilson(row["unread"], row["calls"])[0] > UNREAD]
    found.sort(key=lambda row: (-row["unread"], row["tool"]))
    if not found:
        return
    n, unread, bad = (sum(row[column] for row in found) for column in ("calls", "unread", "bad"))
    of = name(found[0]["tool"]) if len(found) == 1 else f"{len(found)} tools ({names([row['tool'] for row in found])})"
    yield Finding(
        kind="unread",
        tools=tuple(row["tool"] for row in found),
        sentence=(
            f"Nothing states whether {percent(unread / n)} of {format_count(n, 'call')} of {of} worked, "
            f"so that between {percent(bad / n)} and {percent((bad + unread) / n)} of them failed."
        ),
        next_step="Return a ToolResponse, or label some of the unread results.",
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
    code = f" with {name(ordered[0].code)}" if ordered[0].code else ""
    until = "" if ended is None else f" until {moment(ended)}"
    costs = [one.cost for one in ordered]
    return replace(
        ordered[0],
        tools=tools,
        sentence=(
            f"{len(tools)} tools began to fail{code} within {int(TOGETHER.total_seconds() // 60)} minutes, since {moment(first)}{until}: "
            f"{names(tools)}. One cause is likelier than {len(tools)}."
        ),
        next_step="Look for what they share: a service, a network, a credential."
        if ended is None
        else "Nothing: they have come back.",
        query="query errors",
        cost=Cost(sum(one.calls for one in costs), sum(one.seconds for one in costs)),
        since=first,
        until=ended,
        version=None,
    )
