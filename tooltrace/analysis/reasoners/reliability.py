"""Reliability: accuracy in bins of confidence, with the band of a calibrated tool, and its best rising fit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tooltrace.analysis.reasoners.labels import Labels, Row, labels, share_columns
from tooltrace.statistics.arrays import Counts, Numbers, sums_by
from tooltrace.statistics.binomial import binomial_band
from tooltrace.statistics.calibration import LEVELS, bin_of, isotonic
from tooltrace.store.result import Gathered


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> list[Row]:
    """Return a row for each point of each group: bins first, by confidence."""
    rows = []
    for found in labels(gathered):
        judged = found.judged
        if len(judged.p):
            rows += list(_bins(found, parameters["min_n"]))
            rows += list(_steps(judged, found.weights(), parameters["min_n"]))
    return rows


def _bins(found: Labels, min_n: int) -> Iterator[Row]:
    of_all = np.where(np.isnan(found.p), -1, bin_of(np.nan_to_num(found.p)))
    for number in np.unique(bin_of(found.judged.p)).tolist():
        of_bin = found.where(of_all == number)
        judged = of_bin.judged
        sums = judged.sums(judged.right, judged.labelled)
        share, accuracy = sums.proportion(), sums.s / sums.n
        mean = float(np.sum(judged.p * judged.labelled)) / sums.n
        effective = sums.effective_n
        trials = max(1, math.floor(effective)) if effective < sums.n else int(sums.n)
        low, high = binomial_band(trials, min(1.0, mean))
        yield {
            **found.names,
            "series": "bin",
            "confidence_from": float(judged.p.min()),
            "confidence_to": float(judged.p.max()),
            "confidence": mean,
            "n": int(sums.n),
            **share_columns("accuracy", sums),
            "low": share.low,
            "high": share.high,
            "band_low": low / trials,
            "band_high": high / trials,
            # in units of trials, where rounding cannot move a whole number
            "outside": accuracy * trials < low - 1e-9 or accuracy * trials > high + 1e-9,
            **share_columns("labelled_share", of_bin.sums(of_bin.labelled, of_bin.attempts)),
            "too_few": share.is_below(min_n),
            "clusters": sums.clusters,
            "design_effect": share.design_effect,
        }


def _steps(judged: Labels, weights: Numbers | None, min_n: int) -> Iterator[Row]:
    scale = np.ones(len(judged.p)) if weights is None else weights
    rounded = np.round(judged.p, 4) if len(np.unique(judged.p)) > LEVELS else judged.p
    levels, of_level = np.unique(rounded, return_inverse=True)
    n, s = sums_by(of_level, judged.labelled * scale), sums_by(of_level, judged.right * scale)
    block: Counts = isotonic(levels, n, s)[of_level]
    for number in range(int(block.max()) + 1):
        used = block == number
        p, items = judged.p[used], judged.labelled[used]
        weighted = items * scale[used]
        yield {
            **judged.names,
            "series": "isotonic",
            "confidence_from": float(p.min()),
            "confidence_to": float(p.max()),
            "confidence": float(np.sum(p * weighted) / weighted.sum()),
            "n": int(items.sum()),
            "accuracy": float(np.sum(judged.right[used] * scale[used]) / weighted.sum()),
            "too_few": bool(items.sum() < min_n),
            **dict.fromkeys(_BIN_ONLY),
        }


_BIN_ONLY = (
    *("low", "high", "band_low", "band_high", "outside", "labelled_share", "labelled_low", "labelled_high"),
    *("clusters", "design_effect"),
)
