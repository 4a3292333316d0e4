"""Result rows of the sandbox: JSON values, limited in number and size."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import orjson

from tooltrace.store.result import Cut
from tooltrace.store.sandbox.limits import SandboxLimits

_EXACT = range(-(2**53), 2**53 + 1)
"""Whole numbers that a browser reads as they are."""
LONGEST = 100_000
"""Characters of one text that are shown."""


def plain(value: Any) -> Any:
    """Times in ISO form, UTC; what is no number, or too long a one for a browser, as text; long texts cut."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if value in _EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"
    if isinstance(value, datetime):
        return f"{value.isoformat(timespec='microseconds')}{'' if value.tzinfo else 'Z'}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value) if Decimal(repr(float(value))) == value else str(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)


def bounded(answer: Iterable[Any], limits: SandboxLimits) -> tuple[list[list[Any]], Cut | None]:
    """The rows of ``answer`` as JSON can say them, and where they were cut; None where all are there."""
    rows: list[list[Any]] = []
    size = 0
    for row in answer:
        made = [plain(value) for value in row]
        size += len(orjson.dumps(made))
        if len(rows) >= limits.rows:
            return rows, "rows"
        if size > limits.bytes:
            return rows, "bytes"
        rows.append(made)
    return rows, None
