"""An answer to be shown: columns and rows, without an engine behind them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tooltrace.queries import Column
from tooltrace.store.zoned import without_zones

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows under columns; the first ``groups`` of them say which group a row is."""

    columns: tuple[Column, ...]
    rows: Sequence[Row]
    groups: int = 0


def read(relation: DuckDBPyRelation, known: tuple[Column, ...] = (), groups: int = 0) -> Answer:
    """All of ``relation``. ``known``: what its last columns mean; the others get the unit of their type."""
    kinds = [str(kind) for kind in relation.types]
    named = {column.name: column for column in known}
    columns = tuple(
        named[name] if index >= groups and name in named else Column(name=name, unit=_unit(kind), meaning="")
        for index, (name, kind) in enumerate(zip(relation.columns, kinds, strict=True))
    )
    if (unzoned := without_zones(kinds)) is not None:
        relation = relation.project(unzoned)
    return Answer(columns, relation.fetchall(), groups)


def plain(value: Any, unit: str = "") -> Any:
    """``value`` as JSON has it: times in ISO form (UTC), what is no number as None."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _parsed(value) if unit in ("json", "parts") else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return f"{value.isoformat(timespec='microseconds')}{'' if value.tzinfo else 'Z'}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)


def _parsed(text: str) -> Any:
    try:
        return plain(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _unit(kind: str) -> str:
    if kind == "JSON":
        return "json"
    return "time" if kind.startswith("TIMESTAMP") else "text"
