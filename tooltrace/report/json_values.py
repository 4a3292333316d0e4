"""Conversion of results to JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import orjson

_OPTIONS = orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS


def json_safe(value: Any, unit: str = "") -> Any:
    """Return ``value`` in the types of JSON: times as ISO 8601 in UTC, NaN and infinities as None.

    A text with the unit ``json`` is parsed, and one with the unit ``parts`` if it is an object or a list.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _parsed(value) if unit == "json" or (unit == "parts" and value[:1] in ("{", "[")) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return f"{value.isoformat(timespec='microseconds')}{'' if value.tzinfo else 'Z'}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [json_safe(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): json_safe(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: json_safe(getattr(value, field.name)) for field in fields(value)}
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)


def _parsed(text: str) -> Any:
    try:
        return json_safe(json.loads(text))
    except (ValueError, RecursionError):
        return text


def to_json(value: Any, *, indent: bool = False) -> str:
    """Return ``value`` as JSON text; faster than ``json_safe`` for many rows."""
    option = _OPTIONS | (orjson.OPT_INDENT_2 if indent else 0)
    return orjson.dumps(value, default=json_safe, option=option).decode()  # noqa: TID251 - rows of our queries are flat


def json_for_script(value: Any) -> str:
    """Return ``value`` as JSON that is safe inside a script element."""
    return to_json(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
