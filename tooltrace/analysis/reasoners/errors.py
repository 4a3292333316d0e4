"""The errors of a window: how many failed attempts have each, as a share of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tooltrace.analysis.reasoning import RowDict, sums_of
from tooltrace.statistics.shares import MIN_N
from tooltrace.store.result import Gathered


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> Iterator[RowDict]:
    """Yield the errors with ``min_n`` failed attempts or more, each with the sums of its share."""
    rows = gathered.rows()
    whole = {
        "share_n": sum(row["n"] for row in rows),
        "share_clusters": round(sum(row["share_clusters"] for row in rows)),
        "share_nn": sum(row["share_sn"] for row in rows),
    }
    for row in rows:
        if row["n"] >= parameters["min_n"]:
            error = {**row, **whole, "code": row["error_code"], "share_s": row["n"]}
            share = sums_of(error, "share").proportion()
            # min_n says which errors are listed, not how many attempts are enough
            yield {**error, "too_few": share.is_below(MIN_N)}
