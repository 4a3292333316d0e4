"""Code of a recorded object may raise anything: the tool's own result or exception comes out, and the call is recorded."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import json
import pathlib
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from pydantic import BaseModel

import tooltrace as tt
from tests.grids import covering
from tooltrace.core.records import ToolCall
from tooltrace.redact.walk import to_json_bytes

Calls = Callable[[], list[ToolCall]]


class Custom(BaseException):
    """A class of exception that nobody knows."""


CLASSES = (ValueError, TypeError, SystemExit, asyncio.CancelledError, GeneratorExit, Custom)
_SPECIAL = (
    "__repr__ __str__ __iter__ __len__ __getattribute__ __getattr__ __hash__ __eq__ __bool__ __getitem__ __contains__ "
    "__int__ __float__ __index__ __fspath__ __bytes__ __format__ __reduce__ __deepcopy__ __copy__ __array__ __dir__ "
    "isoformat tolist keys items utcoffset dst tzname"
).split()


class Greenwich(dt.tzinfo):
    def utcoffset(self, _: dt.datetime | None) -> dt.timedelta:
        return dt.timedelta(0)


class Hooks:
    """Makes classes whose every hook raises; it remembers which ran, and in which thread."""

    def __init__(self, raises: type[BaseException]) -> None:
        self.raises = raises
        self.ran: list[tuple[str, int]] = []
        self.on = False
        """Tests make their objects first, which takes some of the hooks."""

    def hook(self, name: str, usual: Any = None) -> Any:
        def run(*args: Any, **more: Any) -> Any:
            if not self.on:
                return usual(*args, **more)
            self.ran.append((name, threading.get_ident()))
            raise self.raises

        return run

    def body(self, base: type, names: Any = _SPECIAL) -> dict[str, Any]:
        return {name: self.hook(name, getattr(base, name, None)) for name in names}

    def metaclass(self, *more: str) -> type:
        names = ("__hash__", "__eq__", "__getattribute__", "__call__", "__repr__", "mro", *more)
        return type(
            "Meta", (type,), {**self.body(type, names), "__module__": property(self.hook("__module__", lambda _: "m"))}
        )

    def values(self) -> dict[str, Any]:
        """A value of each kind, by name."""
        plain = type("Plain", (object,), self.body(object))
        data = dataclasses.make_dataclass(
            "Data", ["x"], bases=(type("Base", (), {"__getattribute__": self.hook("data", object.__getattribute__)}),)
        )
        slots = dataclasses.make_dataclass(
            "Slots", ["x"], slots=True, namespace={"__getattribute__": self.hook("slots", object.__getattribute__)}
        )
        model = type(
            "Model",
            (BaseModel,),
            {
                "__annotations__": {"x": int},
                "__module__": __name__,
                "__getattribute__": self.hook("model", BaseModel.__getattribute__),
            },
        )
        zone = type("Zone", (Greenwich,), self.body(Greenwich, ("utcoffset", "dst", "tzname")))
        error = type(
            "Error",
            (Exception,),
            {name: self.hook(name, getattr(Exception, name)) for name in ("__str__", "__repr__", "__getattribute__")},
        )
        path = type("Path", (type(pathlib.Path()),), self.body(pathlib.Path, ("__str__", "__fspath__", "__repr__")))
        day = type("Day", (dt.date,), self.body(dt.date, ("isoformat", "__str__", "__format__")))
        array = type(
            "Array",
            (object,),
            {"tolist": self.hook("tolist"), "size": property(self.hook("size")), "__module__": "numpy"},
        )
        return {
            "object": plain(),
            "dataclass": data(1),
            "slots": slots(1),
            "pydantic": model(x=1),
            "datetime": dt.datetime(2026, 1, 1, tzinfo=zone()),
            "date": day(2026, 1, 1),
            "path": path("a"),
            "exception": error("e"),
            "array": array(),
            "metaclass": self.metaclass("__instancecheck__", "__subclasscheck__")("Class", (), {})(),
            "class": self.metaclass("__instancecheck__", "__subclasscheck__")("Class", (), {}),
            **{base.__name__: type("Sub", (base,), self.body(base))() for base in (str, int, float, bytes, list, dict, tuple, set)},
        }  # fmt: skip


KINDS = tuple(Hooks(ValueError).values())


def around(value: Any) -> list[Any]:
    """``value`` alone, and where it may stand in another."""
    try:
        key = {value: 1}
    except TypeError:
        key = {}
    return [value, [value], {"deep": {"er": value}}, key, (1, value), (None, {"error": value}), iter([value])]


def driven(coroutine: Any) -> Any:
    """Run a coroutine that waits for nothing. An event loop would run code of the results and the exceptions."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits for something")


@pytest.mark.parametrize(("kind", "raises"), covering(KINDS, CLASSES))
def test_arguments_and_results_pass_through_unchanged(calls: Calls, kind: str, raises: type[BaseException]) -> None:
    hooks = Hooks(raises)
    values = around(hooks.values()[kind])
    log = tt.TraceLogger()

    @tt.trace_tool
    def tool(x: Any) -> Any:
        return x

    @tt.trace_tool
    async def asynchronous(x: Any) -> Any:
        return x

    @tt.trace_tool
    def stream(x: Any) -> Any:
        yield x
        return x

    @tt.trace_tool
    async def asynchronous_stream(x: Any) -> Any:
        yield x

    async def items(x: Any) -> list[Any]:
        return [item async for item in asynchronous_stream(x)]

    hooks.on = True
    for value in values:
        assert tool(value) is value
        assert driven(asynchronous(value)) is value
        assert next(iter(list(stream(value)))) is value
        assert driven(items(value))[0] is value
        with log.call("logged", {"x": value}) as call:
            call.finish(value)
        log.record("recorded", value, arguments={"x": value})
    hooks.on = False
    assert tool("after") == "after"
    rows = calls()
    assert len(rows) == len(values) * 6 + 1
    assert rows[-1].result == '"after"'
    for row in rows:
        json.loads(row.arguments or "null")
        json.loads(row.result or "null")


@pytest.mark.parametrize(("kind", "raises"), covering(KINDS, CLASSES))
def test_exceptions_pass_through_unchanged(calls: Calls, kind: str, raises: type[BaseException]) -> None:
    hooks = Hooks(raises)
    value = hooks.values()[kind]
    meta = hooks.metaclass()  # without the checks, which Python itself asks of whatever is raised
    error = LookupError("why", value)
    error.__cause__ = ValueError(value)
    error.add_note("a note")
    loud = type("Loud", (Exception,), {**hooks.body(Exception, ("__str__", "__repr__")), "status_code": property(hooks.hook("property")), "code": value, "response": value})  # fmt: skip
    errors = [
        error,
        loud("x"),
        meta("Classed", (Exception,), {})("x"),
        ExceptionGroup("many", [loud("y"), error]),
        OSError(2, "no", value),
        KeyError(value),
        *([value] if isinstance(value, BaseException) else []),
    ]

    def tool(error: BaseException) -> Any:
        raise error

    async def asynchronous(error: BaseException) -> Any:
        raise error

    def stream(error: BaseException) -> Any:
        yield value
        raise error

    traced = [tt.trace_tool(each) for each in (tool, asynchronous, stream)]
    met = []
    hooks.on = True
    for error in errors:
        for run in (
            traced[0],
            lambda e: driven(traced[1](e)),
            lambda e: list(traced[2](e)),
            logged,
        ):
            try:
                run(error)
            except BaseException as raised:  # noqa: BLE001 - whatever comes
                met.append(raised is error)
    hooks.on = False
    assert met == [True] * 4 * len(errors)
    assert tt.trace_tool(lambda: 5)() == 5
    rows = calls()
    assert len(rows) == 4 * len(errors) + 1
    assert {row.ending for row in rows[:-1]} == {"raised"}
    assert all(row.error_type and row.error_message for row in rows[:-1])


def logged(error: BaseException) -> None:
    with tt.TraceLogger().call("logged"):
        raise error


@pytest.mark.parametrize("raises", CLASSES)
def test_user_callbacks_may_raise_anything(store: Any, calls: Calls, raises: type[BaseException]) -> None:
    def fail(*_: Any) -> Any:
        raise raises

    tt.configure(store=store, durability="call", redact=fail)
    tool = tt.trace_tool(confidence=fail, sources=fail, rules=[tt.rule("mine")(fail), *tt.RULES])(lambda x: x)
    value = {"a": [1]}
    assert tool(value) is value
    (call,) = calls()
    assert call.status == "success" and call.redacted
    assert json.loads(call.flags or "") == ["confidence_failed", "sources_failed"]


def test_objects_are_read_by_their_structure_and_an_exception_where_it_was_raised(calls: Calls) -> None:
    """The message of an exception is read in the tool's thread: it may depend on it, and change."""
    hooks = Hooks(ValueError)
    values = hooks.values()
    for kind in (
        "object",
        "dataclass",
        "slots",
        "pydantic",
        "metaclass",
        "class",
        "list",
        "dict",
        "tuple",
        "str",
        "int",
    ):
        hooks.on = True
        tt.trace_tool(lambda x: [x])(values[kind])
        tt.flush()
        hooks.on = False
        assert hooks.ran == [], kind
    hooks.on = True
    with pytest.raises(Exception) as caught:
        tt.trace_tool(lambda: (_ for _ in ()).throw(values["exception"]))()
    tt.flush()
    hooks.on = False
    assert caught.value is values["exception"]
    assert {thread for _, thread in hooks.ran} == {threading.get_ident()}
    rows = calls()
    assert [json.loads(row.result or "") for row in rows[1:4]] == [[{"x": 1}]] * 3


def test_fields_are_read_as_they_are_set() -> None:
    @dataclasses.dataclass
    class Data:
        x: int
        _kept: list[int]
        late: int = dataclasses.field(init=False)
        usual: int = 7

    assert json.loads(to_json_bytes(Data(1, [2]))) == {"x": 1, "late": None, "usual": 7}


# what a signal raises


def interrupt(*_: Any) -> Any:
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def python_handler() -> Any:
    """A test loop may have a handler of its own."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("python_handler")
@pytest.mark.parametrize("base", [Exception, type(pathlib.Path())])
def test_an_interrupt_while_an_object_is_read_reaches_the_application(calls: Calls, base: Any) -> None:
    value = type("Slow", (base,), {"__str__": interrupt})("x")

    def tool() -> Any:
        if isinstance(value, BaseException):
            raise value
        return [value]

    with pytest.raises(KeyboardInterrupt):
        tt.trace_tool(tool)()
    (call,) = calls()
    assert call.ending in ("returned", "raised")
    assert "interrupted" in (call.flags or "")


@pytest.mark.parametrize("raises", [SystemExit, KeyboardInterrupt, TimeoutError])
def test_an_exception_of_a_signal_handler_reaches_the_application(calls: Calls, raises: type[BaseException]) -> None:
    class Handlers:
        def stop(self, *_: Any) -> None:
            raise raises

    value = type("Slow", (Exception,), {"__str__": lambda _: signal.raise_signal(signal.SIGTERM)})("x")
    before = signal.signal(signal.SIGTERM, Handlers().stop)
    try:
        with pytest.raises(raises):
            tt.trace_tool(lambda: {"a": value})()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert len(calls()) == 1


@pytest.mark.usefixtures("python_handler")
@pytest.mark.parametrize("raises", [False, True])
def test_an_interrupt_in_a_span_processor_is_a_flag_of_the_attempt(calls: Calls, store: Path, raises: bool) -> None:
    interrupts = iter([signal.SIGINT])

    class Interrupting(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            for number in interrupts:
                signal.raise_signal(number)

    provider = TracerProvider()
    provider.add_span_processor(Interrupting())

    def tool() -> int:
        return 1 // (0 if raises else 1)

    tt.configure(store=store, tracer_provider=provider)
    with pytest.raises(KeyboardInterrupt):
        tt.trace_tool(tool)()
    (call,) = calls()
    assert call.ending == ("raised" if raises else "returned")
    assert call.flags == '["interrupted"]'


@pytest.mark.usefixtures("python_handler")
def test_an_interrupt_in_another_thread_is_the_objects_own(calls: Calls) -> None:
    error = type("Odd", (Exception,), {"__str__": lambda _: (_ for _ in ()).throw(KeyboardInterrupt)})("x")
    met: list[Any] = []

    def run() -> None:
        met.append(tt.trace_tool(lambda: [error])())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert met == [[error]]
    assert len(calls()) == 1
