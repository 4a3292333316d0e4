"""Incidents: runs of failures in the order of time, and whether the tool's own rate explains them.

A tool that often fails also has consecutive failures by chance. Each incident is compared with all other attempts of
the history: how many runs as improbable as this one would they produce?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tooltrace.statistics.arrays import Counts, Flags, Numbers, log_gamma, sums_by

MIN_CLUSTERS = 5
"""Clusters of several attempts below which their variance is not known."""
MIN_RUN: Final = 3
"""Bad items in a row below which nothing is failing now."""
MAX_RUNS: Final = 0.05
"""Expected number of such runs by chance above which nothing is failing now."""


@dataclass(frozen=True, slots=True)
class Incidents:
    """The incidents of a history in the order of time: one element of each array for each incident."""

    first: Counts
    """Index of the first failure."""
    end: Counts
    """Index of the first success after the incident; the number of attempts for an open one."""
    open: Flags
    """Whether it has not ended."""
    failures: Numbers
    clusters: Counts
    """Clusters with failures in it."""
    few_clusters: Flags
    """The failures are of one cluster of several, or the other attempts of fewer than five."""
    by_chance: Numbers
    """Expected number of incidents as improbable as this one, at the rate of the other attempts; NaN without others."""
    by_bursts: Numbers
    """Expected number with as many failures, if a failure is followed by another one as often as elsewhere; NaN likewise."""


def expected_runs(run: int, others: float, rate: float, effect: float = 1.0) -> float:
    """Return how many runs of ``run`` hits chance makes beside ``others`` items, ``(1 + (n - r)(1 - p)) p^r``.

    ``rate``: of a hit. The hits of a run count as ``run / effect`` independent ones. Source: Feller 1968, volume 1, XIII.7.
    """
    return float((1 + others * (1 - rate)) * rate ** (run / effect))


def find_incidents(failed: Flags, clusters: Counts, *, failing: int = 3, recovering: int = 2) -> Incidents:
    """Find the incidents of a history: ``failing`` or more failures in a row, until ``recovering`` or more successes.

    ``failed``: one value for each finished attempt, in the order of time. ``by_chance`` is the expected number of places where
    a tool that only fails at the rate p of the other attempts has a run of r failures, ``p^r (1 + (n - r)(1 - p))``
    (Feller 1968, XIII.7), times the places that s successes can have in it and (s + 1)(s + 2) for the choice of s (Bonferroni); p has the
    posterior of Jeffreys' prior (1946). The smaller one of the values of the incident and of its longest run counts. Where clusters
    differ elsewhere, the failures of one cluster are a beta-binomial draw (Skellam 1948) with the correlation by moments (Kleinman 1973).
    """
    failed = np.asarray(failed, dtype=bool)
    n = len(failed)
    starts = np.flatnonzero(np.diff(failed, prepend=~failed[:1])) if n else np.empty(0, dtype=np.int64)
    lengths = np.diff(starts, append=n)
    is_down = failed[starts]
    first_run, last_run = _turns(is_down, lengths, failing, recovering)
    end = np.append(starts, n)[last_run]
    first = starts[first_run]
    is_open = last_run == len(starts)

    total = sums_by(clusters)
    total_failed = sums_by(clusters, failed.astype(float))
    incident, index = _spread(first, end)
    sums = _Sums(incident, clusters[index], failed[index], total, total_failed, len(first))
    in_runs, run = _spread(first_run, last_run)
    runs_of_it = np.flatnonzero(is_down[run])
    order = runs_of_it[np.lexsort((run[runs_of_it], -lengths[run[runs_of_it]], in_runs[runs_of_it]))]
    longest = run[order[np.searchsorted(in_runs[order], np.arange(len(first)))]] if len(first) else run
    longest_incident, longest_index = _spread(starts[longest], starts[longest] + lengths[longest])

    with np.errstate(divide="ignore", invalid="ignore"):
        others = _Others(sums, n, total, total_failed, ended=np.where(is_open, 0, recovering))
        complete = others.log_expected(sums.incident, sums.in_all, sums.in_failed, recovering)
        in_run = _Sums(longest_incident, clusters[longest_index], None, total, total_failed, len(first))
        by_chance = np.minimum(
            np.exp(complete), np.exp(others.log_expected(in_run.incident, in_run.in_all, in_run.in_all, recovering))
        )
        apart = np.insert(lengths[:-1], 0, recovering) >= recovering if n else is_down
        by_bursts = others.expected_bursts(int(np.count_nonzero(is_down & apart)) - 1)
    of_one = (sums.failed_clusters == 1) | ((others.clusters < MIN_CLUSTERS) & (others.clusters < others.n))
    return Incidents(
        first,
        end,
        is_open,
        sums.failures,
        sums.failed_clusters,
        (np.count_nonzero(total) > 1) & of_one,
        by_chance,
        by_bursts,
    )


class _Sums:
    """Attempts of each incident in each cluster, and sums over the clusters of an incident."""

    def __init__(
        self, incident: Counts, clusters: Counts, failed: Flags | None, total: Numbers, total_failed: Numbers, size: int
    ) -> None:
        cells, cell = np.unique(incident * max(len(total), 1) + clusters, return_inverse=True)
        self.incident = cells // max(len(total), 1)
        cluster = cells % max(len(total), 1)
        self.in_all = sums_by(cell, size=len(cells))
        self.in_failed = self.in_all if failed is None else sums_by(cell, failed.astype(float), len(cells))
        n, k = total[cluster], total_failed[cluster]
        rest_n, rest_k = n - self.in_all, k - self.in_failed

        def add(values: Numbers | Flags) -> Numbers:
            return sums_by(self.incident, np.asarray(values, dtype=float), size)

        self.attempts, self.failures = add(self.in_all), add(self.in_failed)
        self.failed_clusters = add(self.in_failed > 0).astype(np.int64)
        self.whole_clusters = add(rest_n == 0)
        self.kk, self.kn, self.nn = (
            add(k * k - rest_k * rest_k),
            add(k * n - rest_k * rest_n),
            add(n * n - rest_n * rest_n),
        )


class _Others:
    """The attempts of the history outside of each incident: their rate, and how alike those of a cluster are."""

    def __init__(self, sums: _Sums, n: int, total: Numbers, total_failed: Numbers, ended: Counts) -> None:
        self.size = len(sums.attempts)
        self.all_n = n
        self.n = n - sums.attempts
        self.k = float(total_failed.sum()) - sums.failures
        self.failures = sums.failures
        self.clusters = np.count_nonzero(total) - sums.whole_clusters
        kk = float(np.sum(total_failed**2)) - sums.kk
        kn = float(np.sum(total_failed * total)) - sums.kn
        nn = float(np.sum(total**2)) - sums.nn
        share = self.k / self.n
        between = (kk - 2 * kn * share + nn * share * share) * self.clusters / (self.clusters - 1)
        correlation = (between / (share * (1 - share)) - self.n) / (nn - self.n)
        known = (self.clusters > 1) & (nn > self.n) & (self.k > 0) & (self.k < self.n)
        self.correlation = np.where(known, np.clip(correlation, 0.0, 0.99), 0.0)
        effect = 1 + (nn / self.n - 1) * self.correlation
        # the successes that ended the incident are left out, because the incident chose them
        self.prior_k = self.k / effect + 0.5
        self.prior_n = np.maximum(self.k, self.n - ended) / effect + 1
        self.rate = self.prior_k / self.prior_n
        self.strength = (1 - self.correlation) / np.maximum(self.correlation, 0.001)

    def log_expected(self, incident: Counts, in_all: Numbers, in_failed: Numbers, recovering: int) -> Numbers:
        """Return the logarithm of the expected number of runs like those of the given cells (incident x cluster)."""

        def add(values: Numbers) -> Numbers:
            return sums_by(incident, values, self.size)

        failures, successes = add(in_failed), add(in_all - in_failed)
        rate, correlation, strength = self.rate[incident], self.correlation[incident], self.strength[incident]
        draws = add(in_failed / (1 + (np.maximum(in_failed, 1) - 1) * correlation))
        # arguments of log_gamma are positive, also where the value is not used
        alpha, whole = np.where(rate > 0, rate, 1.0) * strength, np.maximum(strength, 1e-9)
        alike = log_gamma(alpha + in_failed) - log_gamma(alpha) - log_gamma(whole + in_failed) + log_gamma(whole)
        alone = in_failed * np.log(rate)
        log_chance = add(
            np.where(in_failed == 0, 0.0, np.where((correlation < 0.001) | (in_failed == 1), alone, alike))
        )
        places = (successes + 1) * (successes + 2) if recovering > 1 else np.ones_like(successes)
        return np.asarray(
            np.log((1 + (self.all_n - failures) * (1 - self.rate)) * places)
            + log_chance
            - draws * np.log(self.rate)
            + log_gamma(self.prior_k + draws)
            - log_gamma(self.prior_k)
            - log_gamma(self.prior_n + draws)
            + log_gamma(self.prior_n)
            + log_gamma(failures + successes)
            - log_gamma(successes + 1)
            - log_gamma(failures)
        )

    def expected_bursts(self, runs: int) -> Numbers:
        """Return the expected number of runs as long, where the k other failures came in that many ``runs``.

        k - runs of them followed another failure; the rate counts as half a failure more.
        """
        followed = 0.5 * self.rate + np.maximum(self.k - runs, 0)
        further = self.failures - 1
        return np.asarray(
            (1 + runs)
            * np.exp(
                log_gamma(followed + further)
                - log_gamma(followed)
                - log_gamma(0.5 + self.k + further)
                + log_gamma(0.5 + self.k)
            )
        )


def _turns(is_down: Flags, lengths: Counts, failing: int, recovering: int) -> tuple[Counts, Counts]:
    """Return for each incident the number of its first run, and of the run that ended it (the number of runs: none did).

    A run of failures that is long enough starts one, and after it the first run of successes that is long enough ends it.
    """
    long_enough = np.flatnonzero(np.where(is_down, lengths >= failing, lengths >= recovering))
    down = is_down[long_enough]
    turns = long_enough[down != np.insert(down[:-1], 0, False)] if len(down) else long_enough
    return turns[0::2], np.append(turns[1::2], len(lengths))[: (len(turns) + 1) // 2]


def _spread(first: Counts, end: Counts) -> tuple[Counts, Counts]:
    """Return the number of the interval and the index, for each index of the intervals from ``first`` to before ``end``."""
    sizes = end - first
    number = np.repeat(np.arange(len(first)), sizes)
    return number, np.arange(len(number)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(first, sizes)
