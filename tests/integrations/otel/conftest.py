"""Agents of other frameworks, run as they are with their own instrumentation; the recorder only listens."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import opentelemetry.trace as trace_api
import pytest
from opentelemetry.sdk.trace import TracerProvider

from tooltrace.core.records import ToolCall
from tooltrace.ingest.spans import TooltraceSpanProcessor


@pytest.fixture(autouse=True)
def quiet(no_network: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No network, and no log lines of FastMCP."""
    monkeypatch.setenv("FASTMCP_LOG_LEVEL", "CRITICAL")
    logging.getLogger("fastmcp").setLevel(logging.CRITICAL)


@pytest.fixture(scope="session")
def one_provider() -> TracerProvider:
    """The application's provider: instrumentations keep the first that they meet."""
    provider = TracerProvider()
    provider.add_span_processor(TooltraceSpanProcessor())
    trace_api.set_tracer_provider(provider)
    return provider


@pytest.fixture
def provider(one_provider: TracerProvider, store: Path) -> Iterator[TracerProvider]:
    """The application's provider, with the recorder's processor."""
    yield one_provider
    one_provider.force_flush()


def data(text: str | None) -> Any:
    """Return the value of a JSON field."""
    return None if text is None else json.loads(text)


def by_call(calls: Callable[[], list[ToolCall]]) -> dict[str, ToolCall]:
    """The calls by the model's id; none twice."""
    found = calls()
    ids = [call.call_id for call in found]
    assert len(set(ids)) == len(ids), ids
    return {call.call_id: call for call in found}


__all__ = ["by_call", "data"]
