"""Content of calls: which part is recorded, and which part is exported."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tooltrace as tt
from tests.otel.conftest import Logs, exporting
from tooltrace.core.records import Gate, Message
from tooltrace.faults import faults
from tooltrace.otel import attributes as names
from tooltrace.otel import content_policy
from tooltrace.otel.content_policy import VARIABLE, Content, without_content, without_log_content
from tooltrace.otel.log_codec import from_log, to_log
from tooltrace.otel.span_codec import decode, encode
from tooltrace.otel.span_data import EventData, SpanData
from tooltrace.redact.snapshot import Json

SECRET = "the patient is called Ada"
MODES = [
    pytest.param(None, True, True, id="unset"),
    pytest.param("", True, True, id="empty"),
    pytest.param("true", True, True, id="true"),
    pytest.param(" TRUE ", True, True, id="TRUE"),
    pytest.param("SPAN_AND_EVENT", True, True, id="both"),
    pytest.param("span_only", True, False, id="spans"),
    pytest.param("EVENT_ONLY", False, True, id="events"),
    pytest.param("false", False, False, id="false"),
    pytest.param("NO_CONTENT", False, False, id="none"),
]


def answer() -> tt.ToolResponse:
    return tt.ToolResponse.partial(
        SECRET,
        {"name": SECRET},
        reason=SECRET,
        confidence=0.9,
        signals={SECRET: 0.9},
        sources=[tt.Source(type="database", id="p", label=SECRET)],
        stats={"note": SECRET},
        context={"note": SECRET},
        explanation=SECRET,
        next_action="continue",
    )


def run(store: Path, capture: Any = "full") -> tuple[Any, Any]:
    """The exported spans of a success and a failure whose content is known."""
    provider, exporter = exporting()
    tt.configure(store=store, tracer_provider=provider, capture=capture)

    @tt.trace_tool(name="t", version="2")
    def tool(question: str) -> Any:
        if question == "raise":
            raise ValueError("no such patient")
        return answer()

    tool(SECRET)
    with pytest.raises(ValueError, match="patient"):
        tool("raise")
    assert tt.flush(None)
    return exporter.get_finished_spans()


@pytest.mark.parametrize(("setting", "on_spans", "on_events"), MODES)
def test_the_variable_selects_the_signals_with_content(
    monkeypatch: pytest.MonkeyPatch, setting: str | None, on_spans: bool, on_events: bool
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if setting is not None:
        monkeypatch.setenv(VARIABLE, setting)
    assert (content_policy.current_policy().on_spans, content_policy.current_policy().on_events) == (
        on_spans,
        on_events,
    )


def test_an_invalid_variable_removes_content_and_warns_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    faults._warned.pop("content", None)
    monkeypatch.setenv(VARIABLE, "ture")
    with caplog.at_level(logging.WARNING, "tooltrace"):
        assert content_policy.current_policy() is Content.NO_CONTENT
        assert content_policy.current_policy() is Content.NO_CONTENT
    assert [record.getMessage() for record in caplog.records] == [
        f"tooltrace sends no content: {VARIABLE} must be one of true, false, NO_CONTENT, SPAN_ONLY, EVENT_ONLY, "
        "SPAN_AND_EVENT, got 'TURE' (logged once)"
    ]


@pytest.mark.parametrize(("setting", "on_spans", "on_events"), MODES)
def test_the_variable_limits_content_of_spans_but_not_of_the_store(
    store: Path, calls: Any, monkeypatch: pytest.MonkeyPatch, setting: str | None, on_spans: bool, on_events: bool
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if setting is not None:
        monkeypatch.setenv(VARIABLE, setting)
    good, bad = run(store)
    assert (SECRET in str(dict(good.attributes))) == on_spans
    assert ("gen_ai.tool.call.arguments" in bad.attributes) == on_spans
    assert (bad.status.description, bad.attributes["tooltrace.error.message"]) == ("no such patient",) * 2
    kept, failed = calls()
    assert (kept.arguments, kept.text) == (f'{{"question":"{SECRET}"}}', SECRET)
    assert failed.arguments == '{"question":"raise"}'


@pytest.mark.parametrize("setting", ["true", "SPAN_AND_EVENT", None])
def test_the_variable_cannot_extend_what_is_recorded(
    store: Path, calls: Any, monkeypatch: pytest.MonkeyPatch, setting: str | None
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if setting is not None:
        monkeypatch.setenv(VARIABLE, setting)
    good, bad = run(store, "metadata")
    assert SECRET not in str(dict(good.attributes)) + str(dict(bad.attributes)) + str(calls())


def test_a_tools_capture_setting_applies_to_its_spans_too(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "true")
    provider, exporter = exporting()
    tt.configure(store=store, tracer_provider=provider)
    tt.trace_tool(capture="metadata")(lambda question: SECRET)(SECRET)
    assert SECRET not in str(dict(exporter.get_finished_spans()[0].attributes))


def test_a_span_without_content_equals_one_with_capture_metadata(
    store: Path, calls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    run(store)
    full = [without_content(encode(call)) for call in calls()]
    run(store, "metadata")
    bare = [encode(call) for call in calls()[2:]]
    volatile = {"tooltrace.duration_ms"}
    for one, other in zip(full, bare, strict=True):
        assert set(one.attributes) == set(other.attributes)
        kept = {key: value for key, value in one.attributes.items() if key not in volatile}
        assert kept == {key: value for key, value in other.attributes.items() if key not in volatile}
        assert (one.status, one.description, one.name) == (other.status, other.description, other.name)


def test_a_span_without_content_is_read_back_as_a_call_without(store: Path, calls: Any) -> None:
    run(store)
    good, _ = calls()
    bare = decode(without_content(encode(good)))
    assert (bare.span_id, bare.status, bare.confidence, bare.arguments) == (good.span_id, "partial", 0.9, None)


def test_the_exported_span_and_the_span_data_agree(store: Path, calls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "false")
    spans = run(store)
    for span, call in zip(spans, calls(), strict=True):
        assert dict(span.attributes) == without_content(encode(call)).attributes


FOREIGN = (
    *("input.value", "output.value", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"),
    *("gen_ai.prompt.0.content", "gen_ai.completion.0.content", "llm.input_messages.0.message.content"),
    *("traceloop.entity.input", "traceloop.entity.output", "langfuse.observation.input", "tool_arguments"),
    *(
        "tool_response",
        "tool.parameters",
        "mcp.request.argument",
        "mcp.response.value",
        "llm.function_call",
        "llm.prompt_template.variables",
        "reranker.query",
        "embedding.embeddings.0.embedding.text",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "retrieval.documents.0.document.content",
    ),
)
KEPT = ("gen_ai.tool.name", "input.count", "gen_ai.usage.input_tokens", "gen_ai.prompt_name", "http.url", "outputs")


def test_content_of_external_spans_is_removed_too() -> None:
    attributes = dict.fromkeys((*FOREIGN, *KEPT), SECRET)
    form = SpanData(
        name="x",
        trace_id="1" * 32,
        span_id="1" * 16,
        start_ns=0,
        end_ns=1,
        attributes=attributes,
        events=(EventData(name="gen_ai.user.message", time_ns=0, attributes=attributes),),
    )
    bare = without_content(form)
    assert sorted(bare.attributes) == sorted(KEPT)
    assert sorted(bare.events[0].attributes) == sorted(KEPT)
    assert form.attributes == attributes


def test_events_of_external_calls_lose_their_content() -> None:
    """They are an attribute of the call, and their content has names of one word."""
    content = {"content": SECRET, "body": SECRET, "gen_ai.prompt": SECRET, "gen_ai.system": "x"}
    event = {"name": "gen_ai.tool.message", "at": "2026-01-01T00:00:00+00:00", "attributes": content}
    form = SpanData(
        name="x",
        trace_id="1" * 32,
        span_id="1" * 16,
        start_ns=0,
        end_ns=1,
        attributes={"otel.events": [event, {"name": "mine", "attributes": {"content": "kept"}}]},
        events=(EventData(name="gen_ai.tool.message", time_ns=0, attributes=content),),
    )
    bare = without_content(form)
    assert bare.attributes["otel.events"] == [
        {**event, "attributes": {"gen_ai.system": "x"}},
        {"name": "mine", "attributes": {"content": "kept"}},
    ]
    assert bare.events[0].attributes == {"gen_ai.system": "x"}
    assert without_content(bare) == bare


@given(st.dictionaries(st.sampled_from([*FOREIGN, *KEPT, *names.FIELDS.values()]), st.text()))
def test_removing_content_is_idempotent(attributes: dict[str, str]) -> None:
    once = content_policy.strip_content(attributes)
    assert content_policy.strip_content(once) == once
    assert once.items() <= attributes.items()


# log events

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def test_a_message_loses_its_text() -> None:
    message = Message(call_id="c", style="openai", text=SECRET, sha256="f", length=25, error=False, at=NOW)
    bare = without_log_content(to_log(message))
    assert SECRET not in str(bare)
    assert from_log(bare) == Message(call_id="c", style="openai", sha256="f", length=25, error=False, at=NOW)


def test_a_gate_keeps_only_the_names_of_changed_arguments() -> None:
    changed = Json(f'{{"name":"{SECRET}"}}')
    gate = Gate(call_id="c", span_id="1" * 16, kind="confirmation", asked_at=NOW, changed=changed)
    bare = from_log(without_log_content(to_log(gate)))
    assert isinstance(bare, Gate)
    assert bare.changed == '{"name":null}'


@pytest.mark.parametrize(("setting", "on_spans", "on_events"), MODES)
def test_exports_follow_the_variable(
    store: Path, calls: Any, monkeypatch: pytest.MonkeyPatch, setting: str | None, on_spans: bool, on_events: bool
) -> None:
    run(store)
    monkeypatch.delenv(VARIABLE, raising=False)
    if setting is not None:
        monkeypatch.setenv(VARIABLE, setting)
    message = Message(call_id="c", text=SECRET, sha256="f", length=25, error=False, at=NOW)
    span, log = content_policy.apply_policy(encode(calls()[0])), content_policy.outgoing_log(to_log(message))
    assert (SECRET in str(span), SECRET in str(log)) == (on_spans, on_events)


def test_exception_events_are_independent_of_the_variable(
    store: Path, logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "false")
    run(store)
    (event,) = logs()
    assert event.log_record.attributes["exception.message"] == "no such patient"
