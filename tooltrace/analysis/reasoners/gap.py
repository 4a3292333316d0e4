"""Gap: mean confidence less accuracy, of the window and of the one before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrace.analysis.reasoners.labels import Row, labels
from tooltrace.statistics.calibration import gap
from tooltrace.statistics.shares import MIN_CLUSTERS
from tooltrace.store.result import Gathered


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> list[Row]:
    """Return a row for each window with labelled results, the current one first."""
    gathered.groups = ("period",)
    rows = []
    for found in labels(gathered):
        judged, weights = found.judged, found.weights()
        if not len(judged.p):
            continue
        scale = 1.0 if weights is None else weights * (judged.labelled.sum() / (judged.labelled * weights).sum())
        n = judged.labelled * scale
        measured = gap(judged.clusters, n * judged.p, judged.right * scale, n, weighted=weights is not None)
        few = measured.clusters < MIN_CLUSTERS and measured.clusters < n.sum()
        rows.append(
            {
                **found.names,
                "n": round(float(n.sum())),
                "mean_confidence": measured.mean,
                "accuracy": measured.share,
                "gap": measured.value,
                "gap_low": measured.low,
                "gap_high": measured.high,
                "weighted": weights is not None,
                "clusters": measured.clusters,
                "design_effect": float(n.sum()) / measured.effective,
                "too_few": round(float(n.sum())) < parameters["min_n"] or few,
            }
        )
    return sorted(rows, key=lambda row: str(row["period"]), reverse=True)
