"""Sources: how often each is right, and the shares of its group without an id or a source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tooltrace.statistics.shares import ClusterSums, Proportion
from tooltrace.store.result import Gathered

_OF_GROUP = "group_missing_id_share"


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for each source; what was gathered of the attempts without regard to sources belongs to all rows of a group."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in gathered.rows():
        groups.setdefault(tuple(row[name] for name in gathered.groups), []).append(row)
    for rows in groups.values():
        cited = [row for row in rows if row["sourced"]]
        whole = {
            name: value for row in rows if not row["sourced"] for name, value in row.items() if "unsourced" in name
        }
        whole |= {
            f"{_OF_GROUP}_n": sum(row["n"] for row in cited),
            f"{_OF_GROUP}_s": sum(row["missing_id_share_s"] for row in cited),
            f"{_OF_GROUP}_clusters": round(sum(row[f"{_OF_GROUP}_clusters"] for row in cited)),
            **{f"{_OF_GROUP}_{name}": sum(row[f"{_OF_GROUP}_{name}"] for row in cited) for name in ("ss", "sn", "nn")},
        }
        for row in cited:
            accuracy, compared = _share(row, "accuracy"), _share(row, "compared_share")
            mean = row["confidence_sum"] / compared.n if compared.n else None
            yield (
                row
                | whole
                | {
                    "labelled": accuracy.n,
                    "compared": compared.n,
                    "mean_confidence": mean,
                    "overconfident_by": None if mean is None else mean - compared.share,
                    "overconfident_low": None if mean is None else mean - compared.high,
                    "overconfident_high": None if mean is None else mean - compared.low,
                    "clusters": accuracy.clusters,
                    "design_effect": accuracy.design_effect if accuracy.n else None,
                    "too_few": accuracy.is_below(parameters["min_n"]),
                }
            )


def _share(row: Mapping[str, Any], name: str) -> Proportion:
    return ClusterSums(*(row[f"{name}_{key}"] or 0 for key in ClusterSums._fields)).proportion()
