"""Encode and decode the values and ids of OTLP's JSON form, for :mod:`tooltrace.otel.otlp.json`."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

from tooltrace.redact.texts import fix_unicode

MAX_DEPTH: Final = 64
"""Maximum nesting depth of lists and maps in one attribute."""

Object = dict[str, Any]
_INT64: Final = range(-(2**63), 2**63)
_LATEST: Final = 2**64 - 1
_WORDS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class MalformedOtlp(ValueError):
    """The input is not valid OTLP."""


def nonempty_text(text: str | None) -> str:
    """Return valid Unicode text; None becomes the empty string, as in OTLP."""
    return fix_unicode(text or "")


def time_of(nanoseconds: int) -> str:
    """Return nanoseconds since the epoch as text, clamped to the range of OTLP."""
    return str(min(max(nanoseconds, 0), _LATEST))


def pairs(attributes: Object) -> list[Object]:
    """Return ``attributes`` as a list of ``KeyValue``."""
    return [{"key": fix_unicode(key), "value": any_value(value)} for key, value in attributes.items()]


def any_value(value: Any) -> Object:
    """Return ``value`` as an ``AnyValue``. Raises TypeError for a type that OpenTelemetry does not have."""
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
    raise TypeError(f"an attribute of the type {type(value).__name__} cannot be encoded as OTLP")


def _word(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def read_attributes(holder: Object, depth: int = MAX_DEPTH, name: str = "attributes") -> Object:
    """Return the attributes in the list of ``KeyValue`` under ``name``. The last of duplicate keys counts.

    Raises MalformedOtlp.
    """
    out: Object = {}
    for pair in objects(holder, name):
        key = pair.get("key")
        if not isinstance(key, str):
            unreadable(f"one of its {name} has no key")
        out[fix_unicode(key)] = read_value(pair.get("value"), depth)
    return out


def read_value(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return the Python value of an ``AnyValue``; None if it is empty. Raises MalformedOtlp."""
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
    return fix_unicode(value) if isinstance(value, str) else unreadable("a stringValue is not text")


def _read_bool(value: Any, _depth: int) -> bool:
    return value if isinstance(value, bool) else unreadable("a boolValue is neither true nor false")


def _read_int(value: Any, _depth: int) -> int:
    number = integer(value)
    return number if number is not None and number in _INT64 else unreadable("an intValue is not a 64-bit integer")


def _read_double(value: Any, _depth: int) -> float:
    if isinstance(value, str):
        try:
            return _WORDS[value] if value in _WORDS else float(value)
        except ValueError:
            unreadable("a doubleValue is not a number")
    if isinstance(value, bool) or not isinstance(value, int | float):
        unreadable("a doubleValue is not a number")
    try:
        return float(value)
    except OverflowError:
        unreadable("a doubleValue is too large")


def _read_bytes(value: Any, _depth: int) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        unreadable("a bytesValue is not base64")


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
    """Raise MalformedOtlp with ``reason``."""
    raise MalformedOtlp(reason)


def mapping(value: Any, what: str) -> Object:
    """Return ``value`` if it is an object. Raises MalformedOtlp otherwise."""
    return value if isinstance(value, dict) else unreadable(f"{what} is not an object")


def members(holder: Object, name: str) -> list[Any]:
    """Return the array under ``name``; empty if there is none. Raises MalformedOtlp."""
    value = holder.get(name)
    return [] if value is None else value if isinstance(value, list) else unreadable(f"{name} is not an array")


def objects(holder: Object, name: str) -> Iterator[Object]:
    """Yield the objects of the array under ``name``. Raises MalformedOtlp for an item of another type."""
    for item in members(holder, name):
        yield mapping(item, f"one of {name}")


def string(holder: Object, name: str) -> str | None:
    """Return the text under ``name``; None if it is empty or missing. Raises MalformedOtlp."""
    value = holder.get(name)
    if value is None or isinstance(value, str):
        return fix_unicode(value) if value else None
    unreadable(f"{name} is not text")


def identity(holder: Object, name: str, digits: int) -> str | None:
    """Return the id in lower-case hex; None if it is absent, which OTLP encodes as an empty text or as zeros."""
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
    """Return the id as ``identity`` does. Raises MalformedOtlp if it is absent."""
    return identity(holder, name, digits) or unreadable(f"it has no {name}")


def nanoseconds(holder: Object, name: str) -> int:
    """Return the time under ``name`` in nanoseconds since the epoch; 0 if there is none."""
    number = integer(holder.get(name) or 0)
    return number if number is not None and 0 <= number < 2**64 else unreadable(f"{name} is not a time")


def integer(value: Any) -> int | None:
    """Return a whole number, also from its text; None if ``value`` is neither."""
    if isinstance(value, str):
        # Bounded, because int() of a very long text takes quadratic time.
        digits = value.removeprefix("-")
        return int(value) if digits.isascii() and digits.isdigit() and len(digits) < 25 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def enum(holder: Object, name: str, names: dict[str, int], highest: int) -> int:
    """Return the number of an enum value; 0 for a value of a later version."""
    value = holder.get(name) or 0
    number = names.get(value, 0) if isinstance(value, str) and not value.isdigit() else integer(value)
    if number is None:
        unreadable(f"{name} is not an enum value")
    return number if 0 <= number <= highest else 0
