"""JSON of objects, read by their structure in Python.

Containers and objects that declare fields are read so that none of their code runs. Some code of a recorded object does
run here: the text of an exception, a date or a path, the ``tolist`` of an array, a ``tzinfo``. It may raise anything; a
marker is recorded in that case.
"""

from __future__ import annotations

import base64
import codecs
import datetime as dt
import decimal
import enum
import fractions
import math
import pathlib
import uuid
from collections import UserDict, deque
from collections.abc import Callable, Iterator
from math import isfinite
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from tooltrace.faults import pass_on_signal
from tooltrace.redact.declared_fields import fields_reader, raise_unreadable
from tooltrace.redact.inspection import (
    bases,
    class_attribute,
    instance_attributes,
    module_of,
    qualname,
)
from tooltrace.redact.model_list import model_list_json
from tooltrace.redact.plain_data import flat_json, plain_json
from tooltrace.redact.shrink import BEYOND_CUT, shrink
from tooltrace.redact.texts import MARGIN, MAX_JSON, SNAPSHOT_SIZE, TAIL, cut_text, fix_unicode, is_utf8, marker

MAX_DEPTH = 64
MAX_NODES = 100_000

_OPTIONS = orjson.OPT_NON_STR_KEYS


def to_json_bytes(value: Any) -> bytes:
    """Return any value as JSON bytes. Raises only exceptions that a signal caused."""
    return walked_json(Walk(MAX_NODES), value)


def walked_json(walk: Walk, value: Any) -> bytes:
    """Return ``value``, read by ``walk``, as JSON bytes. Raises only exceptions that a signal caused."""
    try:
        return orjson.dumps(walk.to_plain(value, 0), option=_OPTIONS)
    except BaseException as error:
        pass_on_signal(error)
        return orjson.dumps(marker(value))


class Walk:
    """One conversion of a value to JSON data, of at most ``nodes`` values and about ``size`` characters."""

    def __init__(self, nodes: int, size: float = math.inf) -> None:
        self._open: set[int] = set()
        self._nodes = nodes
        self._size = size
        self.cut = False
        """Whether something was left out because the budget was used up."""

    @property
    def _is_exhausted(self) -> bool:
        # noted here, because each caller that stops leaves something out
        if self._nodes < 0 or self._size < 0:
            self.cut = True
        return self.cut

    def to_plain(self, value: Any, depth: int) -> Any:
        self._nodes -= 1
        shape = _shapes.get(id(type(value))) or _learn(type(value))
        if shape.is_scalar:
            try:
                simple = _scalar(self._front(value))
            except BaseException as error:
                pass_on_signal(error)
                return marker(value)
            if simple is not _NOT_SCALAR:
                if type(simple) is str:
                    self._size -= len(simple)
                return simple
        elif type(value) is dict or type(value) is list:
            raw = self._encoded(value, depth)
            if raw is not None:
                return orjson.Fragment(raw)
        return self._structure(value, shape, depth)

    def _structure(self, value: Any, shape: _Shape, depth: int) -> Any:
        if depth >= MAX_DEPTH:
            return "<too deep>"
        if self._is_exhausted:
            return marker(value)
        # ids of the containers around this one only: a value that stands twice side by side is recorded twice
        if id(value) in self._open:
            return "<circular>"
        self._open.add(id(value))
        try:
            if shape.fields is None:
                return self._container(value, depth + 1)
            fields = shape.fields(value)
            # a class declares few fields: each is recorded, at least by its type, over budget too
            if self._are_scalars(fields):
                return fields
            return {_key(name): self.to_plain(item, depth + 1) for name, item in fields.items()}
        except BaseException as error:
            pass_on_signal(error)
            return marker(value)
        finally:
            self._open.discard(id(value))

    def _front(self, value: Any) -> Any:
        """Return the front of a text or of bytes beyond MAX_JSON, which are not copied whole; else ``value``."""
        kind = type(value)
        if kind is str and len(value) > MAX_JSON:
            self.cut = True
            return cut_text(value, SNAPSHOT_SIZE)
        if (kind is bytes or kind is bytearray) and len(value) > MAX_JSON:
            self.cut = True
            front = bytes(memoryview(value)[: SNAPSHOT_SIZE + MARGIN + TAIL])
            return codecs.getincrementaldecoder("utf-8")("strict").decode(front) if is_utf8(front) else front
        return value

    def _encoded(self, value: Any, depth: int) -> bytes | None:
        """Return the JSON of a dict or list that an encoder in C can write; None where Python has to read it."""
        if depth == 1:  # an argument, a member of a result: it is copied in C even beside one that is an object
            raw = plain_json(value)
            if raw is not None and len(raw) > MAX_JSON:
                self.cut = True
                return shrink(value, len(raw), SNAPSHOT_SIZE)
            return raw or (self._model_list_json(value) if type(value) is list else None)
        # depth 0: ``snapshot`` has tried the encoders on the whole value before
        if depth == 0 or type(value) is not dict or self._nodes < len(value) or self._size <= 0:
            return None
        raw = flat_json(value)  # a row with dates
        if raw is None or len(raw) > self._size:
            return None
        self._nodes -= len(value)
        self._size -= len(raw)
        return raw

    def _model_list_json(self, value: list[Any]) -> bytes | None:
        """Return the JSON of a list of plain models, and count their fields; else None."""
        found = model_list_json(value, self._nodes, self._size)
        if found is None:
            return None
        self._nodes -= found.values
        self._size -= len(found.raw)
        return found.raw

    def _container(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is dict:
            return self._items(value, depth)
        if kind is list or kind is tuple:
            return self._list(iter(value), depth)
        for base in bases(kind):
            if id(base) in _MAPPINGS:
                return self._items(value, depth, _MAPPINGS[id(base)])
            if id(base) in _ITERABLES:
                return self._list(base.__iter__(value), depth)  # type: ignore[attr-defined]
        return _array(value, self, depth)

    def _are_scalars(self, fields: dict[str, Any]) -> bool:
        """Whether JSON has all ``fields`` as they are; if so, count them. Most models are such: 1 µs instead of 8."""
        size = 0
        for name, item in fields.items():
            if type(name) is not str or not name.isascii():
                return False
            kind = type(item)
            if kind is str:
                if not item.isascii() or len(item) > MAX_JSON:
                    return False
                size += len(item)
            elif item is None or kind is bool:
                pass
            elif kind is int:
                if not -(2**63) <= item < 2**63:
                    return False
            elif kind is not float or not isfinite(item):
                return False
        self._nodes -= len(fields)
        self._size -= size
        return True

    def _items(self, value: Any, depth: int, items: Any = dict.items) -> dict[str, Any]:
        out: dict[str, Any] = {}
        beyond = BEYOND_CUT
        for key, item in items(value):
            if self._is_exhausted:
                beyond -= 1
                if beyond < 0:
                    out["<too many>"] = "…"
                    break
            out[_key(key)] = self.to_plain(item, depth)
        return out

    def _list(self, items: Iterator[Any], depth: int) -> list[Any]:
        out: list[Any] = []
        for item in items:
            if self._is_exhausted:
                out.append("<too many>")
                break
            out.append(self.to_plain(item, depth))
        return out


_MAPPINGS: dict[int, Any] = {
    id(dict): dict.items,
    id(MappingProxyType): MappingProxyType.items,
    id(UserDict): lambda value: dict.items(instance_attributes(value)["data"]),
}
"""Functions that return the items of a mapping, by the ``id`` of its class.

A lookup by the class itself would run the ``__hash__`` of its metaclass."""
_ITERABLES = frozenset(
    map(id, (list, tuple, set, frozenset, deque, range, *map(type, ({}.keys(), {}.values(), {}.items()))))
)
"""Ids of the container classes whose items are recorded, by the ``__iter__`` of that class, for subclasses too.

Iteration code of a subclass or of any other container class is never run: it may never end."""


_NOT_SCALAR = object()


class _Shape(NamedTuple):
    """How the instances of a class are read. The class stays referenced, so that no other class can get its id."""

    kind: type
    is_scalar: bool
    fields: Callable[[Any], dict[str, Any]] | None
    """Function that returns the fields of an instance, where the class declares them."""


_shapes: dict[int, _Shape] = {}
"""Shapes by the ``id`` of the class: a lookup by the class itself would run the ``__hash__`` of its metaclass."""
_MAX_SHAPES = 4096


def _learn(kind: type) -> _Shape:
    """Return the shape of a class, and remember it."""
    try:
        fields = fields_reader(kind)
    except BaseException as error:
        pass_on_signal(error)
        fields = raise_unreadable
    # an application that makes classes in a loop must not fill the memory
    if len(_shapes) >= _MAX_SHAPES:
        _shapes.clear()
    shape = _shapes[id(kind)] = _Shape(kind, _is_scalar(kind), fields)
    return shape


def _is_scalar(kind: type) -> bool:
    """Whether ``_scalar`` reads the instances of ``kind``, except members of an enum whose value is a container."""
    return (
        kind is type(None)
        or kind is memoryview
        or any(issubclass(kind, known) for known in _SCALAR_BASES)
        or id(kind) in _RECORDED_BY_STR
        or module_of(kind) in _PYDANTIC_URLS
    )


_NOT_IN_JSON = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
"""Floats that JSON cannot represent, as the strings that protobuf's JSON form uses."""


def _scalar(value: Any) -> Any:
    """Return ``value`` as a JSON scalar; ``_NOT_SCALAR`` where it has parts to read.

    Decides by ``type(value)``: ``isinstance`` would read ``__class__`` from the object itself, which may run its code.
    """
    kind = type(value)
    if value is None or kind is bool:
        return value
    if issubclass(kind, enum.Enum):
        return _scalar(instance_attributes(value)["_value_"])
    if issubclass(kind, str):
        return fix_unicode(str.__str__(value))
    if issubclass(kind, int):
        number = int.__index__(value)
        # Python refuses to write integers of thousands of digits, and takes quadratic time for them
        return number if -(2**63) <= number < 2**63 else str(number) if abs(number) < 2**4096 else "<huge integer>"
    if issubclass(kind, float):
        real = float.__float__(value)
        return real if isfinite(real) else _NOT_IN_JSON[str(real)]
    if kind is memoryview or issubclass(kind, bytes) or issubclass(kind, bytearray):
        return _bytes(memoryview(value).tobytes())
    if issubclass(kind, _DATES):
        return _text(value.isoformat())
    if id(kind) in _RECORDED_BY_STR or issubclass(kind, pathlib.PurePath) or module_of(kind) in _PYDANTIC_URLS:
        return _text(str(value))
    if issubclass(kind, BaseException):
        return f"{qualname(kind)}: {exception_message(value)}"
    return _NOT_SCALAR


_DATES = (dt.date, dt.time)  # a datetime is a date
_PYDANTIC_URLS = frozenset({"pydantic.networks", "pydantic_core._pydantic_core"})
"""Modules whose classes are URLs; their values are recorded as ``str(value)``."""
_RECORDED_BY_STR = frozenset(map(id, (dt.timedelta, decimal.Decimal, uuid.UUID, complex, fractions.Fraction)))


_SCALAR_BASES = (enum.Enum, str, int, float, bytes, bytearray, *_DATES, pathlib.PurePath, BaseException)


def _text(text: Any) -> str:
    """Return text that an object produced as an exact ``str``, not a subclass. Raises TypeError for other types."""
    return fix_unicode(str.__str__(text))


def _bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return "base64:" + base64.b64encode(value).decode("ascii")


def _array(value: Any, walk: Walk, depth: int) -> Any:
    """Return a numpy array or scalar as its values; anything else as a marker with its type."""
    if module_of(type(value)).partition(".")[0] == "numpy":
        if getattr(value, "size", 1) > MAX_NODES:
            return {
                "type": "numpy.ndarray",
                "shape": walk.to_plain(value.shape, depth),
                "dtype": _text(str(value.dtype)),
            }
        values = value.tolist()
        raw = plain_json(values) if type(values) is list else None
        return walk.to_plain(values, depth) if raw is None else orjson.Fragment(raw)
    return marker(value)


def _key(key: Any) -> str:
    try:
        plain = _scalar(key)
    except BaseException as error:
        pass_on_signal(error)
        return marker(key)
    return marker(key) if plain is _NOT_SCALAR else plain if type(plain) is str else str(plain)


def exception_message(exc: BaseException) -> str:
    """Return the message of an exception; a marker with its type where its ``__str__`` fails.

    Raises only exceptions that a signal caused.
    """
    try:
        if not _has_texts(exc) and id(class_attribute(type(exc), "__str__")) in _BUILTIN_STR_METHODS:
            return ", ".join(to_json_bytes(part).decode() for part in _args(exc))
        return _text(str(exc))
    except BaseException as error:
        pass_on_signal(error)
        return marker(exc)


_BUILTIN_STR_METHODS = frozenset(map(id, (BaseException.__str__, KeyError.__str__)))
"""Ids of the ``__str__`` methods that call ``__repr__`` of the exception's arguments, user code that must not run here."""
_args: Callable[[BaseException], tuple[Any, ...]] = BaseException.__dict__["args"].__get__


def _has_texts(exc: BaseException) -> bool:
    for part in _args(exc):  # noqa: SIM110 - half the time of all()
        if not (type(part) is str or part is None or type(part) is bool):
            return False
    return True
