"""Findings about time and tokens: slow tools, retries that do not help, conversations stuck in equal calls."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from tooltrace.analysis.sentence import Sentence
from tooltrace.diagnosis.finding import Cost, Finding, Numbers
from tooltrace.diagnosis.wording import at, clause, count, limits, ms, names, sentence, text
from tooltrace.statistics.shares import interval

SLOWER: Final = 1.5
"""How many times as long the median must be for a change of latency to matter."""
MIN_SLOWER_MS: Final = 100.0
"""Rise of the median below which nobody waits longer."""
NEAR_TIMEOUT: Final = 0.75
"""Share of a tool's own timeout that its 95th percentile reaches."""
MIN_TIMEOUT_MS: Final = 1_000.0
"""Timeouts that are shorter are not those of a tool that waits for something."""
RECOVERS: Final = 0.2
"""Share of retries that succeed, below which they are useless if the upper limit of its interval is below it."""

Row = Mapping[str, Any]


def slow_findings(states: Iterable[Row]) -> Iterator[Finding]:
    """Yield the tools whose 95th percentile is near their own timeout, and those whose latency rose. Rows are by tool."""
    for row in states:
        if row["state"] == "recovered":
            continue
        late, p95, known = row["timeout_ms"], row["p95"], not row["too_few"]
        before, after = row["median_before"], row["median_after"]
        if known and late and p95 and late >= MIN_TIMEOUT_MS and NEAR_TIMEOUT * late <= p95 <= 1.1 * late:
            yield Finding(
                kind="slow",
                tools=(row["tool"],),
                said=sentence("slow_timeout", tool=text(row["tool"]), p95=ms(p95), timeout=ms(late)),
                steps=(sentence("step.faster"),),
                query=f"query latency --tool {shlex.quote(row['tool'])}",
                numbers=Numbers(p95, None, None, row["calls"]),
            )
        elif after is not None and after >= max(SLOWER * before, before + MIN_SLOWER_MS):
            yield Finding(
                kind="slow",
                tools=(row["tool"],),
                said=sentence(
                    "slower", tool=text(row["tool"]), after=ms(after), since=at(row["slower_since"]), before=ms(before)
                ),
                steps=(sentence("step.compare"),),
                query=f"query drift --tool {shlex.quote(row['tool'])}",
                numbers=Numbers(after, None, None, row["calls_since"]),
                cost=Cost(0.0, (after - before) / 1000 * row["calls_since"]),
                since=row["slower_since"],
            )


def retry_findings(survival: Iterable[Row], retries: Callable[[str], Iterable[Row]]) -> Iterator[Finding]:
    """Yield the tools whose second attempts hardly ever succeed: rows of ``retry_survival`` by tool.

    ``retries``: function that returns the rows of the query ``retries`` of a tool.
    """
    for row in survival:
        n, k = row["at_risk"], row["succeeded"]
        if row["k"] != 2 or not n:
            continue
        low, high = interval(k, n, max(n / (row["design_effect"] or 1.0), 1.0))
        if high >= RECOVERS:
            continue
        lost = sum(spent["wasted_ms"] or 0.0 for spent in retries(row["tool"])) / 1000
        helped = "never" if not k else "hardly"
        helping = clause(f"retries_{helped}", tool=text(row["tool"]), k=count(k), n=count(n))
        yield Finding(
            kind="useless_retries",
            tools=(row["tool"],),
            said=Sentence((helping, *limits(low, high))),
            steps=(sentence(f"step.retries_{helped}"),),
            query=f"query retries --tool {shlex.quote(row['tool'])}",
            numbers=Numbers(k / n, low, high, n),
            cost=Cost(0.0, lost),
        )


def loop_findings(loops: Iterable[Row]) -> Iterator[Finding]:
    """Yield the rounds of tools in which conversations were stuck: rows of ``loops``, polls left out."""
    by_tools: dict[str, list[Row]] = {}
    for row in loops:
        if row["kind"] != "poll":
            by_tools.setdefault(row["tools"], []).append(row)
    for tools, rows in by_tools.items():
        conversations = len({row["conversation"] for row in rows})
        tokens = sum(row["wasted_tokens"] or 0 for row in rows)
        seconds = sum(row["wasted_ms"] or 0.0 for row in rows) / 1000
        most = max(row["repeats"] for row in rows)
        running = sum(bool(row["running"]) for row in rows)
        again = sum((row["repeats"] - 1) * row["length"] for row in rows)
        repeated = clause("loops", n=count(conversations), tools=names([tools]), most=count(most))
        now = [clause("loops_now", n=count(running))] if running else []
        spent = clause("loops_spent", spent=ms(1000 * seconds), tokens=count(tokens))
        yield Finding(
            kind="looping",
            tools=tuple(dict.fromkeys(part.strip() for part in tools.split(","))),
            said=Sentence((repeated, *now, spent)),
            steps=(sentence("step.loops"),),
            query="query loops",
            numbers=Numbers(float(len(rows)), None, None, conversations),
            cost=Cost(float(again), seconds, int(tokens)),
            since=min(row["first"] for row in rows),
        )
