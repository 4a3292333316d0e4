"""OTLP's JSON form of values and ids, and back: what :mod:`tooltrace.otel.otlp.json` is made of."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

from tooltrace.redact.snapshot import fix_unicode

MAX_DEPTH: Final = 64
"""How many lists and maps may lie inside each other in one attribute."""

Object = dict[str, Any]
_INT64: Final = range(-(2**63), 2**63)
_LATEST: Final = 2**64 - 1
_WORDS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class MalformedOtlp(ValueError):
    """What was given is not OTLP."""


def plain(text: str | None) -> str:
    """Valid text; OTLP says by an empty one that there is none."""
    return fix_unicode(text or "")


def time_of(nanoseconds: int) -> str:
    """A time since the epoch; what OTLP cannot say is the next that it can."""
    return str(min(max(nanoseconds, 0), _LATEST))


def pairs(attributes: Object) -> list[Object]:
    """A list of ``KeyValue``."""
    return [{"key": fix_unicode(key), "value": any_value(value)} for key, value in attributes.items()]


def any_value(value: Any) -> Object:
    """An ``AnyValue``. Raises TypeError for what OpenTelemetry has no word for."""
    if value is None:
        return {}
    if isinstance(value, str):
        return {"stringValue": fix_unicode(value)}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue" if value in _INT64 else "stringValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else _word(value)}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode("ascii")}
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": pairs(value)}}
    raise TypeError(f"OpenTelemetry has no word for a {type(value).__name__}")


def _word(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def read_attributes(holder: Object, depth: int = MAX_DEPTH, name: str = "attributes") -> Object:
    """The list of ``KeyValue`` that ``holder`` has under ``name``; of a key that is there twice the last. Raises
    MalformedOtlp."""
    out: Object = {}
    for pair in objects(holder, name):
        key = pair.get("key")
        if not isinstance(key, str):
            unreadable(f"one of its {name} has no key")
        out[fix_unicode(key)] = read_value(pair.get("value"), depth)
    return out


def read_value(value: Any, depth: int = MAX_DEPTH) -> Any:
    """What an ``AnyValue`` says; None where it says nothing. Raises MalformedOtlp."""
    if value is None:
        return None
    if depth < 0:
        unreadable(f"an attribute is nested deeper than {MAX_DEPTH} levels")
    members = mapping(value, "a value")
    for name, read in _READERS.items():
        found = members.get(name)
        if found is not None:
            return read(found, depth)
    return None


def _read_text(value: Any, _depth: int) -> str:
    return fix_unicode(value) if isinstance(value, str) else unreadable("a stringValue is no text")


def _read_bool(value: Any, _depth: int) -> bool:
    return value if isinstance(value, bool) else unreadable("a boolValue is neither true nor false")


def _read_int(value: Any, _depth: int) -> int:
    number = integer(value)
    return number if number is not None and number in _INT64 else unreadable("an intValue is no 64-bit integer")


def _read_double(value: Any, _depth: int) -> float:
    if isinstance(value, str):
        try:
            return _WORDS[value] if value in _WORDS else float(value)
        except ValueError:
            unreadable("a doubleValue is no number")
    if isinstance(value, bool) or not isinstance(value, int | float):
        unreadable("a doubleValue is no number")
    try:
        return float(value)
    except OverflowError:
        unreadable("a doubleValue is too large")


def _read_bytes(value: Any, _depth: int) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        unreadable("a bytesValue is no base64")


def _read_array(value: Any, depth: int) -> list[Any]:
    return [read_value(item, depth - 1) for item in members(mapping(value, "an arrayValue"), "values")]


def _read_map(value: Any, depth: int) -> Object:
    return read_attributes(mapping(value, "a kvlistValue"), depth - 1, "values")


_READERS: Final[dict[str, Callable[[Any, int], Any]]] = {
    "stringValue": _read_text,
    "intValue": _read_int,
    "boolValue": _read_bool,
    "doubleValue": _read_double,
    "arrayValue": _read_array,
    "kvlistValue": _read_map,
    "bytesValue": _read_bytes,
}


def unreadable(reason: str) -> NoReturn:
    """Raise MalformedOtlp."""
    raise MalformedOtlp(reason)


def mapping(value: Any, what: str) -> Object:
    """``value``, which must be an object."""
    return value if isinstance(value, dict) else unreadable(f"{what} is not an object")


def members(holder: Object, name: str) -> list[Any]:
    """The array that ``holder`` has under ``name``; empty where it has none."""
    value = holder.get(name)
    return [] if value is None else value if isinstance(value, list) else unreadable(f"{name} is not an array")


def objects(holder: Object, name: str) -> Iterator[Object]:
    """The same where all of it must be objects."""
    for item in members(holder, name):
        yield mapping(item, f"one of {name}")


def string(holder: Object, name: str) -> str | None:
    """The text under ``name``; None where it is empty or not there."""
    value = holder.get(name)
    if value is None or isinstance(value, str):
        return fix_unicode(value) if value else None
    unreadable(f"{name} is no text")


def identity(holder: Object, name: str, digits: int) -> str | None:
    """Lower-case hex; None where there is none, which OTLP says by an empty text or by zeros."""
    value = holder.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) != digits or not value.isascii() or not value.isalnum():
        unreadable(f"{name} is not {digits} hex digits")
    try:
        return value.lower() if int(value, 16) else None
    except ValueError:
        unreadable(f"{name} is not {digits} hex digits")


def required_id(holder: Object, name: str, digits: int) -> str:
    """As ``identity``, where there must be one."""
    return identity(holder, name, digits) or unreadable(f"it has no {name}")


def nanoseconds(holder: Object, name: str) -> int:
    """A time since the epoch; 0 where there is none."""
    number = integer(holder.get(name) or 0)
    return number if number is not None and 0 <= number < 2**64 else unreadable(f"{name} is no time")


def integer(value: Any) -> int | None:
    """A whole number, or the text of one; None where it is none."""
    if isinstance(value, str):
        digits = value.removeprefix("-")
        return int(value) if digits.isascii() and digits.isdigit() and len(digits) < 25 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def enum(holder: Object, name: str, names: dict[str, int], highest: int) -> int:
    """The number of an enum value; one of a later version is taken for none."""
    value = holder.get(name) or 0
    number = names.get(value, 0) if isinstance(value, str) and not value.isdigit() else integer(value)
    if number is None:
        unreadable(f"{name} is no enum value")
    return number if 0 <= number <= highest else 0
