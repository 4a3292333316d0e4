"""Hold what went in and came out of a tool as it was at that moment, whatever happens to it later.

On the tool's own thread: only what could still change is copied, as JSON bytes. Off it: the copy is
made safe to keep, redacted and bounded. Containers and objects that declare fields are read by their structure, so no code
of theirs runs. The code of a recorded object that does run here (the text of an exception, a date or a path, the ``tolist`` of
an array, a ``tzinfo``) may raise anything: a marker is kept then. Only the ``value`` of an enum, which orjson reads, must not raise.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import enum
import fractions
import math
import pathlib
import uuid
from collections import UserDict, deque
from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Any

import orjson

from tooltrace.classes import (
    ABSENT,
    bases,
    class_attribute,
    field,
    full_name,
    instance_attributes,
    module_of,
    qualname,
)
from tooltrace.interrupts import pass_on_signal

MAX_DEPTH = 64
MAX_NODES = 100_000

_ROOMY = 2048
_LOWEST, _BEYOND = -(2**63), 2**63
_OPTIONS = orjson.OPT_NON_STR_KEYS
_QUICK = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
"""orjson reads dataclasses and time zones by their own code, and crashes the process where that raises."""

Snapshot = str | int | float | bool | bytes | None
"""A scalar as it is, or JSON bytes."""


def snapshot(value: Any) -> Snapshot:
    """``value`` as it is now: itself where it cannot change, else its JSON."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value  # type: ignore[no-any-return]
    if (kind is int or kind is float) and _LOWEST <= value < _BEYOND:  # false for NaN and the infinities
        return value  # type: ignore[no-any-return]
    try:
        raw = orjson.dumps(value, _declared, _QUICK)
    except BaseException as error:
        if type(error.__cause__) is not _Undeclared:  # which is by far the most frequent
            pass_on_signal(error.__cause__ or error)
        return to_json(value)
    # orjson writes NaN and infinity as null, which would be a lie about what the tool was given.
    raw = to_json(value) if b"null" in raw else raw
    # orjson's bytes keep the 4 KiB that they were written in: eight megabytes for a thousand waiting calls.
    return raw if len(raw) > _ROOMY else bytes(memoryview(raw))


class _Undeclared(TypeError):
    """orjson cannot write the object, and it is neither a date nor declares its fields."""


def _declared(value: Any) -> Any:
    """Return what orjson is to write for an object that it does not know."""
    kind = type(value)
    if kind is dt.datetime:  # by far the most frequent
        return value.isoformat()
    if issubclass(kind, _DATES):
        return _scalar(value)
    fields = _fields(value)
    if fields is None:
        raise _Undeclared
    return fields


def to_json(value: Any) -> bytes:
    """Any value as JSON bytes. Raises nothing but what a signal raises."""
    try:
        return orjson.dumps(_Walk().plain(value, 0), option=_OPTIONS)
    except BaseException as error:
        pass_on_signal(error)
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
        try:
            simple = _scalar(value)
        except BaseException as error:
            pass_on_signal(error)
            return _marker(value)
        if simple is not _NOT_SCALAR:
            return simple
        if depth >= MAX_DEPTH or self._nodes > MAX_NODES:
            return "<too deep>" if depth >= MAX_DEPTH else "<too many>"
        if id(value) in self._open:
            return "<circular>"
        self._open.add(id(value))
        try:
            return self._container(value, depth + 1)
        except BaseException as error:
            pass_on_signal(error)
            return _marker(value)
        finally:
            self._open.discard(id(value))

    def _container(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is dict:
            return self._items(value, depth)
        if kind is list or kind is tuple:
            return self._list(iter(value), depth)
        fields = _fields(value)
        if fields is not None:
            return self._items(fields, depth)
        for base in bases(kind):
            if id(base) in _MAPPINGS:
                return self._items(value, depth, _MAPPINGS[id(base)])
            if id(base) in _ITERABLES:
                return self._list(base.__iter__(value), depth)  # type: ignore[attr-defined]
        return _array(value, self, depth)

    def _items(self, value: Any, depth: int, items: Any = dict.items) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, item in items(value):
            if self._nodes > MAX_NODES:
                out["<too many>"] = "…"
                break
            out[_key(key)] = self.plain(item, depth)
        return out

    def _list(self, items: Iterator[Any], depth: int) -> list[Any]:
        out: list[Any] = []
        for item in items:
            if self._nodes > MAX_NODES:
                out.append("<too many>")
                break
            out.append(self.plain(item, depth))
        return out


_MAPPINGS: dict[int, Any] = {
    id(dict): dict.items,
    id(MappingProxyType): MappingProxyType.items,
    id(UserDict): lambda value: dict.items(instance_attributes(value)["data"]),
}
"""By the identity of the class: to look up a class itself would run the ``__hash__`` of its metaclass."""
_ITERABLES = frozenset(
    map(id, (list, tuple, set, frozenset, deque, range, *map(type, ({}.keys(), {}.values(), {}.items()))))
)
"""Containers that are read, and their subclasses, by the ways of the class itself: whatever a subclass, or a
container of another make, would run to give its items may take for ever."""

_NOT_SCALAR = object()
_UNSAYABLE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
"""What JSON has no numbers for, in the words of protobuf's JSON form."""


def _scalar(value: Any) -> Any:
    """What JSON can say of ``value`` without looking inside it. By its type: ``isinstance`` would ask the
    object itself for its ``__class__``."""
    kind = type(value)
    if value is None or kind is bool:
        return value
    if issubclass(kind, enum.Enum):
        return _scalar(instance_attributes(value)["_value_"])
    if issubclass(kind, str):
        return scrub(str.__str__(value))
    if issubclass(kind, int):
        number = int.__index__(value)
        return number if -(2**63) <= number < 2**63 else str(number) if abs(number) < 2**4096 else "<huge integer>"
    if issubclass(kind, float):
        real = float.__float__(value)
        return real if math.isfinite(real) else _UNSAYABLE[str(real)]
    if kind is memoryview or issubclass(kind, bytes) or issubclass(kind, bytearray):
        return _bytes(memoryview(value).tobytes())
    if issubclass(kind, _DATES):
        return _text(value.isoformat())
    if id(kind) in _SPELLED or issubclass(kind, pathlib.PurePath) or module_of(kind) in _PYDANTIC_URLS:
        return _text(str(value))
    if issubclass(kind, BaseException):
        return f"{qualname(kind)}: {message_of(value)}"
    return _NOT_SCALAR


_DATES = (dt.date, dt.time)  # a datetime is a date
_PYDANTIC_URLS = frozenset({"pydantic.networks", "pydantic_core._pydantic_core"})
"""Modules whose values are URLs, and say so by ``str``."""
_SPELLED = frozenset(map(id, (dt.timedelta, decimal.Decimal, uuid.UUID, complex, fractions.Fraction)))


def _text(said: Any) -> str:
    """What an object said of itself, as a text of no class of its own. Raises TypeError where it is not a text."""
    return scrub(str.__str__(said))


def _bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return "base64:" + base64.b64encode(value).decode("ascii")


def _fields(value: Any) -> dict[str, Any] | None:
    """The fields of an object that declares them: dataclass, pydantic, attrs, named tuple."""
    kind = type(value)
    if issubclass(kind, type):
        return None
    if issubclass(kind, tuple):
        names = class_attribute(kind, "_fields")
        return None if names is ABSENT else dict(zip(names, tuple.__iter__(value), strict=False))
    if (declared := class_attribute(kind, "__dataclass_fields__")) is not ABSENT:
        own = instance_attributes(value)
        return {name: field(value, name, own) for name in dict.keys(declared)}
    if class_attribute(kind, "__pydantic_fields__") is not ABSENT:
        own = instance_attributes(value)
        return {**own, **(field(value, "__pydantic_extra__", own) or {})}
    if (declared := class_attribute(kind, "__attrs_attrs__")) is not ABSENT:
        own = instance_attributes(value)
        return {a.name: field(value, a.name, own) for a in declared}
    return None


def _array(value: Any, walk: _Walk, depth: int) -> Any:
    """A numpy array or scalar by its values; anything else by its kind."""
    if module_of(type(value)).partition(".")[0] == "numpy":
        if getattr(value, "size", 1) > MAX_NODES:
            return {
                "type": "numpy.ndarray",
                "shape": walk.plain(value.shape, depth),
                "dtype": _text(str(value.dtype)),
            }
        return walk.plain(value.tolist(), depth)
    return _marker(value)


def _key(key: Any) -> str:
    try:
        plain = _scalar(key)
    except BaseException as error:
        pass_on_signal(error)
        return _marker(key)
    return _marker(key) if plain is _NOT_SCALAR else plain if type(plain) is str else str(plain)


def _marker(value: Any) -> str:
    return scrub(f"<{full_name(type(value))}>")


def message_of(exc: BaseException) -> str:
    """What an exception says of itself; its kind where it cannot say. Raises nothing but what a signal raises."""
    try:
        if any(class_attribute(type(exc), "__str__") is own for own in _BUILTIN_SAYINGS) and not _plain_args(exc):
            return ", ".join(to_json(part).decode() for part in _args(exc))
        return _text(str(exc))
    except BaseException as error:
        pass_on_signal(error)
        return _marker(exc)


_BUILTIN_SAYINGS = (BaseException.__str__, KeyError.__str__)
"""These spell the arguments by their ``__repr__``, which is not ours to run."""
_args: Callable[[BaseException], tuple[Any, ...]] = BaseException.__dict__["args"].__get__


def _plain_args(exc: BaseException) -> bool:
    return all(part is None or type(part) is str or type(part) is bool for part in _args(exc))
