"""Release, environment, further attributes and the model of a call: in the row, in its span, and in a child process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.errors import ConfigError
from tooltrace.otel.span_codec import encode
from tooltrace.recording import inheritance
from tooltrace.recording.call_identity import model_name
from tooltrace.recording.settings import Settings

Calls = Callable[[], list[ToolCall]]
RESOURCE = "service.version=1.2,deployment.environment.name=staging,service.name=shop%20eu"


@tt.trace_tool
def find(city: str) -> str:
    return city


def test_the_environment_names_service_release_and_environment(
    monkeypatch: pytest.MonkeyPatch, store: Path, calls: Calls
) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", RESOURCE)
    monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)
    tt.configure(store=store)
    find("Oslo")
    (call,) = calls()
    assert (call.service, call.release, call.environment) == ("shop eu", "1.2", "staging")
    assert encode(call).resource.items() >= {"service.version": "1.2", "deployment.environment.name": "staging"}.items()


def test_configure_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch, store: Path, calls: Calls) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", RESOURCE)
    tt.configure(store=store, release="2", environment="prod")
    find("Oslo")
    (call,) = calls()
    assert (call.release, call.environment) == ("2", "prod")


def test_configured_attributes_are_on_every_call_unless_the_context_has_another(store: Path, calls: Calls) -> None:
    tt.configure(store=store, attributes={"region": "eu", "zones": ["a", "b"], "key": "sk-abcdefghijklmnopqrstuvwx"})
    find("Oslo")
    with tt.context(attributes={"region": "us"}):
        find("Rome")
    first, second = (orjson.loads(call.attributes or "") for call in calls())
    assert first == {"region": "eu", "zones": ["a", "b"], "key": "[redacted]"}
    assert second == {**first, "region": "us"}


@pytest.mark.parametrize(
    "attributes", ["x", {"a": object()}, {"a": {"b": 1}}, {1: "a"}, {"gen_ai.agent.name": "clerk"}]
)
def test_other_attributes_are_refused(attributes: Any, store: Path) -> None:
    with pytest.raises(ConfigError, match=r"attributes .*; nothing was changed"):
        tt.configure(store=store, attributes=attributes)


def test_a_tool_redacts_configured_attributes_too(store: Path, calls: Calls) -> None:
    tt.configure(store=store, attributes={"floor": "upper"})

    @tt.trace_tool(redact=["floor"])
    def look() -> int:
        return 1

    look()
    assert [call.attributes for call in calls()] == ['{"floor":"[redacted]"}']


def test_a_spawned_child_takes_them_over(monkeypatch: pytest.MonkeyPatch, store: Path) -> None:
    tt.configure(store=store, release="2", environment="prod", attributes={"region": "eu"})
    monkeypatch.setattr(inheritance, "parent_pid", os.getpid)
    found = Settings(**inheritance.inherited_options())
    assert (found.release, found.environment, found.attributes) == ("2", "prod", {"region": "eu"})


def test_the_model_is_that_of_the_context_and_reaches_inner_calls(calls: Calls) -> None:
    @tt.trace_tool
    def outer() -> str:
        return find("Oslo")

    with tt.context(model="gpt-5"):
        outer()
        with tt.context(model="claude"):
            find("Rome")
    assert [(call.tool, call.model) for call in calls()] == [("outer", "gpt-5"), ("find", "gpt-5"), ("find", "claude")]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-5", "gpt-5"),
        (SimpleNamespace(model_name="m"), "m"),
        (SimpleNamespace(model_id="m"), "m"),
        (SimpleNamespace(model="m", id=7), "m"),
        (SimpleNamespace(id="m"), "m"),
        (SimpleNamespace(config={"model_id": "m"}), "m"),
        (SimpleNamespace(model=object()), None),
        (None, None),
        ("", None),
        (7, None),
    ],
)
def test_the_name_of_a_frameworks_model(model: Any, name: str | None) -> None:
    assert model_name(model) == name
