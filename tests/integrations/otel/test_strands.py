"""Agents of strands: arguments, results, agent and conversation of each tool call, from the package's own spans."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.integrations.otel.conftest import by_call, data
from tooltrace.core.records import ToolCall

strands: Any = pytest.importorskip("strands", reason="needs strands-agents: make test-strands")

Calls = Callable[[], list[ToolCall]]


def weather(city: str) -> dict[str, Any]:
    """The weather.

    Args:
        city: Where.
    """
    if city == "Nowhere":
        raise ValueError("no such city")
    return {"city": city, "degrees": 21}


@pytest.mark.parametrize("conventions", ["", "gen_ai_latest_experimental"])
@pytest.mark.usefixtures("provider")
def test_each_call_has_its_content_agent_and_conversation(
    calls: Calls, conventions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", conventions)
    monkeypatch.setattr("strands.telemetry.tracer._tracer_instance", None)  # reads the variable when it is created
    from strands.models import Model

    class Scripted(Model):
        def update_config(self, **_named: Any) -> None: ...
        def get_config(self) -> Any:
            return {}

        async def structured_output(self, *_args: Any, **_named: Any) -> Any:
            yield {}

        async def stream(self, messages: Any, *_args: Any, **_named: Any) -> Any:
            yield {"messageStart": {"role": "assistant"}}
            if len(messages) > 1:
                yield {"contentBlockDelta": {"delta": {"text": "done"}}}
                yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "end_turn"}}
                return
            for number, city in enumerate(("Oslo", "Nowhere")):
                yield {"contentBlockStart": {"start": {"toolUse": {"name": "weather", "toolUseId": f"c{number}"}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps({"city": city})}}}}
                yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use"}}

    agent = strands.Agent(
        model=Scripted(),
        name="clerk",
        tools=[strands.tool(weather)],
        callback_handler=None,
        trace_attributes={"session.id": "session-7"},
    )
    agent("go")
    found = by_call(calls)
    assert {(call.agent, call.conversation_id) for call in found.values()} == {("clerk", "session-7")}
    assert {key: data(call.arguments) for key, call in found.items()} == {
        "c0": {"city": "Oslo"},
        "c1": {"city": "Nowhere"},
    }
    assert (found["c0"].status, data(found["c0"].result)) == ("success", {"city": "Oslo", "degrees": 21})
    assert (found["c1"].status, found["c1"].error_type, found["c1"].error_message) == (
        "error",
        "ValueError",
        "no such city",
    )
