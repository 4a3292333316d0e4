"""Conversion of table rows to records."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from tooltrace.core.fields import Field, fields_of
from tooltrace.core.records import Record
from tooltrace.ingest.files.reader import parsed
from tooltrace.redact.snapshot import Json
from tooltrace.store.journal_format import KINDS
from tooltrace.store.schema import RECORDS

_REQUIRED: Final = {
    kind: {column.name for column in table.columns if column.required} for kind, table in RECORDS.items()
}
"""Required columns of each kind of record, by which a table is recognised."""


def kind_of(columns: Collection[str]) -> str | None:
    """Return the kind of record in a table with these ``columns``; None if it is not a table of tooltrace."""
    return next((kind for kind, required in _REQUIRED.items() if required <= set(columns)), None)


def record_of(kind: str, row: Mapping[str, Any]) -> Record:
    """Return the record of ``row``; None values are unknown. Raises ValueError with the cause."""
    made = KINDS[kind]
    values: dict[str, Any] = {}
    for field in fields_of(made):
        value = row.get(field.name)
        if value is not None:
            values[field.name] = _converted(field, value)
        elif field.required:
            raise ValueError(f"{field.name} is missing")
    return made(**values)


def _converted(field: Field, value: Any) -> Any:
    try:
        return _FROM[field.type](value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{field.name} is not of the type {field.type_name}: {str(value)[:80]!r}") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    value.encode()  # raises for a lone surrogate, which is not valid text
    return value


def _whole(value: Any) -> int:
    number = int(value)
    if isinstance(value, float | bool) or number != value != str(number) or not -(2**63) <= number < 2**63:
        raise ValueError
    return number


def _real(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


def _truth(value: Any) -> bool:
    word = str(value).lower()
    if word not in ("true", "false"):
        raise ValueError
    return word == "true"


def _moment(value: Any) -> datetime:
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _json(value: Any) -> Json:
    text = _text(value)
    if parsed(text.encode()) is None and text.strip() != "null":
        raise ValueError
    return Json(text)


_FROM: Final[dict[Any, Callable[[Any], Any]]] = {
    str: _text,
    int: _whole,
    float: _real,
    bool: _truth,
    datetime: _moment,
    Json: _json,
}
