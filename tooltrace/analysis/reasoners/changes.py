"""Changes: the tools, versions and codes whose first attempt lies in the window."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from tooltrace.store.result import Gathered

FIRST_DAY: Final = timedelta(days=1)
"""Without ``since``, what began within this time of a tool's first attempt is not new: everything would be."""

_RATE: Final = ("rate", "low", "high", "design_effect", "too_few")
"""Columns that are unknown for a code, whose attempts all failed."""

Row = dict[str, Any]


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> list[Row]:
    """Return what is new, the newest first."""
    rows = gathered.rows()
    started: dict[str, datetime] = {row["tool"]: row["first_seen"] for row in rows if row["kind"] == "tool"}
    versions = [row for row in rows if row["kind"] == "version"]
    found = []
    for gathered_row in rows:
        row = gathered_row | {"before_rate": None}
        if row["kind"] == "version":
            row["before_rate"] = _rate_of_older(row, versions)
        elif row["kind"] == "code":
            row |= {"first_seen": row["first_failure"], **dict.fromkeys(_RATE)}
        if _is_new(row, started[row["tool"]], parameters["since"]):
            found.append(row)
    found.sort(key=lambda row: (row["kind"], row["tool"], row["name"] or ""))
    return sorted(found, key=lambda row: row["first_seen"], reverse=True)[: parameters["limit"]]


def _is_new(row: Row, started: datetime, since: datetime | None) -> bool:
    if row["first_seen"] is None or (row["name"] is None and row["kind"] != "tool"):
        return False
    if row["first_seen"] < (started + FIRST_DAY if since is None else since):
        return False
    # for a new tool, its versions and codes add nothing
    return row["kind"] == "tool" or (started < row["first_seen"] and (since is None or started < since))


def _rate_of_older(row: Row, versions: list[Row]) -> float | None:
    older = [
        v
        for v in versions
        if v["tool"] == row["tool"] and v["name"] != row["name"] and v["first_seen"] < row["first_seen"]
    ]
    finished = sum(v["rate_n"] for v in older)
    return float(sum(v["failures"] for v in older) / finished) if finished else None
