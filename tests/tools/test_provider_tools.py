"""Dicts that define tools of the model's provider: in the schemas unchanged, and never run here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.errors import ConfigError
from tooltrace.tools import ToolRegistry

WEB_SEARCH = {"type": "web_search", "search_context_size": "low"}
OPENAI = {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}
ANTHROPIC = {"type": "web_search_20250305", "name": "search_the_web", "max_uses": 3}
GEMINI: dict[str, Any] = {"google_search": {}}


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@pytest.mark.parametrize("style", ["openai", "anthropic", "plain"])
def test_schemas_have_the_dict_unchanged_in_its_place(style: Any) -> None:
    registry = ToolRegistry(tools=[WEB_SEARCH, add, OPENAI, ANTHROPIC, GEMINI])
    assert registry.names == ["web_search", "add", "find", "search_the_web", "google_search"]
    schemas = registry.schemas(style)
    assert [schemas[n] for n in (0, 2, 3, 4)] == [WEB_SEARCH, OPENAI, ANTHROPIC, GEMINI]
    assert schemas[1] == ToolRegistry(tools=[add]).schemas(style)[0]


def test_a_change_to_a_schema_or_to_the_dict_does_not_change_the_registry() -> None:
    definition = {"type": "function", "function": {"name": "find"}}
    registry = ToolRegistry(tools=[definition])
    registry.schemas()[0]["function"]["name"] = "other"
    definition["function"] = {}
    assert registry.schemas() == [{"type": "function", "function": {"name": "find"}}]


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_call_is_an_error_that_names_the_provider_and_is_recorded(
    how: str, store: object, calls: Callable[[], list[ToolCall]]
) -> None:
    registry = ToolRegistry(tools=[WEB_SEARCH], call_limit=1)
    for _ in range(2):
        response = (
            registry.execute("web_search", "{}", call_id="c1")
            if how == "sync"
            else asyncio.run(registry.aexecute("web_search", "{}", call_id="c1"))
        )
        assert (response.status, response.code, response.next_action) == ("error", "PROVIDER_TOOL", "continue")
        assert response.error is not None
        assert "the provider of the model runs the tool 'web_search'" in response.error.message
        assert response.error.retryable is False
    assert [(call.tool, call.code) for call in calls()] == [("web_search", "PROVIDER_TOOL")] * 2


def test_a_toolkit_may_list_a_dict() -> None:
    class Kit:
        tools = (WEB_SEARCH, add)

    assert ToolRegistry(tools=[Kit()]).names == ["web_search", "add"]


@pytest.mark.parametrize(
    ("definition", "options", "wrong"),
    [
        ({"a": 1, "b": 2}, {}, "must have a name or a type"),
        ({}, {}, "must have a name or a type"),
        ({"type": 7, "b": 1}, {}, "must have a name or a type"),
        (WEB_SEARCH, {"cache": True}, "options do not apply to a dict"),
    ],
)
def test_a_dict_that_cannot_be_registered(definition: Any, options: Any, wrong: str) -> None:
    registry = ToolRegistry()
    with pytest.raises(ConfigError, match=wrong):
        registry.register(definition, **options)
    assert registry.names == []


def test_the_name_of_a_dict_is_taken_once() -> None:
    registry = ToolRegistry(tools=[WEB_SEARCH])
    with pytest.raises(ConfigError, match="already registered"):
        registry.register({"type": "web_search"})
    registry.register({"type": "web_search"}, replace=True)
    assert registry.schemas() == [{"type": "web_search"}]
    assert tt.ToolRegistry is ToolRegistry
