"""Signals: how often results are right with each named signal of the confidence, and without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import orjson

from tooltrace.analysis.reasoners.histories import Columns, histories
from tooltrace.analysis.reasoners.labels import Row, share_columns
from tooltrace.statistics.arrays import cluster_sums, codes_of
from tooltrace.statistics.shares import difference
from tooltrace.store.result import Gathered


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> list[Row]:
    """Return a row for each group and signal, in the order of the groups; the greatest difference first."""
    rows = []
    for names, columns in histories(gathered):
        of_group = [names | row for row in _rows(columns, parameters["min_n"])]
        of_group.sort(key=lambda row: (row["difference"] is None, -(row["difference"] or 0.0), row["signal"]))
        rows += of_group
    return rows


def _rows(columns: Columns, min_n: int) -> Iterator[Row]:
    sets = columns["signals"].tolist()
    parsed = {text: _signals(text) for text in set(sets)}
    clusters = codes_of(columns["cluster"])
    attempts, n, s = (np.asarray(columns[name], dtype=float) for name in ("attempts", "n", "s"))
    for signal in sorted(frozenset().union(*parsed.values())):
        has = np.fromiter((signal in parsed[text] for text in sets), bool, len(sets))
        sums = cluster_sums(clusters, np.where(has, s, 0.0), np.where(has, n, 0.0))
        others = cluster_sums(clusters, np.where(has, 0.0, s), np.where(has, 0.0, n))
        labelled = cluster_sums(clusters, np.where(has, n, 0.0), np.where(has, attempts, 0.0))
        share, other = sums.proportion(), others.proportion()
        known = bool(sums.n and others.n)
        low, high = difference(other, share) if known else (None, None)
        yield {
            "signal": signal,
            "n_with": int(sums.n),
            "n_without": int(others.n),
            **share_columns("accuracy_with", sums),
            **share_columns("accuracy_without", others),
            "difference": sums.s / sums.n - others.s / others.n if known else None,
            "low": low,
            "high": high,
            **share_columns("labelled_share", labelled),
            "clusters": min(sums.clusters, others.clusters),
            "design_effect": max(share.design_effect, other.design_effect),
            "too_few": share.is_below(min_n) or other.is_below(min_n),
        }


def _signals(text: str | None) -> frozenset[str]:
    """Return the names of the signals that are present; a text value is part of its name."""
    found = orjson.loads(text) if text else None
    if not isinstance(found, dict):
        return frozenset()
    return frozenset(f"{name}={value}" if isinstance(value, str) else name for name, value in found.items() if value)
