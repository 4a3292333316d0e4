"""Values that once crashed, blocked or slowed down a recorder, or might: each is made anew by a function without arguments."""

from __future__ import annotations

import array
import asyncio
import collections
import ctypes
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import io
import itertools
import json
import math
import pathlib
import re
import sys
import threading
import types
import uuid
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest import mock

import attrs
import msgspec
import numpy as np
import pydantic
import yaml

HUGE = 20_000_000
"""Characters of a huge text."""
DEEP = 5_000


class Raising:
    """Raises whatever is asked of it."""

    def _fail(self, *_: Any) -> Any:
        raise SystemExit("a recorded object ran")

    __repr__ = __str__ = __iter__ = __len__ = __bool__ = __hash__ = __eq__ = __getattr__ = __contains__ = _fail  # type: ignore[assignment]
    __class__ = property(_fail)  # type: ignore[assignment]


class Lying(list):  # type: ignore[type-arg]
    """Says that it is empty, and never ends."""

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[int]:
        return itertools.count()


class Endless(dict):  # type: ignore[type-arg]
    def items(self) -> Any:
        return zip(itertools.count(), itertools.count(), strict=False)

    def __len__(self) -> int:
        return 2**62

    __iter__ = keys = values = items


class EndlessText(str):
    def __len__(self) -> int:
        return 2**62

    def __getitem__(self, _: Any) -> str:
        raise SystemExit

    __iter__ = encode = isascii = __str__ = __getitem__  # type: ignore[assignment]


class Colour(enum.Enum):
    RED = 1

    @property
    def value(self) -> Any:
        raise ValueError("no value")


class Level(enum.IntEnum):
    LOW = 1

    @property
    def value(self) -> Any:
        raise ValueError("no value")


class Zone(dt.tzinfo):
    def utcoffset(self, _: Any) -> Any:
        raise SystemExit

    dst = tzname = utcoffset


class Day(dt.date):
    def isoformat(self) -> str:
        return "9" * HUGE


class Meta(type):
    def __hash__(cls) -> int:
        raise SystemExit

    def __eq__(cls, _: object) -> bool:
        raise SystemExit

    def __instancecheck__(cls, _: object) -> bool:
        raise SystemExit

    def __getattribute__(cls, name: str) -> Any:
        raise SystemExit


@dataclasses.dataclass
class Node:
    inner: Any = None


@dataclasses.dataclass(slots=True)
class Slots:
    inner: Any = None


@attrs.define
class Attrs:
    inner: Any = None


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    inner: Any = None


class Struct(msgspec.Struct):
    inner: Any = None


class Pair(NamedTuple):
    inner: Any = None


class Hidden:
    """A class whose declarations never end."""

    __attrs_attrs__ = itertools.count()
    __dataclass_fields__ = Endless()


def deep(make: Callable[[Any], Any], levels: int = DEEP) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = make(value)
    return value


def laughs(make: Callable[[list[Any]], Any], levels: int = 12) -> Any:
    value: Any = "lol"
    for _ in range(levels):
        value = make([value] * 9)
    return value


def circle(make: Callable[[Any], Any], enter: Callable[[Any, Any], Any]) -> Any:
    value = make(None)
    enter(value, make(value))
    return value


def with_args(kind: type[BaseException], *args: Any) -> BaseException:
    error = kind()
    error.args = args
    return error


def itself(error: BaseException) -> BaseException:
    error.args = (error, error)
    return error


def chain(length: int) -> BaseException:
    error: BaseException = ValueError("first")
    for number in range(length):
        following = ValueError(str(number))
        following.__cause__ = error
        error = following
    return error


def mapped(value: Any) -> Any:
    return {str(number): item for number, item in enumerate(value)}


def object_array() -> Any:
    made = np.empty(9, dtype=object)
    made[:] = [laughs(list)] * 9
    return made


def dead_proxy() -> Any:
    return weakref.proxy(Node())


BOMB = "\n".join(
    ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 11)]
)
_NESTED: dict[str, Callable[[Any], Any]] = {
    "list": lambda inner: [inner], "tuple": lambda inner: (inner,), "dict": lambda inner: {"a": inner},
    "dataclass": Node, "slots": Slots, "attrs": Attrs, "pydantic": lambda inner: Model.model_construct(inner=inner),
    "extra": lambda inner: Model.model_construct(more=inner), "msgspec": Struct, "namedtuple": Pair,
    "exception": lambda inner: with_args(ValueError, inner), "key error": KeyError, "os error": lambda inner: OSError(2, "x", inner),
    "deque": lambda inner: collections.deque([inner]), "user dict": lambda inner: collections.UserDict(a=inner),
    "proxy": lambda inner: types.MappingProxyType({"a": inner}), "ordered": lambda inner: collections.OrderedDict(a=inner),
    "group": lambda inner: ExceptionGroup("g", [inner if isinstance(inner, Exception) else ValueError(inner)]),
    "view": lambda inner: {"a": inner}.values(), "frozenset": lambda inner: frozenset([inner]),
}  # fmt: skip
_SHARED: dict[str, Callable[[list[Any]], Any]] = {
    "list": list, "tuple": tuple, "dict": mapped, "dataclass": Node, "attrs": Attrs, "deque": collections.deque,
    "pydantic": lambda items: Model.model_construct(inner=items), "exception": lambda items: with_args(ValueError, *items),
    "key error": lambda items: KeyError(*items), "os error": lambda items: OSError(2, "x", items),
    "import error": lambda items: ImportError(items), "syntax error": lambda items: SyntaxError(items),
    "view": lambda items: dict(enumerate(items)).values(), "exit": lambda items: SystemExit(items),
}  # fmt: skip
VALUES: dict[str, Callable[[], Any]] = {
    **{f"deep {name}": lambda make=make: deep(make) for name, make in _NESTED.items()},
    **{f"laughs {name}": lambda make=make: laughs(make) for name, make in _SHARED.items()},
    "yaml bomb": lambda: yaml.safe_load(BOMB),
    "json references": lambda: [json.loads('{"a": [1, 2, 3]}')] * 1_000_000,
    "circular list": lambda: circle(lambda inner: [inner], lambda value, inner: value.append(inner)),
    "circular dict": lambda: circle(lambda inner: {"a": inner}, lambda value, inner: value.update(b=inner)),
    "circular dataclass": lambda: circle(Node, lambda value, inner: setattr(value, "inner", inner)),
    "circular model": lambda: circle(lambda inner: Model.model_construct(inner=inner), lambda value, inner: setattr(value, "inner", inner)),
    "exception in itself": lambda: itself(ValueError()),
    "cause chain": lambda: chain(10_000),
    "wide group": lambda: ExceptionGroup("g", [ValueError("x" * 1000)] * 100_000),
    "many arguments": lambda: ValueError(*["x" * 1000] * 100_000),
    "huge message": lambda: ValueError("x" * HUGE),
    "huge key error": lambda: KeyError("x" * HUGE),
    "huge notes": lambda: (lambda error: error.add_note("x" * HUGE) or error)(ValueError("n")),
    "huge text": lambda: ["x" * HUGE] * 1000,
    "huge other text": lambda: {"a": "é" * HUGE},
    "huge keys": lambda: [{"k" * HUGE: 1}] * 1000,
    "huge keys of a few": lambda: {f"{n}" + "k" * HUGE: object() for n in range(3)},
    "huge bytes": lambda: [b"\xff" * HUGE] * 1000,
    "huge bytearray": lambda: bytearray(HUGE),
    "huge memoryview": lambda: memoryview(bytes(HUGE)),
    "memoryview of numbers": lambda: memoryview(array.array("d", range(100_000))),
    "matrix view": lambda: memoryview(bytes(10_000)).cast("B", (100, 100)),
    "huge integer": lambda: [1 << 10_000_000] * 1000,
    "huge integer key": lambda: {1 << 10_000_000: 1},
    "huge decimal": lambda: decimal.Decimal("9" * 100_000),
    "decimal nan": lambda: decimal.Decimal("sNaN"),
    "huge fraction": lambda: fractions.Fraction(1 << 1_000_000, 3),
    "huge range": lambda: range(2**62),
    "huger range": lambda: range(2**80),
    "huge list": lambda: list(range(3_000_000)),
    "huge set": lambda: set(range(1_000_000)),
    "huge dict": lambda: dict.fromkeys(range(1_000_000)),
    "huge dict of texts": lambda: {str(n): n for n in range(1_000_000)},
    "huge deque": lambda: collections.deque(range(1_000_000)),
    "wide model": lambda: Model.model_construct(**{f"f{n}": n for n in range(100_000)}),
    "wide dataclass": lambda: dataclasses.make_dataclass("Wide", [(f"f{n}", int, 0) for n in range(2_000)])(),
    "tampered dataclass": lambda: (lambda node: node.__dict__.update({"k" * HUGE: 1}) or [node] * 1000)(Node()),
    "nan": lambda: [math.nan, math.inf, -math.inf, 1e308, 5e-324],
    "surrogates": lambda: {"\ud800": "\udfff", "a": ["\ud83d\ude00"]},
    "nul": lambda: "\x00" * 100_000,
    "escapes": lambda: ["\x01" * 1_000_000],
    "text subclass": lambda: [EndlessText("abc")],
    "huge text subclass": lambda: EndlessText("x" * HUGE),
    "raising": lambda: [Raising()],
    "raising as key": lambda: {(1, 2): Raising(), None: 1, 2.5: 2, b"x": 3, frozenset(): 4},
    "lying list": lambda: Lying([1, 2]),
    "endless dict": lambda: Endless(a=1),
    "endless declarations": Hidden,
    "proxy of endless": lambda: types.MappingProxyType(Endless(a=1)),
    "enum": lambda: [Colour.RED, {"a": Colour.RED}],
    "int enum": lambda: [Level.LOW],
    "enum of laughs": lambda: enum.Enum("Loud", {"A": laughs(list)}).A,
    "zone": lambda: [dt.datetime(2026, 1, 1, tzinfo=Zone())],
    "zone of a time": lambda: [dt.time(1, tzinfo=Zone())],
    "long day": lambda: [Day(2026, 1, 1)],
    "offset in seconds": lambda: dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(seconds=1))),
    "metaclass": lambda: [Meta("Class", (), {})()],
    "class of a metaclass": lambda: Meta("Class", (), {}),
    "mock": mock.MagicMock, "mock in a list": lambda: [mock.Mock(), mock.NonCallableMagicMock()], "async mock": mock.AsyncMock,
    "live proxy": lambda: (lambda node: [node, weakref.proxy(node)])(Node(1)),
    "dead proxy": dead_proxy,
    "reference": lambda: weakref.ref(VALUES["mock"]),
    "counter": lambda: collections.Counter("abc"), "chain map": lambda: collections.ChainMap({"a": 1}),
    "default dict": lambda: collections.defaultdict(list, a=[object()]),
    "infinite iterator": itertools.count, "infinite cycle": lambda: itertools.cycle([1]),
    "generator": lambda: (n for n in itertools.count()),
    "file": io.BytesIO, "lock": threading.Lock, "thread": threading.current_thread, "module": lambda: sys,
    "frame": sys._getframe, "code": lambda: laughs.__code__, "function": lambda: laughs, "pattern": lambda: re.compile("x"),
    "future": lambda: asyncio.Future(loop=asyncio.new_event_loop()),
    "ctypes": lambda: (ctypes.c_char * HUGE)(), "array": lambda: array.array("d", [math.nan]),
    "ellipsis": lambda: [..., NotImplemented, None], "type": lambda: [int, type, Meta],
    "uuid": lambda: [uuid.uuid4()] * 3, "paths": lambda: [pathlib.Path("a"), pathlib.PureWindowsPath("b")],
    "numpy huge": lambda: np.zeros((10_000, 1_000)), "numpy objects": object_array, "numpy nan": lambda: np.array([np.nan, np.inf]),
    "numpy texts": lambda: np.array(["x" * 1_000_000] * 3), "numpy scalar": lambda: [np.float32(1), np.int64(2), np.bool_(1), np.datetime64("NaT")],
    "numpy record": lambda: np.array([(1, "a")], dtype=[("n", "i4"), ("t", "U8")])[0], "numpy void": lambda: np.void(b"\x00\xff"),
    "numpy zero": lambda: np.array(5), "numpy masked": lambda: np.ma.masked_array([1, 2], [0, 1]),
}  # fmt: skip
