"""Calibration: the measures of each group, and how many of its results were labelled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tooltrace.analysis.reasoners.labels import Labels, Row, labels, share_columns
from tooltrace.statistics.calibration import Calibration, measure_calibration
from tooltrace.statistics.shares import MIN_CLUSTERS
from tooltrace.store.result import Gathered

_MEASURES: Final = (
    *(
        "ece",
        "ece_low",
        "ece_high",
        "ece_mass",
        "ece_null_mean",
        "ece_null_p95",
        "miscalibrated",
        "mce",
        "brier",
        "mcb",
    ),
    *("dsc", "unc", "log_loss", "auroc", "aurc", "cox_p", "spiegelhalter_z", "design_effect"),
)
_OTHERS: Final = (
    *("mean_confidence", "accuracy", "accuracy_low", "accuracy_high", "gap", "gap_low", "gap_high"),
    *("debiased_ece2", "cox_intercept", "cox_slope", "cox_lr"),
)


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> list[Row]:
    """Return a row for each group, those with the most labelled results first."""
    rows = [_row(found, parameters["min_n"]) for found in labels(gathered)]
    return sorted(rows, key=lambda row: (row["n"] == 0, -row["n"]))


def _row(found: Labels, min_n: int) -> Row:
    row = {
        **found.names,
        **share_columns("labelled_share", found.sums(found.labelled, found.attempts)),
        **share_columns("missing_confidence_share", found.sums(found.unsure, found.attempts)),
    }
    judged = found.judged
    if not len(judged.p):
        empty = {"n": 0, "clusters": 0, "debiased_below_zero": False, "weighted": False, "too_few": True}
        return row | dict.fromkeys((*_MEASURES, *_OTHERS)) | empty
    weights = found.weights()
    measured = measure_calibration(judged.p, judged.right, judged.clusters, judged.labelled, weights)
    clusters = measured.gap.clusters
    few = clusters < MIN_CLUSTERS and clusters < measured.n
    return row | _figures(measured) | {"weighted": weights is not None, "too_few": measured.n < min_n or few}


def _figures(measured: Calibration) -> Row:
    gap = measured.gap
    intercept, slope, ratio = measured.cox or (None, None, None)
    return {
        **{name: getattr(measured, name) for name in _MEASURES},
        "n": measured.n,
        "mean_confidence": gap.mean,
        "accuracy": gap.share,
        "accuracy_low": gap.share_low,
        "accuracy_high": gap.share_high,
        "gap": gap.value,
        "gap_low": gap.low,
        "gap_high": gap.high,
        "debiased_ece2": max(0.0, measured.debiased_ece2),
        "debiased_below_zero": measured.debiased_ece2 < 0,
        "cox_intercept": intercept,
        "cox_slope": slope,
        "cox_lr": ratio,
        "clusters": gap.clusters,
    }
