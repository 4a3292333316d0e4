"""Recommended next actions: how often each is given, of all finished attempts of its group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tooltrace.statistics.shares import ClusterSums
from tooltrace.store.result import Gathered


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of each group but that of the attempts without advice, which count as finished ones only."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in gathered.rows():
        groups.setdefault(tuple(row[name] for name in gathered.groups), []).append(row)
    for rows in groups.values():
        whole = {
            "advised_share_n": sum(row["n"] for row in rows),
            "advised_share_clusters": round(sum(row["advised_share_clusters"] for row in rows)),
            "advised_share_nn": sum(row["advised_share_sn"] for row in rows),
        }
        for row in rows:
            if row["advice"] is None:
                continue
            sums = ClusterSums(*(row[f"followed_share_{name}"] for name in ClusterSums._fields))
            followed = sums.proportion()
            yield (
                row
                | whole
                | {
                    "advised_share_s": row["n"],
                    "observed": sums.n,
                    "followed": sums.s,
                    "unobserved": row["n"] - sums.n,
                    "n_when_followed": row["succeeded_when_followed_n"],
                    "n_when_not": row["succeeded_when_not_n"],
                    "clusters": followed.clusters,
                    "design_effect": followed.design_effect if followed.n else None,
                    "too_few": followed.is_below(parameters["min_n"]),
                }
            )
