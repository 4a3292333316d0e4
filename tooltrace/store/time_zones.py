"""Times with a zone, which DuckDB hands over by way of pytz: no dependency of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_ZONED: Final = "TIMESTAMP WITH TIME ZONE"


def without_zones(kinds: Sequence[str]) -> str | None:
    """What to select from an answer with columns of these DuckDB types so that no time has a zone: UTC, and text where
    such times are part of something. None where there are none."""
    if not any(_ZONED in kind for kind in kinds):
        return None
    return ", ".join(_place(place, kind) for place, kind in enumerate(kinds, 1))


def _place(place: int, kind: str) -> str:
    target = "TIMESTAMP" if kind == _ZONED else "VARCHAR"
    return f"CAST(#{place} AS {target})" if _ZONED in kind else f"#{place}"
