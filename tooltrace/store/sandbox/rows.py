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
"""Integers that a browser reads exactly: JavaScript numbers are doubles."""
LONGEST = 100_000
"""Maximum characters of one text; the rest is cut."""


def plain(value: Any) -> Any:
    """Return ``value`` as JSON data.

    Times become ISO text in UTC; NaN, infinities and numbers that a browser cannot read exactly become text; values
    of other types become text, bytes in hex; long texts are cut.
    """
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
    """Return the rows of ``answer`` as JSON data, and the limit that cut them; None where all rows are included."""
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
