"""JSON of any value, read by its structure in Python, within a budget.

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
import pathlib
import uuid
from collections import UserDict, deque
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from tooltrace.faults import pass_on_signal
from tooltrace.redact.declared_fields import Declared, declared_fields
from tooltrace.redact.inspection import bases, instance_attributes, module_of, qualname
from tooltrace.redact.message_parts import message_parts
from tooltrace.redact.plain_data import (
    DATES_AND_IDS,
    MAX_DEPTH,
    encode,
    is_date_or_id,
    left_over,
    names_size,
    plain_json,
)
from tooltrace.redact.texts import MARGIN, MAX_JSON, SNAPSHOT_SIZE, TAIL, cut_text, fix_unicode, marker, utf8_size

WHOLE = 100 * MAX_JSON
"""A budget for values that are not cut: those that tooltrace itself sends."""
VALUE_COST = 100
"""What a value counts of the budget: twice and more what it counts where the encoder in C reads it."""
_TEXT_COST = 4
"""What a character counts: of an object, little more text is read than a field holds."""
_CODE_COST = 1_000
"""What a value counts whose own code runs."""
_MESSAGE_BUDGET = SNAPSHOT_SIZE
"""Budget of the arguments of an exception, which make up its message."""
_SHORT = 2_000
"""Maximum characters of a text that is recorded although the budget is used up."""
_LATE = 8_000
"""Budget of each plain member of an argument or a result that is recorded although the budget is used up."""
_LONGEST_NAMES = 16 * 1024
"""Maximum bytes of the names of one mapping that are all recorded."""
_FEW = 64
"""Maximum members of a container that are all recorded although the budget is used up, at least by their type.

The last member of a result may be its error. A longer list is counted in such parts."""
_FRONT = 4
"""What is kept of the front of such a list, in budget for each byte of a field."""
_attributes = object.__getattribute__
_INFINITY = float("inf")


def to_json_bytes(value: Any) -> bytes:
    """Return any value as JSON bytes. Raises only exceptions that a signal caused."""
    return Walk(WHOLE, WHOLE).json(value)


class Walk:
    """One conversion of a value to JSON data, as far as its budget goes.

    A value that stands in several places counts in each of them.
    """

    def __init__(self, budget: int, limit: int = SNAPSHOT_SIZE) -> None:
        """``limit``: size limit of a field, to which long texts are cut."""
        self._left = budget
        self._limit = limit
        self._open: set[int] = set()
        self.cut = False
        """Whether something was left out because the budget was used up."""
        self.lost: int | None = 0
        """Bytes of the texts that were left out; None where other values were left out too."""

    def json(self, value: Any) -> bytes:
        """Return ``value`` as JSON bytes. Raises only exceptions that a signal caused."""
        try:
            return _json(self.read(value, 0))
        except BaseException as error:
            pass_on_signal(error)
            return orjson.dumps(marker(value))

    def read(self, value: Any, depth: int) -> Any:  # noqa: C901, PLR0912 - a function more would take half the time again
        """Return ``value``, which stands ``depth`` levels deep, as JSON data."""
        kind = type(value)
        is_inside = False
        out: Any
        members: Iterable[tuple[Any, Any]]
        try:
            # what has few members is read here, without a call of another function, because most values do
            if kind is dict and len(value) <= _FEW:
                out = value.copy()
                members = out.items()
                names = names_size(out)
                if names is None or names > _LONGEST_NAMES:
                    return self._read_other(value, depth)
                left = self._left - VALUE_COST * (len(out) + 1) - names
            elif (kind is list or kind is tuple) and len(value) <= _FEW:
                out = [*value]
                members = enumerate(out)
                left = self._left - VALUE_COST * (len(out) + 1)
            else:
                declared = _known_fields(id(kind))
                if declared is None:
                    return self._read_other(value, depth)
                if declared.has_dict and tuple(attributes := _attributes(value, "__dict__")) == declared.names:
                    out = attributes.copy()
                else:
                    out = declared.read(value)
                members = out.items()
                left = self._left - declared.cost
                if len(out) != len(declared.names):  # a model has been given further fields
                    left -= VALUE_COST * len(out) + (names_size(out) or 0)
            if self._left < 0:
                return self._late(value, depth)
            for name, item in members:
                kind = type(item)
                if kind is str and len(item) <= _SHORT:
                    left -= _TEXT_COST * len(item)
                elif item is None or kind is int or kind is bool or (kind is float and -_INFINITY < item < _INFINITY):
                    pass
                elif id(kind) not in DATES_AND_IDS or not is_date_or_id(item):
                    if not is_inside:
                        if depth >= MAX_DEPTH or id(value) in self._open:
                            return self._endless(value)
                        self._open.add(id(value))
                        is_inside = True
                    self._left = left
                    out[name] = self.read(item, depth + 1)
                    left = self._left
            self._left = left
            return out
        except BaseException as error:
            pass_on_signal(error)
            return marker(value)
        finally:
            if is_inside:
                self._open.discard(id(value))

    def _read_other(self, value: Any, depth: int) -> Any:
        """Return a value that has no fields, or many members."""
        self._left -= VALUE_COST
        shape = _shapes.get(id(type(value))) or _learn(type(value))
        if shape.read is Walk.read:
            return self.read(value, depth)
        is_inside = False
        try:
            if not shape.is_leaf:
                if self._left < 0:
                    return self._late(value, depth)
                if depth >= MAX_DEPTH or id(value) in self._open:
                    return self._endless(value)
                self._open.add(id(value))
                is_inside = True
                # an argument or a member of a result is encoded in C where it is plain; ``snapshot`` has tried the whole
                if depth == 1 and shape.is_exact and (raw := self._encoded(value)) is not None:
                    return raw
            return shape.read(self, value, depth + 1)
        except BaseException as error:
            pass_on_signal(error)
            return marker(value)
        finally:
            if is_inside:
                self._open.discard(id(value))

    def _late(self, value: Any, depth: int) -> Any:
        """Return what is recorded of a container after the budget is used up: a short member of a result may be its error."""
        raw = plain_json(value, _LATE) if depth == 1 else None
        if raw is not None:
            return orjson.Fragment(raw)
        self._leave_out(None)
        return marker(value)

    def _endless(self, value: Any) -> str:
        return "<circular>" if id(value) in self._open else "<too deep>"

    def long_list(self, value: Any, depth: int) -> Any:
        """Return the items of a list or tuple that has many."""
        raw = self._front(value) if depth <= 2 else None
        return self.items(value, len(value), depth) if raw is None else raw

    def _encoded(self, value: Any) -> orjson.Fragment | None:
        """Return the JSON of plain data: an argument or a member of a result is encoded in C even beside an object."""
        left = left_over(value, self._left)
        if left is None or left < 0 or (raw := encode(value)) is None:
            return None
        self._left = left
        return orjson.Fragment(raw)

    def _front(self, value: Any) -> orjson.Fragment | None:
        """Return the JSON of the first items of a list or tuple of plain data that is too long; None for any other."""
        left: int | None = min(self._left, _FRONT * self._limit)
        start = 0
        while left is not None and left >= 0 and start < len(value):
            left = left_over(value[start : start + _FEW], left)
            start += _FEW
        start -= _FEW
        raw = encode(value[:start]) if start > 0 and left is not None and left < 0 else None
        if raw is None:
            return None
        self._left -= _FRONT * self._limit
        self._leave_out(None)
        return orjson.Fragment(raw[:-1] + f',"… {len(value) - start} more"]'.encode())

    def pairs(self, pairs: Iterable[tuple[Any, Any]], count: int | None, depth: int) -> dict[str, Any]:
        """Return the members of a mapping that has ``count``, or the first of them."""
        out: dict[str, Any] = {}
        for number, (name, item) in enumerate(pairs):
            if self._left < 0:
                self._leave_out(None)
                out["…"] = "more" if count is None else f"{count - number} more"
                break
            text = _name(name)
            self._left -= len(text)
            out[text] = self.read(item, depth)
        return out

    def items(self, items: Iterable[Any], count: int, depth: int) -> list[Any]:
        """Return the items of a container that has ``count``, or the first of them."""
        out: list[Any] = []
        left = self._left
        for item in items:
            if left < 0:
                self._leave_out(None)
                out.append(f"… {count - len(out)} more")
                break
            kind = type(item)
            if kind is str and len(item) <= _SHORT:
                left -= VALUE_COST + _TEXT_COST * len(item)
                out.append(item)
            elif item is None or kind is int or kind is bool or (kind is float and -_INFINITY < item < _INFINITY):
                left -= VALUE_COST
                out.append(item)
            else:
                self._left = left
                out.append(self.read(item, depth))
                left = self._left
        self._left = left
        return out

    def text(self, text: str) -> str:
        """Return a text, or the front and the end of a long one."""
        length = len(text)
        if length > _SHORT:
            if self._left < 0:
                kept = f"<{length} characters>"
            else:
                kept = cut_text(text, self._limit) if length > MAX_JSON or _TEXT_COST * length > self._left else text
            if kept is not text:
                self._leave_out(utf8_size(text) - utf8_size(kept))
                text = kept
        self._left -= _TEXT_COST * len(text)
        return text

    def bytes(self, value: Any) -> str:
        """Return bytes as text, in base64 where they are no UTF-8, or the front of many."""
        view = memoryview(value)
        whole = bytes(view[: self._limit + MARGIN + TAIL])
        is_cut = view.nbytes > max(MAX_JSON if self._left >= 0 else _SHORT, len(whole))
        if is_cut:
            self._leave_out(view.nbytes - len(whole))
        else:
            whole = view.tobytes()
        self._left -= _TEXT_COST * len(whole)
        try:
            decoder = codecs.getincrementaldecoder("utf-8")("strict")
            return decoder.decode(whole, final=not is_cut)
        except UnicodeDecodeError:
            return "base64:" + base64.b64encode(whole).decode("ascii")

    def _leave_out(self, size: int | None) -> None:
        """Note that ``size`` bytes of a text were left out; None: values."""
        self.cut = True
        self.lost = None if self.lost is None or size is None else self.lost + size

    def error(self, error: BaseException, depth: int) -> str:
        """Return an exception as its class and its message."""
        message = self.message(error, depth)
        is_late = self._left < 0 and len(message) > _SHORT  # each exception around another would write it again
        kept = f"<{len(message)} characters>" if is_late else cut_text(message, self._limit)
        if kept is not message:
            self._leave_out(utf8_size(message) - utf8_size(kept))
        self._left -= _TEXT_COST * len(kept)
        return f"{qualname(type(error))}: {kept}"

    def message(self, error: BaseException, depth: int) -> str:
        """Return the message of an exception. Raises whatever its own ``__str__`` raises."""
        self._left -= _CODE_COST
        parts = message_parts(error)
        if parts is None:
            return str.__str__(str(error))
        return ", ".join(_json(part).decode() for part in self.items(parts, len(parts), depth))

    def array(self, value: Any, depth: int) -> Any:
        """Return a numpy array or scalar as its values, or its shape where it has too many."""
        size, width = getattr(value, "size", 1), getattr(value, "nbytes", 0)
        if VALUE_COST * size > self._left or _TEXT_COST * width > WHOLE:
            self._leave_out(None)
            return {
                "type": "numpy.ndarray",
                "shape": self.read(value.shape, depth),
                "dtype": self.read(str(value.dtype), depth),
            }
        return self.read(value.tolist(), depth)


class _Shape(NamedTuple):
    """How the instances of a class are read. The class stays referenced, so that no other class can get its id."""

    kind: type
    read: Reader
    is_leaf: bool = False
    """Whether the instances have no parts, so that they are recorded although the budget is used up."""
    is_exact: bool = False
    """Whether the class is ``dict``, ``list`` or ``tuple``."""


Reader = Callable[[Walk, Any, int], Any]

_shapes: dict[int, _Shape] = {}
"""Shapes by the ``id`` of the class: a lookup by the class itself would run the ``__hash__`` of its metaclass."""
_fields: dict[int, Declared] = {}
"""Fields of the classes that declare them, in the same way."""
_known_fields = _fields.get
_MAX_SHAPES = 4096


def _learn(kind: type) -> _Shape:
    """Return the shape of a class, and remember it."""
    try:
        shape = _shape(kind)
    except BaseException as error:  # the declaration of its fields cannot be read
        pass_on_signal(error)
        shape = _Shape(kind, _read_marker, is_leaf=True)
    # an application that makes classes in a loop must not fill the memory
    if len(_shapes) >= _MAX_SHAPES:
        _shapes.clear()
        _fields.clear()
    _shapes[id(kind)] = shape
    return shape


def _shape(kind: type) -> _Shape:
    """Return how instances of ``kind`` are read, by their class: ``isinstance`` would read ``__class__`` from the object."""
    if issubclass(kind, enum.Enum):
        return _Shape(kind, lambda walk, value, depth: walk.read(instance_attributes(value)["_value_"], depth))
    for base, read in _SCALARS.items():
        if issubclass(kind, base):
            return _Shape(kind, read, is_leaf=base is not BaseException)
    if id(kind) in _RECORDED_BY_STR or module_of(kind) in _PYDANTIC_URLS:
        return _Shape(kind, lambda walk, value, _: walk.text(str.__str__(str(value))), is_leaf=True)
    if (declared := declared_fields(kind)) is not None:
        _fields[id(kind)] = declared._replace(cost=declared.cost + VALUE_COST * (len(declared.names) + 1))
        return _Shape(kind, Walk.read)
    if kind is list or kind is tuple:
        return _Shape(kind, Walk.long_list, is_exact=True)
    if (container := next((base for base in bases(kind) if id(base) in _CONTAINERS), None)) is not None:
        return _Shape(kind, _CONTAINERS[id(container)], is_exact=kind is dict)
    is_array = module_of(kind).partition(".")[0] == "numpy"
    return _Shape(kind, Walk.array) if is_array else _Shape(kind, _read_marker, is_leaf=True)


def _read_marker(_: Walk, value: Any, __: int) -> str:
    return marker(value)


def _integer(value: int) -> int | str:
    bits = int.bit_length(value)
    # Python refuses to write integers of thousands of digits, and takes quadratic time for them
    if bits > 4096:
        return "<huge integer>"
    number = int.__index__(value)
    return number if -(2**63) <= number < 2**63 else str(number)


def _read_float(_: Walk, value: float, __: int) -> float | str:
    real = float.__float__(value)
    return real if -_INFINITY < real < _INFINITY else _NOT_IN_JSON[str(real)]


_NOT_IN_JSON = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
"""Floats that JSON cannot represent, as the strings that protobuf's JSON form uses."""
_SCALARS: dict[type, Reader] = {
    type(None): lambda _, value, __: value,
    bool: lambda _, value, __: value,
    str: lambda walk, value, _: walk.text(str.__str__(value)),
    int: lambda _, value, __: _integer(value),
    float: _read_float,
    bytes: lambda walk, value, _: walk.bytes(value),
    bytearray: lambda walk, value, _: walk.bytes(value),
    memoryview: lambda walk, value, _: walk.bytes(value),
    # a datetime is a date
    dt.date: lambda walk, value, _: walk.text(str.__str__(value.isoformat())),
    dt.time: lambda walk, value, _: walk.text(str.__str__(value.isoformat())),
    BaseException: Walk.error,
    pathlib.PurePath: lambda walk, value, _: walk.text(str.__str__(str(value))),
}
"""Functions that read the values without parts, by their class, for subclasses too."""
_PYDANTIC_URLS = frozenset({"pydantic.networks", "pydantic_core._pydantic_core"})
"""Modules whose classes are URLs; their values are recorded as ``str(value)``."""
_RECORDED_BY_STR = frozenset(map(id, (dt.timedelta, decimal.Decimal, uuid.UUID, complex, fractions.Fraction)))


def _items_of(base: Any) -> Reader:
    """Return the function that reads the items by the ``__iter__`` of ``base``.

    Code of a subclass or of any other container is never run: its iteration may never end.
    """
    return lambda walk, value, depth: walk.items(base.__iter__(value), base.__len__(value), depth)


_CONTAINERS: dict[int, Reader] = {
    id(dict): lambda walk, value, depth: walk.pairs(dict.items(value), dict.__len__(value), depth),
    id(MappingProxyType): lambda walk, value, depth: walk.pairs(MappingProxyType.items(value), None, depth),
    id(UserDict): lambda walk, value, depth: walk.read(instance_attributes(value)["data"], depth),
    **{
        id(kind): _items_of(kind)
        for kind in (list, tuple, set, frozenset, deque, range, *map(type, ({}.keys(), {}.values(), {}.items())))
    },
}
"""Functions that read the classes of containers, and their subclasses, by the ``id`` of the class."""


def _name(name: Any) -> str:
    """Return the name of a member as a text."""
    if type(name) is not str:
        shape = _shapes.get(id(type(name))) or _learn(type(name))
        if not shape.is_leaf and not issubclass(type(name), enum.Enum):
            return marker(name)
        plain = Walk(_MESSAGE_BUDGET).read(name, MAX_DEPTH - 1)
        name = (
            plain
            if type(plain) is str
            else str(plain)
            if type(plain) in (int, float, bool, type(None))
            else marker(name)
        )
    return name if len(name) <= _LONGEST_NAMES else f"<{len(name)} characters>"


def _json(data: Any) -> bytes:
    """Return JSON data as bytes, with lone surrogates, large integers and other names written as JSON can have them."""
    return encode(data) or orjson.dumps(_mended(data))


def _mended(data: Any) -> Any:
    kind = type(data)
    if kind is dict:
        return {fix_unicode(_name(name)): _mended(item) for name, item in data.items()}
    if kind is list:
        return [_mended(item) for item in data]
    return fix_unicode(data) if kind is str else _integer(data) if kind is int else data


class Message(NamedTuple):
    """The message of an exception, or the front and the end of a long one."""

    text: str
    full_size: int | None = None
    """Bytes of the whole message, where it was cut."""


def exception_message(error: BaseException) -> Message:
    """Return the message of an exception; a marker with its type where its ``__str__`` fails.

    Raises only exceptions that a signal caused.
    """
    try:
        is_own = message_parts(error) is None  # most exceptions: no walk is needed
        text = str.__str__(str(error)) if is_own else Walk(_MESSAGE_BUDGET).message(error, 0)
        kept = cut_text(text, SNAPSHOT_SIZE)
        return Message(fix_unicode(kept), None if kept is text else utf8_size(text))
    except BaseException as raised:
        pass_on_signal(raised)
        return Message(marker(error))
