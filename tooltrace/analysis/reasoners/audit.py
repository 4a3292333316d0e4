"""The checklist: what the attempts of a group say about each point, and whether it is passed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from string import Formatter
from typing import Any, Final, NamedTuple

import numpy as np

from tooltrace.analysis.reasoners.audit_points import POINTS, SENTENCES
from tooltrace.analysis.reasoners.histories import histories
from tooltrace.analysis.reasoners.labels import Labels
from tooltrace.analysis.reasoning import RowDict
from tooltrace.statistics.arrays import cluster_sums, codes_of
from tooltrace.statistics.calibration import Calibration, measure_calibration
from tooltrace.statistics.shares import Proportion, is_few
from tooltrace.store.result import Gathered

_CALLS = ("contradicted_call", "guessed_call", "continued_call")


class Group(NamedTuple):
    """What was counted in a group, and what its labels and retries say."""

    counts: Mapping[str, int]
    calls: Mapping[str, str | None]
    clusters: int
    calibration: Calibration | None
    retries: Proportion


class Judgement(NamedTuple):
    """Whether a point is passed, how many items it was judged on, and the sentence with its numbers."""

    passed: bool | None
    n: int
    sentence: str
    numbers: Mapping[str, float]


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> Iterator[RowDict]:
    """Yield the points of each group."""
    for names, columns in histories(gathered):
        group = _group(names, columns, gathered)
        for number in range(1, min(parameters["points"], len(POINTS)) + 1):
            yield names | _row(number, group, parameters)


def _group(names: RowDict, columns: Mapping[str, Any], gathered: Gathered) -> Group:
    known = {name: column for name, column in columns.items() if name not in (*gathered.groups, *_CALLS)}
    counts = {
        name: int(np.nansum(column))
        for name, column in known.items()
        if name not in ("cluster", "bin", "confidence_of_labelled")
    }
    bins = np.asarray(columns["bin"], dtype=float)
    counts["sure"] = int(columns["attempts"][~np.isnan(bins)].sum())
    clusters = codes_of(columns["cluster"])
    labelled = np.asarray(columns["labelled"], dtype=float)
    sums = np.asarray(columns["confidence_of_labelled"], dtype=float)
    p = np.where(labelled > 0, sums / np.maximum(labelled, 1), (bins + 0.5) / 10)
    p = np.where(np.isnan(bins), np.nan, p)
    attempts, right = (np.asarray(columns[name], dtype=float) for name in ("attempts", "right_n"))
    labels = Labels(names, p, clusters, attempts, labelled, right)
    judged = labels.judged
    retried, recovered = (np.asarray(columns[name], dtype=float) for name in ("retried", "recovered"))
    return Group(
        counts=counts,
        calls={name: min((call for call in columns[name] if call is not None), default=None) for name in _CALLS},
        clusters=len(np.unique(clusters)),
        calibration=measure_calibration(judged.p, judged.right, judged.clusters, judged.labelled, labels.weights())
        if len(judged.p)
        else None,
        retries=cluster_sums(clusters, recovered, retried).proportion(),
    )


def _row(number: int, group: Group, parameters: Mapping[str, Any]) -> RowDict:
    found = _SPECIAL.get(number, _practice)(number, group, parameters)
    point, counts = POINTS[number - 1], group.counts
    example = group.calls.get(_EXAMPLES.get(found.sentence, ""))
    shown = {name: round(value, 2) + 0 for name, value in found.numbers.items()}
    exact = {name: round(value, 6) + 0 for name, value in found.numbers.items()}
    measured = group.calibration if number == 11 else None
    retried = group.retries if number == 13 else None
    return {
        "point": number,
        "name": point.name,
        "passed": found.passed,
        "n": found.n,
        "evidence": SENTENCES[found.sentence].format(**shown, example=example),
        "fix": point.fix,
        "attempts": counts["attempts"],
        "clusters": (measured.gap.clusters if measured else 0)
        if number == 11
        else retried.clusters
        if retried
        else group.clusters,
        "design_effect": measured.design_effect
        if measured
        else retried.design_effect
        if retried and retried.n
        else None,
        "too_few": is_few(counts["attempts"], group.clusters, parameters["min_n"]),
        "example_call_id": example,
        "unread_share": counts["unread"] / counts["attempts"],
        "figures": json.dumps({"sentence": found.sentence, **exact}, separators=(",", ":"), ensure_ascii=False),
    }


def _numbers(group: Group, sentence: str) -> dict[str, float]:
    """Return the counts that the sentence names."""
    names = (name for _, name, _, _ in Formatter().parse(SENTENCES[sentence]) if name)
    return {name: group.counts[name] for name in names if name in group.counts}


def _judged(group: Group, passed: bool | None, n: int, sentence: str, **more: float) -> Judgement:
    return Judgement(passed, n, sentence, _numbers(group, sentence) | more)


def _practice(number: int, group: Group, parameters: Mapping[str, Any]) -> Judgement:
    point = POINTS[number - 1]
    n = group.counts[point.of]
    if not n:
        return _judged(group, None, 0, point.nothing)
    return _judged(group, group.counts[point.kept] / n >= parameters["good_share"], n, point.sentence)


def _success(_: int, group: Group, __: Mapping[str, Any]) -> Judgement:
    stated, contradicted = group.counts["stated"], group.counts["contradicted"]
    sentence = "nothing_stated" if not stated else "contradicted" if contradicted else "stated"
    return _judged(group, not contradicted if stated else None, stated, sentence)


def _evaluated(_: int, group: Group, parameters: Mapping[str, Any]) -> Judgement:
    results = group.counts["results"]
    if not results:
        return _judged(group, None, 0, "no_results")
    return _judged(group, group.counts["evaluated"] >= max(parameters["min_n"], 1), results, "evaluated")


def _adapted(_: int, group: Group, __: Mapping[str, Any]) -> Judgement:
    guessed, ruled = group.counts["guessed"], group.counts["ruled"]
    sentence = "guessed" if guessed else "adapted" if ruled else "unread"
    return _judged(group, False if guessed else True if ruled else None, ruled, sentence)


def _unsure(_: int, group: Group, parameters: Mapping[str, Any]) -> Judgement:
    low, continued = group.counts["unsure"], group.counts["continued"]
    if not low:
        return _judged(group, None, 0, "none_low")
    passed = (low - continued) / low >= parameters["good_share"]
    return _judged(group, passed, low, "low_continue" if continued else "low", low=low)


def _calibrated(_: int, group: Group, parameters: Mapping[str, Any]) -> Judgement:
    confident, measured = group.counts["sure"], group.calibration
    if not confident:
        return _judged(group, None, 0, "unsure")
    if measured is None:
        return _judged(group, False, 0, "unlabelled", confident=confident)
    n, gap = measured.n, measured.gap
    known = {"labelled": n, "confident": confident}
    if gap.low is None or gap.high is None:
        return _judged(group, False, n, "one_cluster", **known)
    enough = not is_few(n, gap.clusters, max(parameters["min_n"], 1))
    side = "level" if gap.low <= 0 <= gap.high else "over" if gap.value >= 0 else "under"
    value, low, high = (-gap.value, -gap.high, -gap.low) if side == "under" else (gap.value, gap.low, gap.high)
    return Judgement(
        enough and not measured.miscalibrated,
        n,
        side,
        {
            **known,
            "confidence": gap.mean,
            "right": gap.share,
            "gap": value,
            "low": low,
            "high": high,
            "ece": measured.ece,
            "limit": measured.ece_null_p95,
        },
    )


def _retryable(_: int, group: Group, parameters: Mapping[str, Any]) -> Judgement:
    errors, retries = group.counts["errors"], group.retries
    if not errors:
        return _judged(group, None, 0, "no_errors")
    reports = group.counts["reported"] / errors >= parameters["good_share"]
    if not retries.n:
        return _judged(group, None if reports else False, errors, "untried")
    enough = not is_few(retries.n, retries.clusters, max(parameters["min_n"], 1))
    passed = (retries.high >= parameters["retry_share"] if enough else None) if reports else False
    return _judged(group, passed, errors, "retried", share=retries.share, low=retries.low, high=retries.high)


_SPECIAL: Final[Mapping[int, Callable[[int, Group, Mapping[str, Any]], Judgement]]] = {
    2: _success, 7: _evaluated, 8: _adapted, 9: _unsure, 11: _calibrated, 13: _retryable,
}  # fmt: skip
"""The points that are not about the share that follows a practice."""
_EXAMPLES: Final = {"contradicted": "contradicted_call", "guessed": "guessed_call", "low_continue": "continued_call"}
