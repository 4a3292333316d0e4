"""ADK's own spans and the integration's records show one call, and it is one row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from tooltrace.core.records import ToolCall

pytest.importorskip("google.adk", reason="needs google-adk: make test-google-adk")

from tests.integrations.google_adk.test_calls import Chat

Calls = Callable[[], list[ToolCall]]

pytestmark = [
    pytest.mark.usefixtures("provider", "installed"),
    pytest.mark.filterwarnings("ignore"),
]  # the framework's own


@pytest.fixture
def integration() -> str:
    """The name of the integration under test."""
    return "google_adk"


@pytest.mark.parametrize(("name", "arguments"), [("add", {"a": 1, "b": 2}), ("weigh", {"item": "a"})])
def test_a_call_is_one_row(provider: TracerProvider, calls: Calls, name: str, arguments: dict[str, Any]) -> None:
    Chat([(name, arguments, "c1")]).say()
    provider.force_flush()
    (call,) = calls()
    assert (call.tool, call.call_id, call.agent) == (name, "c1", "clerk")


def test_a_confirmation_is_one_row(provider: TracerProvider, calls: Calls) -> None:
    Chat([("drop", {"table": "t"}, "c1")]).say()
    provider.force_flush()
    assert [(call.call_id, call.ending) for call in calls()] == [("c1", "paused")]
