"""Hold what went in and came out of a tool as it was at that moment, whatever happens to it later.

On the tool's own thread: only what could still change is copied, as JSON bytes. Off it: the copy is
made safe to keep, redacted and bounded. No code of the recorded objects runs, so a ``__repr__`` that
raises or hangs is never met.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import math
import pathlib
import uuid
from collections.abc import Mapping, Sequence, Set
from typing import Any

import orjson

MAX_DEPTH = 64
MAX_NODES = 100_000

_IMMUTABLE = frozenset({str, int, float, bool, type(None)})
_OPTIONS = orjson.OPT_NON_STR_KEYS

Snapshot = str | int | float | bool | bytes | None
"""A scalar as it is, or JSON bytes."""


def snapshot(value: Any) -> Snapshot:
    """``value`` as it is now: itself where it cannot change, else its JSON."""
    if type(value) in _IMMUTABLE:
        return value  # type: ignore[no-any-return]
    try:
        raw = orjson.dumps(value)
    except Exception:  # noqa: BLE001 - whatever orjson cannot say, the walk can
        return to_json(value)
    # orjson writes NaN and infinity as null, which would be a lie about what the tool was given.
    return to_json(value) if b"null" in raw else raw


def to_json(value: Any) -> bytes:
    """Any value as JSON bytes. Never raises."""
    try:
        return orjson.dumps(_Walk().plain(value, 0), option=_OPTIONS)
    except Exception:  # noqa: BLE001 - the last resort still says what kind of thing it was
        return orjson.dumps(_marker(value))


def scrub(text: str) -> str:
    """``text`` as valid UTF-8: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class _Walk:
    """One walk through a value, into data that JSON can say."""

    def __init__(self) -> None:
        self._open: set[int] = set()
        self._nodes = 0

    def plain(self, value: Any, depth: int) -> Any:
        self._nodes += 1
        simple = _scalar(value)
        if simple is not _NOT_SCALAR:
            return simple
        if depth >= MAX_DEPTH or self._nodes > MAX_NODES:
            return "<too deep>" if depth >= MAX_DEPTH else "<too many>"
        if id(value) in self._open:
            return "<circular>"
        self._open.add(id(value))
        try:
            return self._container(value, depth + 1)
        except Exception:  # noqa: BLE001 - an object that raises when it is looked into
            return _marker(value)
        finally:
            self._open.discard(id(value))

    def _container(self, value: Any, depth: int) -> Any:
        fields = _fields(value)
        if fields is not None:
            return self._items(fields, depth)
        if isinstance(value, Mapping):
            return self._items(value, depth)
        if isinstance(value, Sequence | Set):
            return self._list(value, depth)
        return _array(value, self, depth)

    def _items(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, item in value.items():
            if self._nodes > MAX_NODES:
                out["<too many>"] = len(value) - len(out)
                break
            out[_key(key)] = self.plain(item, depth)
        return out

    def _list(self, value: Any, depth: int) -> list[Any]:
        out: list[Any] = []
        for item in value:
            if self._nodes > MAX_NODES:
                out.append("<too many>")
                break
            out.append(self.plain(item, depth))
        return out


_NOT_SCALAR = object()
_UNSAYABLE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
"""What JSON has no numbers for, in the words of protobuf's JSON form."""


def _scalar(value: Any) -> Any:  # noqa: PLR0911 - one line a kind
    """What JSON can say of ``value`` without looking inside it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return _scalar(value.value)
    if isinstance(value, str):
        return scrub(str.__str__(value))
    if isinstance(value, int):
        number = int(value)
        return number if -(2**63) <= number < 2**64 else str(number) if abs(number) < 2**4096 else "<huge integer>"
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _UNSAYABLE[str(float(value))]
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes(bytes(value))
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if type(value) in (datetime.timedelta, decimal.Decimal, uuid.UUID, complex) or isinstance(value, pathlib.PurePath):
        return scrub(str(value))
    if isinstance(value, BaseException):
        return f"{type(value).__qualname__}: {message_of(value)}"
    return _NOT_SCALAR


def _bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return "base64:" + base64.b64encode(value).decode("ascii")


def _fields(value: Any) -> Mapping[str, Any] | None:
    """The fields of an object that declares them: dataclass, pydantic, attrs, named tuple."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name, None) for f in dataclasses.fields(value)}
    if hasattr(type(value), "__pydantic_fields__"):
        return {**vars(value), **(getattr(value, "__pydantic_extra__", None) or {})}
    if hasattr(type(value), "__attrs_attrs__"):
        return {a.name: getattr(value, a.name, None) for a in type(value).__attrs_attrs__}
    if isinstance(value, tuple) and hasattr(type(value), "_fields"):
        return dict(zip(getattr(type(value), "_fields"), value, strict=False))
    return None


def _array(value: Any, walk: _Walk, depth: int) -> Any:
    """A numpy array or scalar by its values; anything else by its kind."""
    if type(value).__module__.partition(".")[0] == "numpy":
        if getattr(value, "size", 1) > MAX_NODES:
            return {"type": "numpy.ndarray", "shape": list(value.shape), "dtype": str(value.dtype)}
        return walk.plain(value.tolist(), depth)
    return _marker(value)


def _key(key: Any) -> str:
    plain = _scalar(key)
    return _marker(key) if plain is _NOT_SCALAR else plain if isinstance(plain, str) else str(plain)


def _marker(value: Any) -> str:
    kind = type(value)
    return f"<{kind.__module__}.{kind.__qualname__}>"


def message_of(exc: BaseException) -> str:
    """What an exception says of itself; its kind where it cannot say."""
    try:
        return scrub(str(exc))
    except Exception:  # noqa: BLE001 - a __str__ that raises
        return _marker(exc)
