"""Hold what went in and came out of a tool as it was at that moment, whatever happens to it later.

On the tool's own thread: only what could still change is copied, as JSON bytes. Off it: the copy is
made safe to keep, redacted and bounded. Containers and objects that declare fields are read by their structure, so no code
of theirs runs. The code of a recorded object that does run here (the text of an exception, a date or a path, the ``tolist`` of
an array, a ``tzinfo``) may raise anything: a marker is kept then. Only the ``value`` of an enum, which orjson reads, must not raise.
"""

from __future__ import annotations

import base64
import dataclasses
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
from typing import Any, NewType

import orjson
import pydantic_core

from tooltrace.faults import pass_on_signal
from tooltrace.redact.inspection import (
    ABSENT,
    bases,
    class_attribute,
    field,
    full_name,
    instance_attributes,
    module_of,
    qualname,
)

Json = NewType("Json", str)
"""JSON text: compact, valid UTF-8, redacted and bounded already."""


MAX_DEPTH = 64
MAX_NODES = 100_000

SNAPSHOT_SIZE = 64 * 1024
"""Characters of text that are read out of objects, one by one, in the tool's own thread."""
SNAPSHOT_NODES = 2_000
"""Values that are read out of objects, one by one, in the tool's own thread: about two milliseconds. Plain data, which
is copied in C at a gigabyte a second, does not count."""
CUT = b" "
"""A snapshot that ends so was cut: only the head of an object is in it. JSON itself never ends with a space."""

_ROOMY = 2048
_LOWEST, _BEYOND = -(2**63), 2**63
_OPTIONS = orjson.OPT_NON_STR_KEYS
_QUICK = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
"""orjson reads dataclasses and time zones by their own code, and crashes the process where that raises."""

Snapshot = str | int | float | bool | bytes | None
"""A scalar as it is, or JSON bytes."""


def snapshot(value: Any, limit: int = SNAPSHOT_SIZE) -> Snapshot:
    """``value`` as it is now: itself where it cannot change, else its JSON.

    Objects are read as far as the budget goes; a field ``limit`` above the default raises the budget in proportion.
    """
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value  # type: ignore[no-any-return]
    if (kind is int or kind is float) and _LOWEST <= value < _BEYOND:  # false for NaN and the infinities
        return value  # type: ignore[no-any-return]
    raw = _plain_json(value)
    if raw is None:
        times = max(1, limit // SNAPSHOT_SIZE)
        walk = _Walk(SNAPSHOT_NODES * times, SNAPSHOT_SIZE * times)
        raw = _walked(walk, value)
        return raw + CUT if walk.cut else raw
    # orjson's bytes keep the 4 KiB that they were written in: eight megabytes for a thousand waiting calls.
    return raw if len(raw) > _ROOMY else bytes(memoryview(raw))


class _NotPlain(TypeError):
    """The value is an object that the walk has to read."""


def _date(value: Any) -> str:
    """Spell a date or a time; called by orjson for what it does not write itself."""
    if type(value) is dt.datetime or type(value) is dt.date or type(value) is dt.time:
        return str.__str__(value.isoformat())
    raise _NotPlain


def to_json_bytes(value: Any) -> bytes:
    """Return any value as JSON bytes. Raises nothing but what a signal raises."""
    return _walked(_Walk(MAX_NODES), value)


def _walked(walk: _Walk, value: Any) -> bytes:
    try:
        return orjson.dumps(walk.plain(value, 0), option=_OPTIONS)
    except BaseException as error:
        pass_on_signal(error)
        return orjson.dumps(_marker(value))


def _plain_json(value: Any) -> bytes | None:
    """Return the JSON of plain data, written in C; None where it holds objects, or numbers that JSON cannot say."""
    try:
        # A dataclass is an object like any other: one may hold a whole application.
        raw = orjson.dumps(value, _date, _QUICK)
        if b"null" not in raw:
            return raw
        # orjson writes NaN and infinity as null too, which would be a lie about what the tool was given. pydantic's writer
        # tells them apart; it would run the code of subclasses, so there must be none.
        orjson.dumps(value, _date, _QUICK | orjson.OPT_PASSTHROUGH_SUBCLASS)
        told = pydantic_core.to_json(value, inf_nan_mode="strings")
    except BaseException as error:
        if type(error.__cause__) is not _NotPlain:  # which is by far the most frequent
            pass_on_signal(error.__cause__ or error)
        return None
    return None if any(word in told for word in _UNSAYABLE_JSON) else raw


def fix_unicode(text: str) -> str:
    """``text`` as valid UTF-8: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class _Walk:
    """One walk through a value, into data that JSON can say, as far as ``nodes`` and ``size`` go."""

    def __init__(self, nodes: int, size: float = math.inf) -> None:
        self._open: set[int] = set()
        self._nodes = nodes
        self._size = size
        self.cut = False
        """Whether something was left out for want of room."""

    @property
    def _full(self) -> bool:
        if self._nodes < 0 or self._size < 0:
            self.cut = True
        return self.cut

    def plain(self, value: Any, depth: int) -> Any:
        self._nodes -= 1
        try:
            simple = _scalar(value)
        except BaseException as error:
            pass_on_signal(error)
            return _marker(value)
        if simple is not _NOT_SCALAR:
            if type(simple) is str:
                self._size -= len(simple)
            return simple
        if depth == 1 and (type(value) is dict or type(value) is list):
            raw = _plain_json(value)  # an argument that is plain data is kept beside one that is not
            if raw is not None:
                return orjson.Fragment(raw)
        if depth >= MAX_DEPTH:
            return "<too deep>"
        if self._full:
            return _marker(value)
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
        if fields is not None:  # those of a class are few: each is told of, by its kind at least
            return {_key(name): self.plain(item, depth) for name, item in fields.items()}
        for base in bases(kind):
            if id(base) in _MAPPINGS:
                return self._items(value, depth, _MAPPINGS[id(base)])
            if id(base) in _ITERABLES:
                return self._list(base.__iter__(value), depth)  # type: ignore[attr-defined]
        return _array(value, self, depth)

    def _items(self, value: Any, depth: int, items: Any = dict.items) -> dict[str, Any]:
        out: dict[str, Any] = {}
        beyond = _BEYOND_CUT
        for key, item in items(value):
            if self._full:
                beyond -= 1
                if beyond < 0:
                    out["<too many>"] = "…"
                    break
            out[_key(key)] = self.plain(item, depth)
        return out

    def _list(self, items: Iterator[Any], depth: int) -> list[Any]:
        out: list[Any] = []
        for item in items:
            if self._full:
                out.append("<too many>")
                break
            out.append(self.plain(item, depth))
        return out


_BEYOND_CUT = 64
"""Members of a mapping that are still told of where there is no more room: by their value where it is a scalar, else by
their kind. The last argument of a call counts as much as the first."""

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
_UNSAYABLE_JSON = tuple(f'"{word}"'.encode() for word in _UNSAYABLE.values())


def _scalar(value: Any) -> Any:
    """What JSON can say of ``value`` without looking inside it. By its type: ``isinstance`` would ask the
    object itself for its ``__class__``."""
    kind = type(value)
    if value is None or kind is bool:
        return value
    if issubclass(kind, enum.Enum):
        return _scalar(instance_attributes(value)["_value_"])
    if issubclass(kind, str):
        return fix_unicode(str.__str__(value))
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
        return f"{qualname(kind)}: {exception_message(value)}"
    return _NOT_SCALAR


_DATES = (dt.date, dt.time)  # a datetime is a date
_PYDANTIC_URLS = frozenset({"pydantic.networks", "pydantic_core._pydantic_core"})
"""Modules whose values are URLs, and say so by ``str``."""
_SPELLED = frozenset(map(id, (dt.timedelta, decimal.Decimal, uuid.UUID, complex, fractions.Fraction)))


def _text(said: Any) -> str:
    """What an object said of itself, as a text of no class of its own. Raises TypeError where it is not a text."""
    return fix_unicode(str.__str__(said))


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
        return {name: field(value, name, own) for name in _public(declared)}
    if class_attribute(kind, "__pydantic_fields__") is not ABSENT:
        own = instance_attributes(value)
        return {**own, **(field(value, "__pydantic_extra__", own) or {})}
    if (declared := class_attribute(kind, "__attrs_attrs__")) is not ABSENT:
        own = instance_attributes(value)
        return {a.name: field(value, a.name, own) for a in declared}
    return None


def _public(declared: Any) -> list[str]:
    """Return the names of a dataclass's public fields; class variables are declared as fields too."""
    return [
        name
        for name, known in dict.items(declared)
        if not name.startswith("_") and known._field_type is _DATACLASS_FIELD  # noqa: SLF001 - dataclasses.fields() asks the class
    ]


_DATACLASS_FIELD: Any = dataclasses.__dict__["_FIELD"]


def _array(value: Any, walk: _Walk, depth: int) -> Any:
    """A numpy array or scalar by its values; anything else by its kind."""
    if module_of(type(value)).partition(".")[0] == "numpy":
        if getattr(value, "size", 1) > MAX_NODES:
            return {
                "type": "numpy.ndarray",
                "shape": walk.plain(value.shape, depth),
                "dtype": _text(str(value.dtype)),
            }
        values = value.tolist()
        raw = _plain_json(values) if type(values) is list else None
        return walk.plain(values, depth) if raw is None else orjson.Fragment(raw)
    return _marker(value)


def _key(key: Any) -> str:
    try:
        plain = _scalar(key)
    except BaseException as error:
        pass_on_signal(error)
        return _marker(key)
    return _marker(key) if plain is _NOT_SCALAR else plain if type(plain) is str else str(plain)


def _marker(value: Any) -> str:
    return fix_unicode(f"<{full_name(type(value))}>")


def exception_message(exc: BaseException) -> str:
    """What an exception says of itself; its kind where it cannot say. Raises nothing but what a signal raises."""
    try:
        if any(class_attribute(type(exc), "__str__") is own for own in _BUILTIN_SAYINGS) and not _plain_args(exc):
            return ", ".join(to_json_bytes(part).decode() for part in _args(exc))
        return _text(str(exc))
    except BaseException as error:
        pass_on_signal(error)
        return _marker(exc)


_BUILTIN_SAYINGS = (BaseException.__str__, KeyError.__str__)
"""These spell the arguments by their ``__repr__``, which is not ours to run."""
_args: Callable[[BaseException], tuple[Any, ...]] = BaseException.__dict__["args"].__get__


def _plain_args(exc: BaseException) -> bool:
    return all(part is None or type(part) is str or type(part) is bool for part in _args(exc))
