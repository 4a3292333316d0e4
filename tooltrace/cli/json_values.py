"""Convert values of a result to the types of JSON."""

from __future__ import annotations

import json
import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any


def plain(value: Any, unit: str = "") -> Any:
    """Return ``value`` in the types of JSON: times as ISO 8601 in UTC, NaN and infinities as None."""
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
