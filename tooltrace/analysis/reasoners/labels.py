"""Labelled results by confidence: what calibration, reliability, thresholds and gap read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tooltrace.analysis.reasoners.histories import histories
from tooltrace.statistics.arrays import Counts, Flags, Numbers, cluster_sums, codes_of, sums_by
from tooltrace.statistics.calibration import BINS, bin_of, labelling_depends
from tooltrace.statistics.shares import ClusterSums
from tooltrace.store.result import Gathered

Row = dict[str, Any]


class Labels(NamedTuple):
    """The finished attempts of a group: one element for each cluster and confidence. NaN: no confidence."""

    names: Row
    p: Numbers
    clusters: Counts
    attempts: Numbers
    labelled: Numbers
    right: Numbers

    def where(self, used: Flags) -> Labels:
        """Return the elements for which ``used`` is true."""
        return Labels(
            self.names,
            self.p[used],
            self.clusters[used],
            self.attempts[used],
            self.labelled[used],
            self.right[used],
        )

    @property
    def judged(self) -> Labels:
        """The elements that were labelled and have a confidence."""
        return self.where((self.labelled > 0) & ~np.isnan(self.p))

    @property
    def unsure(self) -> Numbers:
        """Attempts without a confidence."""
        return np.where(np.isnan(self.p), self.attempts, 0.0)

    def sums(self, counted: Numbers, items: Numbers) -> ClusterSums:
        """Return the sums of the share ``counted / items`` over clusters."""
        return cluster_sums(self.clusters, counted, items)

    def weights(self) -> Numbers | None:
        """Return the weight of each element of ``judged``; None where labelling does not depend on confidence.

        A labelled result stands for attempts / labelled results of its bin of confidence.
        """
        known = ~np.isnan(self.p)
        bins = bin_of(self.p[known])
        attempts, labelled = (sums_by(bins, x[known], BINS) for x in (self.attempts, self.labelled))
        sums = cluster_sums(self.clusters[known], self.labelled[known], self.attempts[known])
        if not sums.s or not labelling_depends(labelled, attempts, sums.n / sums.effective_n):
            return None
        return (attempts / np.maximum(labelled, 1))[bin_of(self.judged.p)]


def labels(gathered: Gathered) -> Iterator[Labels]:
    """Yield the labelled results of each group."""
    for names, columns in histories(gathered):
        numbers = [np.asarray(columns[name], dtype=float) for name in ("attempts", "labelled", "s")]
        yield Labels(names, np.asarray(columns["p"], dtype=float), codes_of(columns["cluster"]), *numbers)


def share_columns(name: str, sums: ClusterSums) -> Row:
    """Return the sums of a share under the names from which its columns are made."""
    return {f"{name}_{key}": value for key, value in sums._asdict().items()}
