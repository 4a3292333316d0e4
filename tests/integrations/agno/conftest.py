"""Real agents of Agno's, with a model that says what a script has it say."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tooltrace.core.records import Gate
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import decode

if find_spec("agno") is None:
    collect_ignore_glob = ["test_[!m]*.py"]  # test_missing says so, once


@pytest.fixture(autouse=True)
def quiet(no_network: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No network, no telemetry and no log lines of Agno."""
    monkeypatch.setenv("AGNO_TELEMETRY", "false")
    for name in ("agno", "agno-team", "agno-workflow"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


@pytest.fixture
def installed() -> Iterator[None]:
    from tooltrace.integrations import agno

    agno.install()
    yield
    agno.remove()


@pytest.fixture
def gates(store: Path) -> Callable[[], list[Gate]]:
    def read() -> list[Gate]:
        assert tt.flush(None)
        files = StorePaths.of(store).journal.glob("*.jsonl")
        records = [decode(line) for file in files for line in file.read_bytes().splitlines(keepends=True)]
        return [record for record in records if isinstance(record, Gate)]

    return read


def scripted_class() -> type:
    """Agno's model, whose turns come from a script: a text, or calls as ``(tool, arguments, call id)``."""
    from dataclasses import dataclass, field

    from agno.models.base import Model
    from agno.models.response import ModelResponse

    @dataclass
    class Scripted(Model):
        id: str = "scripted"
        name: str = "Scripted"
        provider: str = "none"
        turns: list[Any] = field(default_factory=list)
        seen: list[Any] = field(default_factory=list)
        """Texts of all tool messages that the model received, turn by turn."""

        def _next(self, messages: Any) -> ModelResponse:
            self.seen.append([(m.tool_call_id, m.content) for m in messages if m.role == "tool"])
            turn = self.turns.pop(0) if self.turns else "done"
            if isinstance(turn, str):
                return ModelResponse(role="assistant", content=turn)
            calls = []
            for name, arguments, call_id in turn:
                text = arguments if isinstance(arguments, str) else json.dumps(arguments)
                calls.append({"id": call_id, "type": "function", "function": {"name": name, "arguments": text}})
            return ModelResponse(role="assistant", content="", tool_calls=calls)

        def invoke(self, messages: Any, **kwargs: Any) -> ModelResponse:
            return self._next(messages)

        async def ainvoke(self, messages: Any, **kwargs: Any) -> ModelResponse:
            return self._next(messages)

        def invoke_stream(self, messages: Any, **kwargs: Any) -> Iterator[ModelResponse]:
            yield self._next(messages)

        async def ainvoke_stream(self, messages: Any, **kwargs: Any) -> Any:
            yield self._next(messages)

        def _parse_provider_response(self, response: Any, **kwargs: Any) -> Any:
            return response

        def _parse_provider_response_delta(self, response: Any) -> Any:
            return response

    return Scripted


@pytest.fixture
def scripted() -> Callable[..., Any]:
    """A model with these turns."""
    kind = scripted_class()
    return lambda *turns: kind(turns=list(turns))


@pytest.fixture
def agent_of(scripted: Callable[..., Any]) -> Callable[..., Any]:
    """An agent with these tools, whose model takes these turns."""

    def make(tools: list[Any], *turns: Any, **options: Any) -> Any:
        from agno.agent import Agent

        options = {"name": "clerk", "telemetry": False, **options}
        return Agent(model=scripted(*turns), tools=tools, **options)

    return make
