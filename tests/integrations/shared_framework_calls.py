"""Helpers of the tests of real frameworks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.errors import ConfigError

Calls = Callable[[], list[ToolCall]]


def identity(call: ToolCall) -> tuple[str, str | None, str | None]:
    return call.call_id, call.agent, call.conversation_id


def is_refused(tool: Any) -> None:
    for decorate in (tt.trace_tool, tt.trace_tool(name="other")):
        with pytest.raises(ConfigError, match="put @trace_tool below the framework's decorator"):
            decorate(tool)


def strands_agent(*tools: Any) -> Any:
    """An agent whose model calls ``weather`` once. Skips where strands is missing."""
    strands = pytest.importorskip("strands")
    from strands.models import Model

    class Scripted(Model):
        def update_config(self, **named: Any) -> None: ...
        def get_config(self) -> Any:
            return {}

        async def structured_output(self, *args: Any, **named: Any) -> Any:
            yield {}

        async def stream(self, messages: Any, *args: Any, **named: Any) -> Any:
            yield {"messageStart": {"role": "assistant"}}
            if len(messages) == 1:
                yield {"contentBlockStart": {"start": {"toolUse": {"name": "weather", "toolUseId": "c1"}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"city": "Oslo"}'}}}}
                yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "tool_use"}}
            else:
                yield {"contentBlockDelta": {"delta": {"text": "done"}}}
                yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "end_turn"}}

    return strands.Agent(model=Scripted(), name="clerk", tools=list(tools), callback_handler=None)
