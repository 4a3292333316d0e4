"""The attempts of each history in the order of time, from rows that were gathered in that order."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from tooltrace.store.result import Gathered

Columns = dict[str, Any]
"""Arrays of equal length by name."""


def histories(gathered: Gathered, within: Collection[str] = ()) -> Iterator[tuple[dict[str, Any], Columns]]:
    """Yield the values of the groups, and the arrays of all columns, for each history, sorted by the groups.

    ``within``: groups that do not split a history; they stay among its columns.
    """
    columns = {name: _plain(column, gathered.types[name]) for name, column in gathered.arrays().items()}
    names = [name for name in gathered.groups if name not in within]
    size = len(next(iter(columns.values()), ()))
    keys = list(zip(*(columns[name].tolist() for name in names), strict=True)) if names else [()] * size
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    codes = np.fromiter(map(numbers.__getitem__, keys), np.int32, size)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(numbers)))
    rows = dict(zip(numbers, np.split(order, ends[:-1]), strict=True)) if numbers else {}
    for key in sorted(rows, key=nulls_last):
        yield dict(zip(names, key, strict=True)), {name: column[rows[key]] for name, column in columns.items()}


def nulls_last(values: Collection[Any]) -> list[tuple[bool, Any]]:
    """Return a key that sorts unknown values behind the others."""
    return [(value is None, value if value is not None else 0) for value in values]


def seconds(moments: Any) -> Any:
    """Return times as seconds since 1970."""
    return moments.astype("datetime64[us]").astype(np.int64) / 1e6


def _plain(column: Any, kind: str) -> Any:
    return (
        column.astype("datetime64[D]" if kind == "DATE" else "datetime64[us]") if column.dtype.kind == "M" else column
    )
