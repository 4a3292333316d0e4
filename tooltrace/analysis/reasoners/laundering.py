"""The errors that were hidden from the model, each with the share of its group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tooltrace.analysis.reasoning import RowDict
from tooltrace.store.result import Gathered

_SUMS = ("share_clusters", "share_n", "share_s", "share_ss", "share_sn", "share_nn", "unknown")


def reason(gathered: Gathered, _parameters: Mapping[str, Any]) -> Iterator[RowDict]:
    """Yield the hidden errors: rows with a span, each with the sums of the row of its group."""
    rows = gathered.rows()
    sums = {_group(row, gathered): {name: row[name] for name in _SUMS} for row in rows if row["span_id"] is None}
    for row in rows:
        if row["span_id"] is not None:
            group = sums[_group(row, gathered)]
            yield {**row, **group, "n": group["share_s"], "errors": group["share_n"], "code": row["error_code"]}


def _group(row: Mapping[str, Any], gathered: Gathered) -> tuple[Any, ...]:
    return tuple(row[name] for name in gathered.groups)
