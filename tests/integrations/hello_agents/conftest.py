"""A model that says what it is told to, and an agent's surroundings, in a folder of their own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

HERE = Path(__file__).parent
FOREIGN = "ignore::DeprecationWarning"  # pydantic's, of the package's own code


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore warnings of the package itself."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.filterwarnings(FOREIGN))


def call(name: str, arguments: Any, call_id: str) -> SimpleNamespace:
    """A tool call as a model's answer has it, in the forms of this version of the package and of the next."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    turn = {"name": name, "arguments": text}
    return SimpleNamespace(id=call_id, function=SimpleNamespace(**turn), **turn)


class ScriptedLLM:
    """Gives one scripted answer after another: a text, or a list of tool calls. It keeps what it was shown."""

    model = "scripted"

    def __init__(self, *script: str | list[SimpleNamespace]) -> None:
        self.script = list(script)
        self.seen: list[list[dict[str, Any]]] = []

    def _answer(self, messages: list[dict[str, Any]]) -> SimpleNamespace:
        self.seen.append([dict(message) for message in messages])
        turn = self.script.pop(0) if self.script else "done"
        calls = turn if isinstance(turn, list) else None
        message = SimpleNamespace(content=None if calls else turn, tool_calls=calls)
        return SimpleNamespace(choices=[SimpleNamespace(message=message)], usage=None, **vars(message))

    def shown(self, call_id: str) -> str:
        """Text that the model received as the result of its call."""
        return next(
            message["content"]
            for messages in self.seen
            for message in messages
            if message.get("role") == "tool" and message["tool_call_id"] == call_id
        )

    def invoke_with_tools(self, messages: list[dict[str, Any]], **_: Any) -> SimpleNamespace:
        return self._answer(messages)

    async def ainvoke_with_tools(self, messages: list[dict[str, Any]], **_: Any) -> SimpleNamespace:
        return self._answer(messages)

    def invoke(self, messages: list[dict[str, Any]], **_: Any) -> SimpleNamespace:
        return SimpleNamespace(content=self._answer(messages).choices[0].message.content or "done")

    async def astream_invoke(self, messages: list[dict[str, Any]], **_: Any) -> AsyncIterator[str]:
        yield "…"


@pytest.fixture(name="call")
def call_fixture() -> Callable[..., SimpleNamespace]:
    return call


@pytest.fixture
def llm() -> type[ScriptedLLM]:
    return ScriptedLLM


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package writes traces, sessions and outputs beside the process, and leaves files open."""
    monkeypatch.chdir(tmp_path)
    loggers: list[Any] = []
    if find_spec("hello_agents") is not None:
        kind = import_module("hello_agents.observability").TraceLogger
        begin = kind.__init__
        monkeypatch.setattr(kind, "__init__", lambda self, *a, **k: loggers.append(self) or begin(self, *a, **k))
    yield tmp_path
    for logger in loggers:
        logger.jsonl_file.close()
        logger.html_file.close()


@pytest.fixture
def installed() -> Iterator[Any]:
    from tooltrace.integrations import hello_agents

    hello_agents.install()
    yield hello_agents
    hello_agents.remove()


@pytest.fixture
def ha() -> ModuleType:
    """The package."""
    return import_module("hello_agents")


@pytest.fixture
def make_tool() -> Callable[..., Any]:
    """A tool of the package whose ``run`` is the given function."""
    from hello_agents.tools import Tool, ToolParameter, ToolResponse

    class Made(Tool):
        def __init__(self, name: str, function: Callable[[dict[str, Any]], Any], types: dict[str, str]) -> None:
            super().__init__(name, f"It is called {name}.")
            self._function, self._types = function, types

        def get_parameters(self) -> list[ToolParameter]:
            return [ToolParameter(name=name, type=type_, description="") for name, type_ in self._types.items()]

        def run(self, parameters: dict[str, Any]) -> ToolResponse:
            result = self._function(parameters)
            return result if isinstance(result, ToolResponse) else ToolResponse.success(str(result), {"value": result})

    def make(name: str, function: Callable[[dict[str, Any]], Any], base: type = Made, **types: str) -> Any:
        return base(name, function, types)

    make.Made = Made  # type: ignore[attr-defined]
    return make


@pytest.fixture
def registry(ha: ModuleType) -> Any:
    return ha.ToolRegistry()


@pytest.fixture
def config() -> Callable[..., Any]:
    """An agent without the tools that it would register by itself."""
    from hello_agents import Config

    def config(**more: Any) -> Any:
        off = dict.fromkeys(
            ("skills_enabled", "subagent_enabled", "todowrite_enabled", "devlog_enabled", "session_enabled"), False
        )
        return Config(**{**off, **more})

    return config
