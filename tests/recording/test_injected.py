"""Arguments from a framework are not recorded; those from the model are, for any form of parameter."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.errors import ConfigError
from tooltrace.recording import injected_parameters
from tooltrace.tools import ToolRegistry

Calls = Callable[[], list[ToolCall]]

STAND_INS = """
from typing import Generic, Protocol, TypedDict, TypeVar
D = TypeVar("D")
class {name}{bases}:
    secret = "SECRET"
    def __init__(self): self.messages = ["SECRET"] * 200
"""
"""The module of a framework that is not installed here: the place and the name of its class are what counts."""

CLASSES = [
    ("pydantic_ai._run_context", "RunContext", "(Generic[D])"),
    ("agents.run_context", "RunContextWrapper", "(Generic[D])"),
    ("agents.tool_context", "ToolContext", "(Generic[D])"),
    ("agno.run.base", "RunContext", ""),
    ("agno.agent.agent", "Agent", ""),
    ("langgraph.prebuilt.tool_node", "ToolRuntime", "(Generic[D])"),
    ("langchain_core.runnables.config", "RunnableConfig", "(dict)"),
    ("mcp.server.mcpserver.context", "Context", "(Generic[D])"),
    ("mcp.server.fastmcp.server", "Context", ""),
    ("fastmcp.server.context", "Context", ""),
    ("google.adk.agents.context", "Context", ""),
    ("google.adk.tools.tool_context", "ToolContext", ""),
    ("workflows.context.context", "Context", "(Generic[D])"),
    ("strands.types.tools", "ToolContext", ""),
    ("strands.agent.agent", "Agent", ""),
    ("semantic_kernel.kernel", "Kernel", ""),
    ("semantic_kernel.functions.kernel_arguments", "KernelArguments", "(dict)"),
    ("agent_framework._middleware", "FunctionInvocationContext", ""),
    ("autogen_core._cancellation_token", "CancellationToken", ""),
]


def module(monkeypatch: pytest.MonkeyPatch, name: str, source: str) -> ModuleType:
    """A module of this name and source, loaded as far as ``sys.modules`` can tell; and its packages."""
    parts = name.split(".")
    for n in range(1, len(parts)):
        monkeypatch.setitem(sys.modules, ".".join(parts[:n]), ModuleType(".".join(parts[:n])))
    made = ModuleType(name)
    exec(compile(source, f"<{name}>", "exec", dont_inherit=True), vars(made))
    monkeypatch.setitem(sys.modules, name, made)
    return made


@pytest.fixture
def pydantic_ai(monkeypatch: pytest.MonkeyPatch) -> Any:
    return module(
        monkeypatch, "pydantic_ai._run_context", STAND_INS.format(name="RunContext", bases="(Generic[D])")
    ).RunContext


@pytest.fixture
def langchain(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return module(
        monkeypatch,
        "langchain_core.tools.base",
        """
class InjectedToolArg:
    pass
class InjectedToolCallId(InjectedToolArg):
    pass
class InjectedState(InjectedToolArg):
    def __init__(self, field=None):
        self.field = field
""",
    )


def defined(source: str, **names: Any) -> Any:
    """The function ``f`` of a module with these globals, which may be written with annotations that are text."""
    space: dict[str, Any] = {"__name__": "user_module", "Any": Any, **names}
    exec(compile(source, "<user_module>", "exec", dont_inherit=True), space)
    return space["f"]


def recorded(calls: Calls) -> list[Any]:
    found = calls()
    assert not any("SECRET" in (call.arguments or "") for call in found)
    return [json.loads(call.arguments or "null") for call in found]


@pytest.mark.parametrize("as_text", [False, True], ids=["objects", "text"])
@pytest.mark.parametrize(("place", "name", "bases"), CLASSES, ids=[f"{p}.{n}" for p, n, _ in CLASSES])
def test_a_run_context_is_left_out(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, place: str, name: str, bases: str, as_text: bool
) -> None:
    kind = getattr(module(monkeypatch, place, STAND_INS.format(name=name, bases=bases)), name)
    header = "from __future__ import annotations\n" if as_text else ""
    forms = ["C", "C | None", "Optional[C]", "Annotated[C, 'the run']", "Annotated[Optional[C], 'the run']"]
    forms += ["C['Undefined']"] if "Generic" in bases else []
    for form in forms:
        source = f"{header}from typing import Annotated, Optional\ndef f(x: {form}, city: str, n: int = 1): return city"
        if not as_text and "'Undefined'" in form:
            source = source.replace("'Undefined'", "int")
        f = tt.trace_tool(defined(source, C=kind))
        f(kind(), "Oslo")
        f(kind(), city="Oslo", n=2)
        f(x=kind(), city="Oslo")
        f("positional, and not even a context", "Oslo")
    assert recorded(calls) == [{"city": "Oslo"}, {"city": "Oslo", "n": 2}, {"city": "Oslo"}, {"city": "Oslo"}] * len(
        forms
    )


@pytest.mark.parametrize("as_text", [False, True], ids=["objects", "text"])
def test_a_marker_in_annotated_is_enough(calls: Calls, langchain: ModuleType, as_text: bool) -> None:
    header = "from __future__ import annotations\n" if as_text else ""
    f = defined(
        f"{header}from typing import Annotated\n"
        "def f(city: Annotated[str, 'a city'], state: Annotated[dict, lc.InjectedState('messages')],"
        " call: Annotated[str, lc.InjectedToolCallId], keep: Annotated[str, lc.Unknown] = ''): return city",
        lc=langchain if as_text else type("lc", (), {**vars(langchain), "Unknown": int}),
    )
    tt.trace_tool(f)("Oslo", {"messages": ["SECRET"]}, "call_1", keep="kept")
    assert recorded(calls) == [{"city": "Oslo", "keep": "kept"}]


def test_a_default_that_a_framework_replaces(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    base = module(monkeypatch, "uncalled_for.base", "class Dependency: pass").Dependency
    depends = type("_Depends", (base,), {"__module__": "fastmcp.server.dependencies"})()

    def f(city: str, db: Any = depends) -> str:
        return city

    tt.trace_tool(f)("Oslo", db="SECRET")
    assert recorded(calls) == [{"city": "Oslo"}]


def test_subclasses_and_aliases_are_known(calls: Calls, pydantic_ai: Any) -> None:
    class Mine(pydantic_ai):
        pass

    f = "from __future__ import annotations\ndef f(a: Alias, b: Mine, c: list[Mine], city: str): return city"
    tt.trace_tool(defined(f, Alias=pydantic_ai[int], Mine=Mine))(Mine(), Mine(), [Mine()], "Oslo")
    assert recorded(calls) == [{"city": "Oslo"}]


def test_a_class_of_the_same_name_elsewhere_is_an_argument(calls: Calls) -> None:
    class RunContext:
        pass

    class Context:
        pass

    f = (
        "from __future__ import annotations\n"
        "def f(ctx: RunContext, context: Context, agent: str, session_state: dict[str, int], kernel: str): ..."
    )
    tool = tt.trace_tool(defined(f, RunContext=RunContext, Context=Context))
    tool(RunContext(), Context(), "a", {"n": 1}, "k")
    assert set(recorded(calls)[0]) == {"ctx", "context", "agent", "session_state", "kernel"}


def test_a_name_imported_only_for_type_checkers(calls: Calls, pydantic_ai: Any) -> None:
    source = "from __future__ import annotations\ndef f(ctx: RunContext[Deps], other: Nobody, city: str): return city"
    tt.trace_tool(defined(source))("SECRET", 1, "Oslo")
    source = "from __future__ import annotations\ndef f(ctx: pydantic_ai.RunContext[Deps], city: str): return city"
    tt.trace_tool(defined(source, pydantic_ai=sys.modules["pydantic_ai"]))("SECRET", "Oslo")
    assert recorded(calls) == [{"other": 1, "city": "Oslo"}, {"city": "Oslo"}]


def test_a_name_that_is_defined_after_the_decoration(calls: Calls, pydantic_ai: Any) -> None:
    source = (
        "from __future__ import annotations\n@trace_tool\ndef f(ctx: Later, city: str): return city\n"
        "class Later(RunContext): pass"
    )
    defined(source, trace_tool=tt.trace_tool, RunContext=pydantic_ai)("SECRET", "Oslo")
    assert recorded(calls) == [{"city": "Oslo"}]


def test_names_that_agno_reserves_count_where_agno_is(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    def tool(agent, session_state: dict, run_context: Any, team: str, city: str) -> None: ...

    given = {"agent": "A", "session_state": {"s": 1}, "run_context": "R", "team": "red", "city": "Oslo"}
    tt.trace_tool(tool)(**given)
    monkeypatch.setitem(sys.modules, "agno", ModuleType("agno"))
    tt.trace_tool(tool)(**given)
    assert recorded(calls) == [given, {"team": "red", "city": "Oslo"}]


def test_every_kind_of_callable(calls: Calls, pydantic_ai: Any) -> None:
    given = pydantic_ai()

    def plain(ctx: RunContext[int], city: str) -> str:  # noqa: F821
        return city

    plain.__annotations__["ctx"] = pydantic_ai[int]
    annotated = plain.__annotations__

    async def coroutine(ctx, city): ...

    def generator(ctx, city) -> Iterator[int]:
        yield 1

    async def stream(ctx, city) -> AsyncIterator[int]:
        yield 1

    def star(ctx, *cities): ...
    def only(ctx, /, *, city): ...

    class Tools:
        def method(self, ctx, city): ...
        @classmethod
        def cls_method(cls, ctx, city): ...
        @staticmethod
        def static(ctx, city): ...
        def __call__(self, ctx, city): ...

    for f in (
        coroutine,
        generator,
        stream,
        star,
        only,
        Tools.method,
        Tools.cls_method.__func__,
        Tools.static,
        Tools.__call__,
    ):
        f.__annotations__ = annotated

    async def drain() -> None:
        await tt.trace_tool(coroutine)(given, "Oslo")
        assert [item async for item in tt.trace_tool(stream)(given, "Oslo")] == [1]

    import asyncio

    asyncio.run(drain())
    assert list(tt.trace_tool(generator)(given, "Oslo")) == [1]
    tt.trace_tool(plain)(given, "Oslo")
    tt.trace_tool(only)(given, city="Oslo")
    Tools.traced = tt.trace_tool(Tools.method)
    Tools.of_class = tt.trace_tool(vars(Tools)["cls_method"])
    Tools.traced(Tools(), given, "Oslo")
    Tools().traced(given, city="Oslo")
    Tools.of_class(given, "Oslo")
    tt.trace_tool(vars(Tools)["static"]).__func__(given, "Oslo")
    tt.trace_tool(Tools())(given, "Oslo")
    tt.trace_tool(functools.partial(plain, city="Oslo"))(given)
    tt.trace_tool(functools.partial(plain, given))("Oslo")
    tt.trace_tool(functools.lru_cache(plain))(given, "Oslo")
    tt.trace_tool(star)(given, "Oslo", "Rome")
    expected: list[Any] = [{"city": "Oslo"}] * 13 + [{"cities": ["Oslo", "Rome"]}]
    expected[10] = {}  # the partial gives the city, and a record has what was passed to the tool
    assert sorted(map(repr, recorded(calls))) == sorted(map(repr, expected))


# inject=


def test_inject_names_more(calls: Calls) -> None:
    def f(db: Any, city: str, *rest: int, user: str = "", **more: Any) -> None: ...
    def g(db: Any, city: str, *rest: int) -> None: ...

    tt.trace_tool(inject=("db", "user", "other"))(f)("SECRET", "Oslo", 1, user="SECRET", other="SECRET", kept=1)
    tt.trace_tool(inject="db")(g)("SECRET", "Oslo", 5)
    tt.trace_tool(inject=["db", "rest"])(g)("SECRET", "Oslo", 5)
    tt.TraceLogger(inject=["db"]).record("g", None, arguments={"db": "SECRET", "city": "Oslo"})
    assert recorded(calls) == [
        {"city": "Oslo", "rest": [1], "kept": 1},
        {"city": "Oslo", "rest": [5]},
        {"city": "Oslo"},
        {"city": "Oslo"},
    ]


def test_an_unknown_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(
        ConfigError,
        match=r"inject names 'ctxt', which is not a parameter of the tool 'f': its parameters are ctx, city; did you mean 'ctx'\?",
    ):

        @tt.trace_tool(inject=("ctxt",))
        def f(ctx: Any, city: str) -> None: ...

    for wrong in (5, [5]):
        with pytest.raises(ConfigError, match="inject must be names of parameters"):
            tt.TraceLogger(inject=wrong).call("f")


def test_a_registry_hides_what_trace_tool_injects(store: Any) -> None:
    @tt.trace_tool(inject="db")
    def f(db: Any, city: str) -> str:
        return city

    registry = ToolRegistry([f], inject={"db": "the database"})
    assert list(registry.schemas("plain")[0]["parameters"]["properties"]) == ["city"]
    assert registry.execute("f", {"city": "Oslo"}).text == "Oslo"


def test_a_registry_hides_what_a_marker_injects(store: Any, langchain: ModuleType) -> None:
    source = "from typing import Annotated\ndef f(city: str, state: Annotated[dict, InjectedState]): return city"
    f = defined(source, InjectedState=langchain.InjectedState)
    assert list(ToolRegistry([f]).schemas("plain")[0]["parameters"]["properties"]) == ["city"]


# never in the way


@pytest.mark.parametrize("text", ["", "not python at all", "1/0", "f(", "x.y.z[0](1).w", "*a", "a if b else c", "X"])
def test_any_annotation_can_be_traced(calls: Calls, text: str) -> None:
    def f(city: str) -> str:
        return city

    f.__annotations__["city"] = text
    assert tt.trace_tool(f)("Oslo") == "Oslo"
    assert recorded(calls) == [{"city": "Oslo"}]
    assert injected_parameters.is_injected(text, {"X": "X"}) is False


def test_an_annotation_that_raises_is_an_argument(calls: Calls) -> None:
    class Meta(type):
        def __getattribute__(cls, name: str) -> Any:
            raise RuntimeError(name)

    class Hostile(metaclass=Meta):
        pass

    def f(city) -> str:
        return city

    f.__annotations__ = {"city": Hostile}
    assert tt.trace_tool(f)("Oslo") == "Oslo"
    assert recorded(calls) == [{"city": "Oslo"}]


@pytest.mark.processes
def test_no_framework_is_imported() -> None:
    roots = {
        place.partition(".")[0]
        for table in (injected_parameters.CONTEXTS, injected_parameters.OTHER_VALUES)
        for place in table
    } - {"google"}
    code = (
        "import sys, tooltrace as tt\n"
        "def f(ctx: 'pydantic_ai.RunContext', agent, city: 'agno.agent.Agent'): ...\n"
        f"tt.trace_tool(f); print(sorted({roots!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
