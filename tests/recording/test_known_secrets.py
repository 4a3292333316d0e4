"""A secret that one field shows to be one is removed from every field, attempt and child."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.recording.config import get_recorder
from tooltrace.redact.known_values import KnownValues, is_distinct, removed_values

Calls = Callable[[], list[ToolCall]]
SECRET = "correct-horse-battery"


@pytest.mark.parametrize("value", [SECRET, 'quoted"and\\back\nline9', "pässwörter-Ωmega"])
def test_a_password_is_in_no_field_of_its_call_and_of_the_calls_inside(store: Path, calls: Calls, value: str) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tt.configure(store=store, tracer_provider=provider)

    @tt.trace_tool
    def request(body: str) -> dict[str, Any]:
        return {"echo": body, "raw": json.dumps({"sent": body})}

    @tt.trace_tool
    def step(text: str) -> dict[str, Any]:
        return request(text)

    @tt.trace_tool
    def login(user: str, password: str) -> None:
        trace.get_current_span().add_event("asked", {"said": f"with {password}"})
        step(f"user={user} and {password}")
        raise PermissionError(f"login of {user} with {password} refused")

    with pytest.raises(PermissionError), tt.context(call_id="c1"):
        login("bob", value)
    log = tt.TraceLogger()
    get_recorder().record_model_message("c1", f"{value} again", style="plain")
    with tt.context(call_id="c1"):
        log.record("login", f"still {value}", arguments={"user": "bob"})
    rows = calls()
    assert {call.tool for call in rows} == {"login", "step", "request"}
    told = rows[-1] if rows[-1].error_message else next(call for call in rows if call.error_message)
    assert told.error_message == "login of bob with [redacted] refused"
    tt.flush()
    everything = "".join(path.read_text("utf-8", "replace") for path in store.parent.rglob("*.jsonl"))
    everything += "".join(
        f"{span.attributes}{span.status.description}{span.events[0].attributes if span.events else ''}"
        for span in exporter.get_finished_spans()
    )
    everything += "".join(map(str, rows))
    for form in {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}:
        assert form not in everything


@pytest.mark.parametrize(
    ("value", "is_secret"),
    [
        (SECRET, True), ("hunter2hunter2", True), ("QWERTZUIOP", True), ("s3cr3t!!", True), ("two words-9 and more", True),
        ("short-1", False), ("production", False), ("Production", False), ("12345678", False), ("2026-03-01T12:00:00Z", False),
        ("3.14159265", False), ("/etc/passwd.d", False), ("C:\\secrets\\key", False), ("~/.ssh/id_rsa", False), ("conf/app/secret.txt", False),
    ],
)  # fmt: skip
def test_words_numbers_and_paths_stay_elsewhere(calls: Calls, value: str, is_secret: bool) -> None:
    assert is_distinct(value) == is_secret

    @tt.trace_tool
    def login(password: str) -> str:
        return f"about {value}, too"

    login(value)
    (call,) = calls()
    assert call.arguments == '{"password":"[redacted]"}'
    assert call.text == ("about [redacted], too" if is_secret else f"about {value}, too")


def test_without_content_an_error_keeps_no_secret_of_the_arguments(store: Path, calls: Calls) -> None:
    tt.configure(store=store, capture="metadata")

    @tt.trace_tool
    def login(password: str) -> None:
        raise PermissionError(f"with {password} refused")

    with pytest.raises(PermissionError):
        login(SECRET)
    (call,) = calls()
    assert (call.error_message, call.arguments, call.redacted) == ("with [redacted] refused", None, True)


def test_values_of_names_that_are_no_secrets_stay(calls: Calls) -> None:
    given = {
        "cookie_policy": "strict-same-site-1",
        "credential_type": "service-account-2",
        "secret_santa": "bob-and-alice-3",
    }

    @tt.trace_tool
    def show(cookie_policy: str, credential_type: str, secret_santa: str) -> str:
        return f"{cookie_policy} {credential_type} {secret_santa}"

    show(**given)
    (call,) = calls()
    assert json.loads(call.arguments or "") == given
    assert (call.text, call.redacted) == (" ".join(given.values()), None)


@pytest.mark.parametrize(
    ("before", "after", "removed"),
    [
        ({"a": [{"password": "x9-y8-z7-w6"}]}, {"a": [{"password": "[redacted]"}]}, ["x9-y8-z7-w6"]),
        ("pwd=x9-y8-z7-w6; ok", "pwd=[redacted]; ok", ["x9-y8-z7-w6"]),
        ("[redacted] x9-y8-z7-w6", "[redacted] [redacted]", ["x9-y8-z7-w6"]),
        ('{"k": "x9-y8-z7-w6"}', '{"k":"[redacted]"}', ["x9-y8-z7-w6"]),
        ({"Authorization": "Bearer abc.def-123"}, {"Authorization": "[redacted]"}, ["Bearer abc.def-123", "abc.def-123"]),
        ({"secret": {"a": "x9-y8-z7-w6"}}, {"secret": "[redacted]"}, ["x9-y8-z7-w6"]),
        ("all of it", "another text by a function", []),
    ],
)  # fmt: skip
def test_what_was_removed_is_found(before: Any, after: Any, removed: list[str]) -> None:
    assert list(removed_values(before, after)) == removed


def test_the_longest_value_is_removed_first() -> None:
    assert KnownValues(["Bearer abc.def-123", "abc.def-123"]).removed_from("Bearer abc.def-123") == "[redacted]"
