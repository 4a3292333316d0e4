"""Thresholds: the lowest confidence of each group that has a requested precision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tooltrace.analysis.reasoners.labels import Labels, Row, labels, share_columns
from tooltrace.statistics.thresholds import find_thresholds
from tooltrace.store.result import Gathered


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> list[Row]:
    """Return a row for each group and requested precision."""
    asked = [float(word) for word in str(parameters["asked"]).split(",")]
    return [row for found in labels(gathered) for row in _rows(found, asked, parameters["min_n"])]


def _rows(found: Labels, asked: list[float], min_n: int) -> Iterator[Row]:
    judged = found.judged
    accuracy = judged.sums(judged.right, judged.labelled)
    share = accuracy.proportion()
    common = {
        **found.names,
        **share_columns("labelled_share", found.sums(found.labelled, found.attempts)),
        **share_columns("missing_confidence_share", found.sums(found.unsure, found.attempts)),
        "judged": int(accuracy.n),
        "clusters": accuracy.clusters,
        "design_effect": share.design_effect if accuracy.n else None,
        "too_few": share.is_below(min_n),
    }
    for passed in find_thresholds(judged.p, judged.right, asked, judged.clusters, judged.labelled, min_n=min_n):
        row = common | {"precision_asked": passed.asked, "threshold": passed.threshold}
        if passed.kept is None:
            yield row | dict.fromkeys(("n", "precision", "lower_bound", "coverage", "coverage_low", "coverage_high"))
            continue
        kept = judged.sums(np.where(passed.kept, judged.labelled, 0.0), judged.labelled)
        yield (
            row
            | share_columns("coverage", kept)
            | {"n": passed.n, "precision": passed.precision, "lower_bound": passed.bound}
        )
