"""Findings about trust: confidence that labels contradict, errors that the model did not see, sources that mislead."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from tooltrace.analysis.sentence import Figure, Sentence
from tooltrace.diagnosis.finding import Cost, Finding, Numbers
from tooltrace.diagnosis.wording import clause, count, limits, sentence, share, text
from tooltrace.statistics.shares import wilson

MIN_GAP: Final = 0.05
"""Distance of confidence and accuracy that matters."""
MIN_HIDDEN: Final = 3
"""Errors that the model did not see, from which it is no accident."""
PRECISION: Final = 0.9
"""Share of right results that a threshold is recommended for."""

Row = Mapping[str, Any]


def confidence_findings(calibration: Iterable[Row], thresholds: Callable[[str], Iterable[Row]]) -> Iterator[Finding]:
    """Yield the tools whose mean confidence differs from the share right: rows of ``calibration`` by tool.

    ``thresholds``: function that returns the rows of the query ``thresholds`` of a tool.
    """
    for row in calibration:
        gap, low, high = row["gap"], row["gap_low"], row["gap_high"]
        if row["too_few"] or None in (gap, low, high) or abs(gap) < MIN_GAP or low <= 0 <= high:
            continue
        over, n = gap > 0, row["n"]
        kind = "overconfident" if over else "underconfident"
        ends = sorted((abs(100 * low), abs(100 * high)))
        said = sentence(
            kind,
            tool=text(row["tool"]),
            confidence=share(row["mean_confidence"]),
            accuracy=share(row["accuracy"]),
            n=count(n),
            gap=count(abs(100 * gap)),
            low=count(ends[0]),
            high=count(ends[1]),
        )
        yield Finding(
            kind=kind,
            tools=(row["tool"],),
            said=said,
            steps=(_threshold(thresholds(row["tool"])) if over else sentence("step.raise"),),
            query=f"query reliability --tool {shlex.quote(row['tool'])}",
            numbers=Numbers(gap, low, high, n),
            cost=Cost(gap * n if over else 0.0),
        )


def _threshold(rows: Iterable[Row]) -> Sentence:
    found = next(
        (
            row
            for row in rows
            if row["precision_asked"] >= PRECISION and row["threshold"] is not None and not row["too_few"]
        ),
        None,
    )
    if found is None:
        return sentence("step.no_threshold")
    return sentence(
        "step.threshold",
        threshold=Figure(round(found["threshold"], 2), "number"),
        precision=share(found["precision"]),
        n=count(found["n"]),
        coverage=share(found["coverage"]),
    )


def hidden_findings(laundering: Iterable[Row]) -> Iterator[Finding]:
    """Yield the tools whose errors the model did not see: rows of ``laundering`` by tool, whose counts are of the tool."""
    seen = set()
    for row in laundering:
        if row["tool"] in seen or row["n"] < MIN_HIDDEN:
            continue
        seen.add(row["tool"])
        unseen = clause("hidden", tool=text(row["tool"]), k=count(row["n"]), n=count(row["errors"]))
        yield Finding(
            kind="hidden",
            tools=(row["tool"],),
            said=Sentence((unseen, *limits(row["low"], row["high"]), clause("hidden_how"))),
            steps=(sentence("step.text"),),
            query=f"query laundering --tool {shlex.quote(row['tool'])}",
            numbers=Numbers(row["share"], row["low"], row["high"], row["errors"]),
            cost=Cost(float(row["n"])),
        )


def source_findings(sources: Iterable[Row], calibration: Iterable[Row]) -> Iterator[Finding]:
    """Yield the sources whose results are wrong more often than the tool's others: rows of ``sources`` by tool.

    The intervals are wider by Bonferroni for the sources that were compared.
    """
    rows = [row for row in sources if row["labelled"] and row["accuracy"] is not None and row["source"] is not None]
    totals = {row["tool"]: (row["n"], round(row["accuracy"] * row["n"])) for row in calibration if row["n"]}
    for row in rows:
        n, right = row["labelled"], round(row["accuracy"] * row["labelled"])
        all_n, all_right = totals.get(row["tool"], (0, 0))
        other_n, other_right = all_n - n, all_right - right
        if other_n < n / 4 or other_n <= 0 or not 0 <= other_right <= other_n or row["too_few"]:
            continue
        high = wilson(right / (row["design_effect"] or 1), n / (row["design_effect"] or 1), 2 * len(rows))[1]
        if high >= wilson(other_right, other_n, 2 * len(rows))[0]:
            continue
        expected = other_right / other_n
        right_of = clause(
            "source",
            tool=text(row["tool"]),
            n=count(n),
            source=text(str(row["source"])),
            accuracy=share(row["accuracy"]),
        )
        yield Finding(
            kind="misleading_source",
            tools=(row["tool"],),
            said=Sentence(
                (right_of, *limits(row["low"], row["high"]), clause("source_others", others=share(expected)))
            ),
            steps=(sentence("step.source"),),
            query=f"query sources --tool {shlex.quote(row['tool'])}",
            numbers=Numbers(row["accuracy"], row["low"], row["high"], n),
            cost=Cost((expected - row["accuracy"]) * n),
        )
