"""Snapshots of a tool's arguments and results, unaffected by later changes to the objects.

On the tool's own thread, only values that could still change are copied, as JSON bytes. Redaction and size limits are
applied to the copy later, off that thread. Containers and objects that declare fields are read by their structure, so
that none of their code runs. Some code of a recorded object does run here: the text of an exception, a date or a path,
the ``tolist`` of an array, a ``tzinfo``. It may raise anything; a marker is recorded in that case. Only the ``value``
of an enum, which orjson reads, must not raise.
"""

from __future__ import annotations

import base64
import codecs
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
"""JSON text that may be stored: compact, valid UTF-8, already redacted and within the size limit."""


MAX_DEPTH = 64
MAX_NODES = 100_000

SNAPSHOT_SIZE = 64 * 1024
"""Maximum characters of text that one snapshot reads from objects in the tool's own thread."""
SNAPSHOT_NODES = 2_000
"""Maximum values that one snapshot reads from objects in the tool's own thread: about two milliseconds.

Plain data does not count: it is copied in C at a gigabyte per second."""
MAX_JSON = 1024 * 1024
"""Maximum bytes of plain data in a snapshot: rules and redaction read as much whole. A larger value is cut."""
CUT = b" "
"""The suffix of a snapshot that was cut and contains only the first part of an object.

The JSON written here never ends with a space. The full size, where it is known, stands before the space in binary, as
tabs and carriage returns: the snapshot is valid JSON in any case."""
_ZERO, _ONE = b"\t", b"\r"
MARGIN = 4096
"""Characters past the limit that are kept of a long text, to redact it before it is cut: longer than any secret."""
TAIL = 4096
"""Characters at the end of a long text that are kept for rules, which may look for an exit status there."""

_ROOMY = 2048
_LOWEST, _BEYOND = -(2**63), 2**63
_OPTIONS = orjson.OPT_NON_STR_KEYS
_QUICK = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
"""Options that stop orjson from running the code of dataclasses and time zones.

orjson crashes the process where that code raises."""

Snapshot = str | int | float | bool | bytes | None
"""A scalar, unchanged, or JSON bytes."""


def snapshot(value: Any, limit: int = SNAPSHOT_SIZE) -> Snapshot:
    """Return ``value`` as it is now: the value itself where it cannot change, else its JSON.

    Objects are read until the budget is used up; a field ``limit`` above the default raises the budget in proportion.
    """
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value  # type: ignore[no-any-return]
    if (kind is int or kind is float) and _LOWEST <= value < _BEYOND:  # false for NaN and the infinities
        return value  # type: ignore[no-any-return]
    raw = _fast_json(value)
    if raw is not None and len(raw) > max(MAX_JSON, 2 * limit):
        return mark_cut(shrink(value, len(raw), limit), len(raw))
    if raw is None:
        times = max(1, limit // SNAPSHOT_SIZE)
        walk = _Walk(SNAPSHOT_NODES * times, SNAPSHOT_SIZE * times)
        raw = _dump_walked(walk, value)
        if not walk.cut:
            return raw
        return mark_cut(raw, len(value) + 2 if kind is bytes or kind is bytearray else None)
    # orjson's bytes keep the 4 KiB buffer that they were written in: 8 MB for 1,000 queued calls. A copy frees it.
    return raw if len(raw) > _ROOMY else bytes(memoryview(raw))


def mark_cut(raw: bytes, full_size: int | None = None) -> bytes:
    """Return the snapshot ``raw`` with the mark that it was cut, and its full size in bytes where that is known."""
    digits = b"" if full_size is None else f"{full_size:b}".encode().translate(bytes.maketrans(b"01", _ZERO + _ONE))
    return raw + digits + CUT


def split_cut(raw: bytes) -> tuple[bytes, bool, int | None]:
    """Return the JSON of a snapshot, whether it was cut, and its full size in bytes where that is known."""
    if not raw.endswith(CUT):
        return raw, False, None
    marked = raw[: -len(CUT)]
    json = marked.rstrip(_ZERO + _ONE)
    digits = marked[len(json) :].translate(bytes.maketrans(_ZERO + _ONE, b"01"))
    return json, True, int(digits, 2) if digits else None


def cut_text(text: str, limit: int) -> str:
    """Return ``text``, or a part of it where it is long: its front, from which a field is made, and its end.

    The whole text is not copied. A text that may be JSON stays whole up to MAX_JSON characters, because rules and
    redaction read it by its members.
    """
    room = limit + MARGIN
    if len(text) <= room + TAIL or (
        len(text) <= MAX_JSON and (text[:1] in "{[" or text[:64].lstrip()[:1] in ("{", "["))
    ):
        return text
    return text[:room] + text[-TAIL:]


def utf8_size(text: str) -> int:
    """Return the size of ``text`` in UTF-8 without a copy of the whole text."""
    if text.isascii():
        return len(text)
    step = 1 << 16
    return sum(len(text[at : at + step].encode("utf-8", "surrogatepass")) for at in range(0, len(text), step))


class _NotSerializable(TypeError):
    """Raised inside orjson for an object that only a ``_Walk`` can read."""


def _date(value: Any) -> str:
    """Return a date or time in ISO form; orjson calls this for values that it does not write itself."""
    if type(value) is dt.datetime or type(value) is dt.date or type(value) is dt.time:
        return str.__str__(value.isoformat())
    raise _NotSerializable


def to_json_bytes(value: Any) -> bytes:
    """Return any value as JSON bytes. Raises only exceptions that a signal caused."""
    return _dump_walked(_Walk(MAX_NODES), value)


def _dump_walked(walk: _Walk, value: Any) -> bytes:
    try:
        return orjson.dumps(walk.to_plain(value, 0), option=_OPTIONS)
    except BaseException as error:
        pass_on_signal(error)
        return orjson.dumps(_marker(value))


def _fast_json(value: Any) -> bytes | None:
    """Return the JSON of plain data, written in C; None where ``value`` contains objects, NaN or infinities."""
    try:
        # orjson must not write dataclasses: one may refer to a whole application, so it counts against the budget.
        raw = orjson.dumps(value, _date, _QUICK)
        if b"null" not in raw:
            return raw
        # orjson also writes NaN and infinity as null, which would misreport the tool's data. pydantic's writer
        # distinguishes them, but it runs the code of subclasses: the next line raises where there is a subclass.
        orjson.dumps(value, _date, _QUICK | orjson.OPT_PASSTHROUGH_SUBCLASS)
        by_pydantic = pydantic_core.to_json(value, inf_nan_mode="strings")
    except BaseException as error:
        if type(error.__cause__) is not _NotSerializable:  # the most frequent cause, so it is tested first
            pass_on_signal(error.__cause__ or error)
        return None
    return None if any(word in by_pydantic for word in _NOT_IN_JSON_BYTES) else raw


def fix_unicode(text: str) -> str:
    """Return ``text`` as valid Unicode: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class _Walk:
    """One conversion of a value to JSON data, of at most ``nodes`` values and about ``size`` characters."""

    def __init__(self, nodes: int, size: float = math.inf) -> None:
        self._open: set[int] = set()
        self._nodes = nodes
        self._size = size
        self.cut = False
        """Whether something was left out because the budget was used up."""

    @property
    def _is_exhausted(self) -> bool:
        if self._nodes < 0 or self._size < 0:
            self.cut = True
        return self.cut

    def to_plain(self, value: Any, depth: int) -> Any:
        self._nodes -= 1
        try:
            simple = _scalar(self._front(value))
        except BaseException as error:
            pass_on_signal(error)
            return _marker(value)
        if simple is not _NOT_SCALAR:
            if type(simple) is str:
                self._size -= len(simple)
            return simple
        if depth == 1 and (type(value) is dict or type(value) is list):
            raw = self._plain_json(value)
            if raw is not None:
                return orjson.Fragment(raw)
        if depth >= MAX_DEPTH:
            return "<too deep>"
        if self._is_exhausted:
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

    def _front(self, value: Any) -> Any:
        """Return the front of a text or of bytes beyond MAX_JSON, which are not copied whole; else ``value``."""
        kind = type(value)
        if kind is str and len(value) > MAX_JSON:
            self.cut = True
            return cut_text(value, SNAPSHOT_SIZE)
        if (kind is bytes or kind is bytearray) and len(value) > MAX_JSON:
            self.cut = True
            front = bytes(memoryview(value)[: SNAPSHOT_SIZE + MARGIN + TAIL])
            return codecs.getincrementaldecoder("utf-8")("strict").decode(front) if _is_utf8(front) else front
        return value

    def _plain_json(self, value: Any) -> bytes | None:
        """Return the JSON of a plain argument, which is copied in C even beside one that is an object; else None."""
        raw = _fast_json(value)
        if raw is not None and len(raw) > MAX_JSON:
            self.cut = True
            return shrink(value, len(raw), SNAPSHOT_SIZE)
        return raw

    def _container(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is dict:
            return self._items(value, depth)
        if kind is list or kind is tuple:
            return self._list(iter(value), depth)
        fields = _fields(value)
        if fields is not None:  # a class declares few fields: each is recorded, at least by its type, over budget too
            return {_key(name): self.to_plain(item, depth) for name, item in fields.items()}
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


def shrink(value: Any, size: int, limit: int) -> bytes:
    """Return the JSON of the first part of plain data whose JSON has ``size`` bytes: somewhat more than ``limit``.

    Lists are sliced in proportion, so that C code reads what remains. Mappings keep all their short members up to a
    number, because the last member of a result may be its error.
    """
    return orjson.dumps(_Shrinker(limit).shrink(value, size))


class _Shrinker:
    """One reduction of plain data to about ``limit`` bytes of JSON."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._room = limit + limit // 2

    def shrink(self, value: Any, size: int) -> Any:
        kind = type(value)
        if issubclass(kind, str):
            return self._text(str.__str__(value))
        if issubclass(kind, dict):
            return self._dict(value)
        if issubclass(kind, list | tuple):
            return self._list(list(value) if kind is not list else value, size)
        return _marker(value)

    def _member(self, value: Any) -> Any:
        if type(value) is str and len(value) > MAX_JSON:
            return self._text(value) if self._room > 0 else "…"
        raw = _fast_json(value)
        if raw is None:  # another thread has changed it
            return _marker(value)
        if len(raw) <= max(self._room, _SHORT):
            self._room -= len(raw)
            return orjson.Fragment(raw)
        return self.shrink(value, len(raw)) if self._room > 0 else "…"

    def _text(self, text: str) -> str:
        # never shorter than the limit and the margin: redaction recognises it as long, and omits a cut secret
        kept = fix_unicode(cut_text(text, self._limit))
        self._room -= len(kept)
        return kept

    def _dict(self, value: dict[Any, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        beyond = _BEYOND_CUT
        for key, item in list(dict.items(value)):
            if self._room <= 0:
                beyond -= 1
                if beyond < 0:
                    out["<too many>"] = "…"
                    break
            name = _key(key)[: self._limit]
            self._room -= len(name) + 4
            out[name] = self._member(item)
        return out

    def _list(self, value: list[Any], size: int) -> Any:
        count = max(1, len(value) * self._room // size)
        head = value[:count]
        raw = _fast_json(head)
        if raw is not None and len(raw) > 2 * self._room:  # the first items are longer than the others
            return [self._member(head[0])] if len(head) == 1 else self._list(head, len(raw))
        if raw is None:
            return _marker(value)
        self._room -= len(raw)
        return orjson.Fragment(raw)


_SHORT = 2000
"""Maximum bytes of a mapping's member that is recorded although the room is used up."""
_BEYOND_CUT = 64
"""Maximum members of a mapping that are still recorded after the budget is used up.

A scalar member is recorded by its value, any other by its type. The last argument of a call matters as much as the
first."""

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
_NOT_IN_JSON = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
"""Floats that JSON cannot represent, as the strings that protobuf's JSON form uses."""
_NOT_IN_JSON_BYTES = tuple(f'"{word}"'.encode() for word in _NOT_IN_JSON.values())


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
        return number if -(2**63) <= number < 2**63 else str(number) if abs(number) < 2**4096 else "<huge integer>"
    if issubclass(kind, float):
        real = float.__float__(value)
        return real if math.isfinite(real) else _NOT_IN_JSON[str(real)]
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


def _text(text: Any) -> str:
    """Return text that an object produced as an exact ``str``, not a subclass. Raises TypeError for other types."""
    return fix_unicode(str.__str__(text))


def _is_utf8(front: bytes) -> bool:
    """Whether ``front`` begins a UTF-8 text; its last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")("strict").decode(front)
    except UnicodeDecodeError:
        return False
    return True


def _bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return "base64:" + base64.b64encode(value).decode("ascii")


def _fields(value: Any) -> dict[str, Any] | None:
    """Return the fields of a dataclass, pydantic model, attrs class or named tuple; None for other objects."""
    kind = type(value)
    if issubclass(kind, type):
        return None
    if issubclass(kind, tuple):
        names = class_attribute(kind, "_fields")
        return None if names is ABSENT else dict(zip(names, tuple.__iter__(value), strict=False))
    if (declared := class_attribute(kind, "__dataclass_fields__")) is not ABSENT:
        attributes = instance_attributes(value)
        return {name: field(value, name, attributes) for name in _public(declared)}
    if class_attribute(kind, "__pydantic_fields__") is not ABSENT:
        attributes = instance_attributes(value)
        return {**attributes, **(field(value, "__pydantic_extra__", attributes) or {})}
    if (declared := class_attribute(kind, "__attrs_attrs__")) is not ABSENT:
        attributes = instance_attributes(value)
        return {a.name: field(value, a.name, attributes) for a in declared}
    return None


def _public(declared: Any) -> list[str]:
    """Return the names of a dataclass's public fields; class variables are declared as fields too."""
    return [
        name
        for name, known in dict.items(declared)
        if not name.startswith("_") and known._field_type is _DATACLASS_FIELD  # noqa: SLF001 - fields() runs code of the class
    ]


_DATACLASS_FIELD: Any = dataclasses.__dict__["_FIELD"]


def _array(value: Any, walk: _Walk, depth: int) -> Any:
    """Return a numpy array or scalar as its values; anything else as a marker with its type."""
    if module_of(type(value)).partition(".")[0] == "numpy":
        if getattr(value, "size", 1) > MAX_NODES:
            return {
                "type": "numpy.ndarray",
                "shape": walk.to_plain(value.shape, depth),
                "dtype": _text(str(value.dtype)),
            }
        values = value.tolist()
        raw = _fast_json(values) if type(values) is list else None
        return walk.to_plain(values, depth) if raw is None else orjson.Fragment(raw)
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
    """Return the message of an exception; a marker with its type where its ``__str__`` fails.

    Raises only exceptions that a signal caused.
    """
    try:
        if any(class_attribute(type(exc), "__str__") is method for method in _BUILTIN_STR_METHODS) and not _has_texts(
            exc
        ):
            return ", ".join(to_json_bytes(part).decode() for part in _args(exc))
        return _text(str(exc))
    except BaseException as error:
        pass_on_signal(error)
        return _marker(exc)


_BUILTIN_STR_METHODS = (BaseException.__str__, KeyError.__str__)
"""``__str__`` methods that call ``__repr__`` of the exception's arguments, which is user code and must not run here."""
_args: Callable[[BaseException], tuple[Any, ...]] = BaseException.__dict__["args"].__get__


def _has_texts(exc: BaseException) -> bool:
    return all(part is None or type(part) is str or type(part) is bool for part in _args(exc))
