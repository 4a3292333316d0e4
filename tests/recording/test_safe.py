"""Whatever goes in and out of a tool is recorded as it was at that moment, within bounds, and never in the way."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
import math
import pathlib
import uuid
from collections import OrderedDict, UserDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.redact.snapshot import BUDGET, snapshot
from tooltrace.redact.walk import VALUE_COST, to_json_bytes

Calls = Callable[[], list[ToolCall]]


class Model(BaseModel):
    a: int = 1
    b: list[float] = [math.nan]


@dataclasses.dataclass
class Data:
    x: int
    y: Any = None
    _private: int = 3


@dataclasses.dataclass(slots=True)
class Slotted:
    x: int


class Colour(enum.Enum):
    RED = "red"
    MANY = (1, 2)


class Level(enum.IntEnum):
    LOW = 1


class Text(str):
    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


class Number(int):
    def __int__(self) -> int:
        raise RuntimeError

    __repr__ = __index__ = __int__  # type: ignore[assignment]


Point = namedtuple("Point", "x y")


class Attrs:
    """A class like those that attrs makes."""

    class _Attribute:
        name = "x"

    __attrs_attrs__ = (_Attribute(),)

    def __init__(self) -> None:
        self.x = 5


CIRCLE: list[Any] = [1]
CIRCLE.append(CIRCLE)
LOOP: dict[str, Any] = {}
LOOP["self"] = {"again": LOOP}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1), (-(2**63), -(2**63)), (2**63 - 1, 2**63 - 1), (2**64 + 1, str(2**64 + 1)), (-(2**70), str(-(2**70))),
        (10**5000, "<huge integer>"), ([2**70], [str(2**70)]),
        (math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), ([math.nan, None], ["NaN", None]),
        ("\ud800x", "\ufffdx"), ("\ud83d\ude00", "😀"), ("a\x00b", "a\x00b"), ({"\ud800": 1}, {"\ufffd": 1}),
        (b"abc", "abc"), (b"\xff\x00", "base64:/wA="), (bytearray(b"x"), "x"), (memoryview(b"x"), "x"),
        (Model(), {"a": 1, "b": ["NaN"]}), (Data(1, Data(2)), {"x": 1, "y": {"x": 2, "y": None}}), (Slotted(1), {"x": 1}),
        (Attrs(), {"x": 5}), (Point(1, [2]), {"x": 1, "y": [2]}), (Point(1, b"2"), {"x": 1, "y": "2"}),
        (Colour.RED, "red"), (Colour.MANY, [1, 2]), (Level.LOW, 1), (Text("t"), "t"), (Number(7), 7),
        (dt.date(2026, 1, 2), "2026-01-02"), (dt.timedelta(seconds=1), "0:00:01"), (Decimal("1.10"), "1.10"),
        (Fraction(1, 3), "1/3"), (uuid.UUID(int=1), str(uuid.UUID(int=1))), (pathlib.Path("/a/b"), "/a/b"), (1j, "1j"),
        ({1, }, [1]), (frozenset({"a"}), ["a"]), (deque([1, 2]), [1, 2]), (range(3), [0, 1, 2]), ({"a": 1}.keys(), ["a"]),
        ({1: "a", None: "b", (1, 2): "c", Colour.RED: "d"}, None), (OrderedDict(a=b"x"), {"a": "x"}),
        (defaultdict(list, a=[b"x"]), {"a": ["x"]}), (MappingProxyType({"a": b"x"}), {"a": "x"}),
        (UserDict(a=b"x"), {"a": "x"}), (CIRCLE, [1, "<circular>"]), (LOOP, {"self": {"again": "<circular>"}}),
        (np.arange(3), [0, 1, 2]), (np.float64(1.5), 1.5), (np.float32("nan"), "NaN"), (np.int8(3), 3), (np.bool_(True), True),
        (np.array([[1.0, math.inf]]), [[1.0, "Infinity"]]), (np.zeros((1000, 1000)), None), (np.datetime64("2026-01-01"), None),
        (object(), "<builtins.object>"), (print, None), (int, None), ([ValueError("v")], ["ValueError: v"]), (..., None),
    ],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_unusual_values_have_a_documented_form(calls: Calls, value: Any, expected: Any) -> None:
    assert tt.trace_tool(lambda x: x)(value) is value
    (call,) = calls()
    result = json.loads(call.result or "null")
    assert json.loads(call.arguments or "")["x"] == result
    if expected is not None:
        if isinstance(value, Data):
            assert {k: v for k, v in result.items() if k != "_private"}["x"] == expected["x"]
        else:
            assert result == expected
    list(tt.trace_tool(lambda x: iter_of(x))(value))
    assert json.loads(calls()[1].result or "") == [result]


def iter_of(value: Any) -> Any:
    yield value


# objects that raise, hang or lie when they are looked at

LOOKED: list[str] = []


def notice(*_: Any) -> Any:
    LOOKED.append("looked at")


def fail(*_: Any) -> Any:
    LOOKED.append("looked at")
    raise RuntimeError("looked at")


class Exit(BaseException):
    pass


def leave(*_: Any) -> Any:
    LOOKED.append("looked at")
    raise Exit


NAMES = ("__repr__", "__str__", "__iter__", "__len__", "__getattr__", "__getattribute__", "__hash__", "__eq__", "__bool__",
         "__getitem__", "__contains__", "__format__", "__reduce__", "__int__", "__float__", "__index__", "__bytes__",
         "__class__", "keys", "items", "__sizeof__", "__dir__")  # fmt: skip


@pytest.mark.parametrize("behaviour", [notice, fail, leave])
@pytest.mark.parametrize("base", [object, Exception, dict, list, str, tuple, set, Mapping, Sequence, UserDict])
def test_no_code_of_a_recorded_object_runs(calls: Calls, base: Any, behaviour: Any) -> None:
    body: dict[str, Any] = {name: property(behaviour) if name == "__class__" else behaviour for name in NAMES}
    if issubclass(base, Exception):
        del body["__str__"], body["__repr__"]  # an exception's own words are asked for
    hostile = type("Hostile", (base,), body)
    hostile.__abstractmethods__ = frozenset()
    value = base.__new__(hostile)
    LOOKED.clear()
    tool = tt.trace_tool(lambda q, x: [q, x])
    result = tool("kept", value)
    assert result[1] is value
    with pytest.raises(LookupError):
        tt.trace_tool(lambda x: (_ for _ in ()).throw(LookupError(x)))(value)
    # the attributes that classify an exception are read where it is an item, as where it is a result
    item = object() if base is Exception else value
    ours = tt.trace_tool(lambda x: iter_of(x))(item)
    assert next(ours) is item
    ours.close()
    with tt.context(attributes={"thing": value}):
        tool("attribute", 1)
    rows = calls()
    assert LOOKED == []
    assert len(rows) == 4
    assert json.loads(rows[0].arguments or "")["q"] == "kept"


def test_an_exception_whose_str_raises(calls: Calls) -> None:
    class Mute(Exception):
        __str__ = __repr__ = fail

    error = Mute()
    with pytest.raises(Mute) as caught:
        tt.trace_tool(lambda: (_ for _ in ()).throw(error))()
    assert caught.value is error
    (call,) = calls()
    assert call.status == "error" and "Mute" in (call.error_message or "")


# what changes later


def test_arguments_are_as_they_were_before_the_tool_changed_them(calls: Calls) -> None:
    model, data, array = Model(), Data(1, []), np.array([1, 2])

    @tt.trace_tool
    def tool(items: list[int], model: Model, data: Data, array: Any, **more: Any) -> list[int]:
        items.append(99)
        model.a = 99
        data.y.append(99)
        array[0] = 99
        more["d"]["x"] = 99
        return items

    result = tool([1], model, data, array, d={"x": 1})
    result.append(100)
    (call,) = calls()
    assert "99" not in (call.arguments or "99")
    assert call.result == "[1,99]"


def test_a_response_is_as_it_was_when_it_was_returned(calls: Calls) -> None:
    data, stats, extra, signals = {"n": [1]}, {"rows": 1}, {"k": [1]}, {"overlap": 0.5}
    tt.trace_tool(lambda: tt.ToolResponse.success("x", data, stats=stats, context=extra, signals=signals))()
    for thing in (data["n"], extra["k"]):
        thing.append(99)
    stats["rows"] = 99
    signals["overlap"] = 99
    (call,) = calls()
    assert (call.result, call.stats, call.context, call.signals) == (
        '{"n":[1]}', '{"rows":1}', '{"k":[1]}', '{"overlap":0.5}',
    )  # fmt: skip


def test_items_of_a_stream_are_as_they_were(calls: Calls) -> None:
    shared: list[int] = []

    @tt.trace_tool
    def tool() -> Any:
        for i in range(3):
            shared.append(i)
            yield shared

    for item in tool():
        item.append(99)
    (call,) = calls()
    assert json.loads(call.result or "") == [[0], [0, 99, 1], [0, 99, 1, 99, 2]]


# bounds

LIMIT = 64 * 1024


def size(call: ToolCall, field: str) -> int:
    sizes: dict[str, int] = json.loads(call.full_sizes or "{}")
    return sizes[field]


@pytest.mark.parametrize(
    "text", ["x" * 10_000_000, "é" * 1_000_000, "\x01" * 1_000_000, "word " * 100_000, "a " + "b" * 10**6]
)
def test_a_long_text_is_cut_with_its_length(calls: Calls, text: str) -> None:
    assert tt.trace_tool(lambda q: text)(text) == text
    (call,) = calls()
    assert call.truncated is True
    assert size(call, "text") == len(text.encode())
    assert size(call, "result") == len(text.encode()) + 2, "with its quotes, without escapes"
    assert call.text == text[:LIMIT]
    for field in (call.result, call.arguments):
        assert field is not None and 0.9 * LIMIT < len(field.encode()) < 1.05 * LIMIT
        json.loads(field)


def test_a_text_of_exactly_the_limit_is_not_cut(calls: Calls) -> None:
    for extra in (0, 1):
        tt.trace_tool(capture="full")(lambda extra=extra: "x" * (LIMIT + extra))()
    whole, cut = calls()
    assert len(whole.text or "") == LIMIT and "text" not in (whole.full_sizes or "")
    assert size(cut, "text") == LIMIT + 1


@pytest.mark.parametrize(
    "value",
    [
        list(range(1_000_000)),
        {str(i): i for i in range(100_000)},
        ["y" * 1000] * 1000,
        [None] * 300_000,
        [[1] * 10] * 50_000,
    ],
    ids=["list", "dict", "texts", "nones", "lists"],
)
def test_a_huge_value_is_cut(calls: Calls, value: Any) -> None:
    tt.trace_tool(lambda x: x)(value)
    (call,) = calls()
    assert call.truncated is True
    for field in ("result", "arguments"):
        kept = getattr(call, field)
        assert 0.2 * LIMIT < len(kept) < 1.1 * LIMIT
        json.loads(kept)


def test_a_deep_value(calls: Calls) -> None:
    deep: Any = "bottom"
    for i in range(10_000):
        deep = [deep] if i % 2 else {"k": deep}
    tt.trace_tool(lambda x: x)(deep)
    (call,) = calls()
    assert "<too deep>" in (call.result or "")


def test_a_text_that_is_deep_json(calls: Calls) -> None:
    text = "[" * 900 + '"token"' + "]" * 900
    tt.trace_tool(lambda x: x)(text)
    (call,) = calls()
    assert call.text == text


def test_a_long_stream_is_stored_up_to_the_limit_and_counted_completely(calls: Calls) -> None:
    @tt.trace_tool
    def tool() -> Any:
        for _ in range(100_000):
            yield "0123456789"

    assert sum(len(item) for item in tool()) == 1_000_000
    (call,) = calls()
    assert json.loads(call.stats or "") == {"items": 100_000}
    assert call.truncated and size(call, "result") == 1_000_000
    assert len(call.result or "") < 1.1 * LIMIT and len(call.text or "") <= LIMIT


def test_the_limit_can_be_set(store: Any, calls: Calls) -> None:
    tt.configure(store=store, field_limit=100)
    tt.trace_tool(lambda: "x" * 1000)()
    (call,) = calls()
    assert call.text == "x" * 100 and len(call.result or "") < 120


class Part(BaseModel):
    text: str = "SECOND"
    note: str | None = None


@dataclasses.dataclass
class Message:
    parts: list[Part]
    kind: str = "request"


class Answer(BaseModel):
    messages: list[Message]
    closed: bool = True


MANY = BUDGET // VALUE_COST
OBJECTS = {
    "models": lambda: [Part() for _ in range(MANY)],
    "dataclasses": lambda: [Message([]) for _ in range(MANY)],
    "sets": lambda: [{i} for i in range(MANY)],
}


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS)
def test_objects_are_read_up_to_a_budget(calls: Calls, make: Callable[[], Any]) -> None:
    value = make()
    tt.trace_tool(lambda: value)()
    (call,) = calls()
    assert call.truncated is True and "result" not in (call.full_sizes or "")
    assert json.loads(call.result or "")[:50] == json.loads(to_json_bytes(value[:50]))
    taken = snapshot({"first": value, "last": "kept"})
    assert type(taken) is bytes
    arguments = json.loads(taken)
    assert arguments["last"] == "kept"
    assert 50 < len(arguments["first"]) < len(value)


def test_members_after_a_long_list_of_objects_are_recorded(calls: Calls) -> None:
    answer = Answer(messages=[Message([Part()] * 3) for _ in range(MANY)])
    tt.trace_tool(lambda x, plain, n, more: x)(answer, {"a": [None]}, 5, Message([]))
    (call,) = calls()
    result, arguments = json.loads(call.result or ""), json.loads(call.arguments or "")
    assert result["closed"] is True
    assert (arguments["plain"], arguments["n"]) == ({"a": [None]}, 5)
    assert arguments["more"].endswith(".Message>")


def test_long_texts_in_objects_end_the_reading(calls: Calls) -> None:
    tt.trace_tool(lambda: [Part(text="x" * 1000) for _ in range(100)])()
    (call,) = calls()
    assert call.truncated is True and 60 < len(json.loads(call.result or "")) < 70
    assert size(call, "result") > 100_000


def test_a_cut_stream_of_objects_is_marked(calls: Calls) -> None:
    list(tt.trace_tool(lambda: iter_of([Message([]) for _ in range(MANY)]))())
    (call,) = calls()
    assert call.truncated is True
    assert not (call.result or "").endswith(" ")


def test_a_larger_field_limit_reads_more(store: Any, calls: Calls) -> None:
    tt.configure(store=store, field_limit=20 * LIMIT)
    tt.trace_tool(lambda: OBJECTS["models"]())()
    (call,) = calls()
    assert not call.truncated and len(json.loads(call.result or "")) == MANY


def test_plain_data_has_no_budget(calls: Calls) -> None:
    rows = [{"n": n, "x": None, "at": dt.date(2026, 1, 2)} for n in range(1_000)]
    tt.trace_tool(lambda q: len(q))(rows)
    (call,) = calls()
    assert not call.truncated and len(json.loads(call.arguments or "")["q"]) == 1_000


nones_and_numbers = st.recursive(
    st.none() | st.floats() | st.integers(-5, 5) | st.sampled_from(["NaN", "Infinity", '"NaN"', "null"]) | st.dates(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=4),
)


@given(nones_and_numbers)
def test_nan_and_none_differ(value: Any) -> None:
    snap = snapshot(value)
    if isinstance(snap, bytes):
        assert json.loads(snap) == json.loads(to_json_bytes(value))


# any value at all

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.dates()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(scalars, inner, max_size=4) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(values)
def test_any_value_becomes_valid_json(value: Any) -> None:
    json.loads(to_json_bytes(value))
    snap = snapshot(value)
    if isinstance(snap, bytes):
        json.loads(snap)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4),
)  # fmt: skip


@given(json_values)
def test_json_data_is_recorded_without_loss(value: Any) -> None:
    snap = snapshot(value)
    assert (json.loads(snap) if isinstance(snap, bytes) else snap) == value
