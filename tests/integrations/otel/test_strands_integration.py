"""Strands' own spans and the integration's records show one call, and it is one row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from tooltrace.core.records import ToolCall

pytest.importorskip("strands", reason="needs strands-agents: make test-strands")

from tests.integrations.strands.test_calls import agent

Calls = Callable[[], list[ToolCall]]

pytestmark = [
    pytest.mark.usefixtures("provider", "installed"),
    pytest.mark.filterwarnings("ignore"),
]  # the framework's own


@pytest.fixture
def integration() -> str:
    """The name of the integration under test."""
    return "strands"


@pytest.mark.parametrize(
    ("name", "arguments"), [("add", {"a": 1, "b": 2}), ("weigh", {"item": "a"}), ("read", {"path": "a"})]
)
def test_a_call_is_one_row(provider: TracerProvider, calls: Calls, name: str, arguments: dict[str, Any]) -> None:
    agent([(name, arguments, "c1")])("go")
    provider.force_flush()
    (call,) = calls()
    assert (call.tool, call.call_id, call.agent) == (name, "c1", "clerk")
    assert call.parent_span_id is not None, "the framework's span is around the recorder's"


def test_an_interrupt_is_one_row(provider: TracerProvider, calls: Calls) -> None:
    agent([("drop", {"table": "t"}, "c1")])("go")
    provider.force_flush()
    assert [(call.call_id, call.ending) for call in calls()] == [("c1", "paused")]
