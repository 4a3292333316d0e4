"""Segments of a history between the changes of a rate, and what the newest one is: usual, worse than usual, or failing now.

A history is what :mod:`tooltrace.statistics.changes` describes: ``hits`` in the order of time, 1 where a call was bad.
"""

from __future__ import annotations

import itertools
import math
from typing import Final, NamedTuple

import numpy as np

from tooltrace.statistics.arrays import Counts, Numbers, cluster_sums
from tooltrace.statistics.changes import Dependence, find_change, measure_dependence, one_rate_evidence
from tooltrace.statistics.runs import MAX_RUNS, MIN_RUN, expected_runs
from tooltrace.statistics.shares import Proportion, interval

LIKELIER: Final = 20.0
"""How many times as likely two rates must be as one, for a change and for "worse than usual": strong evidence (Kass and Raftery 1995)."""
MIN_RISE: Final = 0.01
"""Rise of a rate below which it is not called worse, however sure it is."""
MAX_OUTAGES: Final = 4
"""Outages that are told apart from dependence of the items."""
OUTAGES: Final = (0.3, 0.6, 0.95)
"""Rates during an outage that are looked for."""


class Segment(NamedTuple):
    """Items ``first`` to ``end`` - 1 of a history, with one rate."""

    first: int
    end: int
    found: Proportion


class Episode(NamedTuple):
    """Items ``first`` to ``end`` - 1, whose rate was above the usual one."""

    first: int
    end: int
    usual: Segment


class State(NamedTuple):
    """What a history says about now, and about what is over."""

    first: int
    """Index of the first item of the state: the first one after the rate rose, else of the bad items in a row, else of the newest segment."""
    usual: Segment | None
    """The segment before the rate rose; None where the newest segment is not worse than what was before."""
    run: int
    """Bad items in a row until now, if chance explains fewer; else 0."""
    past: list[Episode]
    """The times of a higher rate that have ended."""


def find_state(times: Numbers, hits: Numbers, clusters: Counts, *, histories: int = 1) -> State:
    """Return the state of a history now. The history has one item or more.

    ``histories``: how many are examined together. Evidence must be as many times stronger, so that a change is found by chance in
    one of them as rarely as in one alone (Bonferroni).
    """
    dependence = measure_dependence(hits, clusters, _levels(hits))
    effect = dependence.effect
    segments = find_segments(times, hits, clusters, dependence, evidence=LIKELIER * max(histories, 1))
    usual, began, past = segments[0], None, []
    for one in segments[1:]:
        if is_worse(one, usual, effect):
            began = one.first if began is None else began
            continue
        if began is not None:
            past.append(Episode(began, one.first, usual))
        usual, began = one, None
    run = _run(hits)
    if _is_chance(run, segments, None if began is None else usual, effect, histories):
        run = 0
    first = began if began is not None else len(hits) - run if run else segments[-1].first
    return State(first, None if began is None else usual, run, past)


def find_segments(
    times: Numbers, hits: Numbers, clusters: Counts, dependence: Dependence, *, evidence: float = LIKELIER
) -> list[Segment]:
    """Return the parts of a history in the order of time, one for a history without a change.

    Each part is divided where ``find_change`` finds a change, else around an outage inside it, until no part has one (binary
    segmentation: Scott and Knott 1974; with two cuts at once: Olshen et al. 2004).
    """
    cuts, open_parts = [0, len(hits)], [(0, len(hits))]
    while open_parts:
        first, end = open_parts.pop()
        if end - first < 2:
            continue
        part = slice(first, end)
        change = find_change(times[part], hits[part], clusters[part], evidence=evidence, known=dependence)
        inside = [] if change.at is None else [change.at]
        if not inside:
            likelier, edges = _outage(hits[part], dependence.effect)
            rhythm = change.rhythm.log_evidence(dependence.effect) if change.rhythm else 0.0
            inside = edges if likelier > math.log(evidence) + rhythm else []
        if inside:
            edges = [first, *(first + at for at in inside), end]
            cuts += edges[1:-1]
            open_parts += itertools.pairwise(edges)
    cuts.sort()
    return [
        Segment(first, end, cluster_sums(clusters[first:end], hits[first:end]).proportion())
        for first, end in itertools.pairwise(cuts)
    ]


def is_worse(now: Segment, before: Segment, effect: float = 1.0) -> bool:
    """Whether the rate of ``now`` is above that of ``before``: by ``MIN_RISE``, and two rates are likelier than one."""
    if now.found.share - before.found.share < MIN_RISE:
        return False
    evidence = _two_rates_evidence((before.found.k, before.found.n), (now.found.k, now.found.n), effect)
    return evidence > math.log(LIKELIER)


def _two_rates_evidence(one: tuple[float, float], other: tuple[float, float], effect: float) -> float:
    """Return how much likelier two rates of ``(hits, items)`` are than one (natural log)."""
    hits, items = np.array([one, other], dtype=float).T
    apart = sum(one_rate_evidence(hits[at : at + 1], effect, items[at : at + 1]) for at in (0, 1))
    return apart - one_rate_evidence(hits, effect, items)


def _levels(hits: Numbers) -> Numbers:
    """Return, for each item, the mean of its part, where the history is cut around its ``MAX_OUTAGES`` likeliest outages.

    Items of one outage are not dependent: they have another rate. What is alike beyond that is.
    """
    parts = [(0, len(hits))]
    for _ in range(MAX_OUTAGES):
        (evidence, cuts), first, end = max(
            ((_outage(hits[first:end]), first, end) for first, end in parts), key=lambda found: found[0][0]
        )
        if evidence <= 0:
            break
        parts.remove((first, end))
        parts += itertools.pairwise([first, *(first + at for at in cuts), end])
    levels = np.empty(len(hits))
    for first, end in parts:
        levels[first:end] = hits[first:end].mean()
    return levels


def _outage(hits: Numbers, effect: float = 1.0) -> tuple[float, list[int]]:
    """Return how much likelier two rates are, inside and outside of one part, than one (natural log), and the edges of that part.

    The part maximises the likelihood ratio of one of ``OUTAGES`` against the mean rate (Kulldorff 1997); each of its
    n (n - 1) / 2 possible places is as likely. Edges are indices inside the history.
    """
    n, k = len(hits), float(hits.sum())
    best: tuple[float, list[int]] = (-math.inf, [])
    if not 0 < k < n:
        return best
    for rate in OUTAGES:
        if rate <= 1.5 * k / n:
            continue
        gains = np.where(hits > 0, math.log(rate / (k / n)), math.log((1 - rate) / (1 - k / n)))
        level = np.concatenate([[0.0], np.cumsum(gains)])
        end = int(np.argmax(level - np.minimum.accumulate(level)))
        first = int(np.argmin(level[: end + 1]))
        inside = float(hits[first:end].sum())
        evidence = _two_rates_evidence((inside, end - first), (k - inside, n - end + first), effect)
        best = max(best, (evidence - math.log(n * (n - 1) / 2), [at for at in (first, end) if 0 < at < n]))
    return best


def _run(hits: Numbers) -> int:
    """Return the number of hits in a row at the end."""
    good = np.flatnonzero(hits == 0)
    return len(hits) - 1 - int(good[-1]) if len(good) else len(hits)


def _is_chance(run: int, segments: list[Segment], usual: Segment | None, effect: float, histories: int) -> bool:
    """Whether a run of hits at the end is too short, or expected ``MAX_RUNS`` times or more by chance.

    The rate that explains it is the upper limit of that before the run, in the newest segment or in the usual one.
    """
    if run < MIN_RUN:
        return True
    now = segments[-1]
    highest = [usual.found.high] if usual else []
    n, k = now.found.n - run, now.found.k - run
    if n > 0:
        highest.append(interval(k, n, max(n / effect, 1e-9))[1])
    elif usual is None and len(segments) > 1:
        highest.append(segments[-2].found.high)
    if not highest:
        return False  # nothing has ever worked
    others = sum(one.found.n for one in segments) - run
    return expected_runs(run, others, max(highest), effect) * histories >= MAX_RUNS
