"""Conversion of times with a zone, for which DuckDB needs pytz; tooltrace does not depend on pytz."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_ZONED: Final = "TIMESTAMP WITH TIME ZONE"


def without_zones(kinds: Sequence[str]) -> str | None:
    """Return the SELECT list that removes time zones from a result with columns of these DuckDB types.

    Times become naive UTC; lists and structs that contain times with a zone become text. Returns None where no column
    has such times.
    """
    if not any(_ZONED in kind for kind in kinds):
        return None
    return ", ".join(_place(place, kind) for place, kind in enumerate(kinds, 1))


def _place(place: int, kind: str) -> str:
    target = "TIMESTAMP" if kind == _ZONED else "VARCHAR"
    return f"CAST(#{place} AS {target})" if _ZONED in kind else f"#{place}"
