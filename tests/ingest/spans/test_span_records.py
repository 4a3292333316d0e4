"""Other spans are stored unchanged, except for secrets and long values."""

from __future__ import annotations

import pytest

from tests.ingest.spans.conftest import START, Take, data, span
from tooltrace.core.records import Span
from tooltrace.otel.span_data import EventData, LinkData


def test_every_part_of_it(take: Take) -> None:
    parent = span("agent")
    form = span(
        "chat",
        parent,
        kind="client",
        status="error",
        description="rate limit",
        attributes={"gen_ai.request.model": "m", "n": 3, "list": [1, "a"], "deep": {"x": None, "y": b"\xff"}},
        events=(EventData(name="retry", time_ns=START + 1_500, attributes={"wait": 2}),),
        links=(LinkData(trace_id="2" * 32, span_id="3" * 16, attributes={"why": "batch"}),),
        resource={"service.name": "shop", "host.name": "box", "process.pid": 7},
        scope="lib",
        scope_version="1.2",
    )
    (record,) = take(form)
    assert isinstance(record, Span)
    assert (record.trace_id, record.span_id, record.parent_span_id) == (form.trace_id, form.span_id, parent.span_id)
    assert (record.name, record.span_kind, record.status, record.status_message) == (
        "chat",
        "client",
        "error",
        "rate limit",
    )
    assert record.started_at.timestamp() == form.start_ns / 1e9
    assert record.duration_ms == (form.end_ns - form.start_ns) / 1e6
    assert data(record.attributes) == {**form.attributes, "deep": {"x": None, "y": "base64:/w=="}}
    (event,) = data(record.events)
    assert (event["name"], event["attributes"], event["at"][-13:]) == ("retry", {"wait": 2}, ".000001+00:00")
    assert data(record.links) == [{"trace_id": "2" * 32, "span_id": "3" * 16, "attributes": {"why": "batch"}}]
    assert (record.scope, record.scope_version) == ("lib", "1.2")
    assert (record.service, record.host, record.pid) == ("shop", "box", 7)


def test_unknown_values_are_none(take: Take) -> None:
    (record,) = take(span("work", resource={"service.name": "unknown_service"}, scope=None))
    assert isinstance(record, Span)
    names = (
        "parent_span_id",
        "status",
        "status_message",
        "attributes",
        "events",
        "links",
        "scope",
        "service",
        "host",
        "pid",
    )
    assert [getattr(record, name) for name in names] == [None] * len(names)


def test_a_clock_set_back_gives_no_negative_duration(take: Take) -> None:
    (record,) = take(span("work", end_ns=START - 5))
    assert record.duration_ms is None


def test_secrets_and_stacks_are_left_out(take: Take) -> None:
    secret = "sk-abcdefghijklmnopqrstuvwx"
    exception = {"exception.type": "E", "exception.message": secret, "exception.stacktrace": "line of code"}
    (record,) = take(
        span(
            secret,
            attributes={"llm.api_key": "x", "prompt": secret},
            events=(EventData(name="exception", time_ns=START, attributes=exception),),
            status="error",
            description=f"{secret} Traceback (most recent call last): line of code",
        )
    )
    assert secret not in str(record)
    assert "line of code" not in str(record)
    assert isinstance(record, Span)
    assert data(record.attributes)["llm.api_key"] == "[redacted]"


def test_a_long_attribute_is_cut(take: Take) -> None:
    (record,) = take(span("chat", attributes={"prompt": "x" * 100_000}), field_limit=1000)
    assert isinstance(record, Span)
    assert 900 < len(record.attributes or "") < 1200


def test_capture_metadata_has_no_prompts(take: Take) -> None:
    span_attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": 5,
        "gen_ai.input.messages": "needle",
        "gen_ai.system_instructions": "needle",
        "llm.input_messages.0.message.content": "needle",
        "traceloop.entity.input": "needle",
        "gen_ai.prompt.0.content": "needle",
        "pydantic_ai.all_messages": "needle",
        "user.note": "needle",
        "parts": ["needle"],
    }
    event = EventData(name="gen_ai.content.prompt", time_ns=START, attributes={"gen_ai.prompt": "needle"})
    (record,) = take(span("chat m", attributes=span_attributes, events=(event,)), capture="metadata")
    assert "needle" not in str(record)
    assert isinstance(record, Span)
    assert data(record.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": 5,
    }


HIDDEN = (
    "mcp.request.argument",
    "mcp.response.value",
    "mcp.resource.uri",
    "db.operation.parameter.name",
    "rpc.request.metadata.x",
    "http.response.header.x",
    "code.stacktrace",
    "error.details",
    "gen_ai.system_instructions",
)
METADATA_KEYS = (
    "mcp.method.name",
    "db.operation.name",
    "rpc.method",
    "http.response.status_code",
    "code.function",
    "server.address",
)


def test_capture_metadata_matches_complete_names(take: Take) -> None:
    """Names of operations are metadata, although content has the same prefix."""
    secret = "sesame-4711"
    span_attributes = {**dict.fromkeys(HIDDEN, secret), **dict.fromkeys(METADATA_KEYS, "known")}
    event = EventData(name="e", time_ns=START, attributes=span_attributes)
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add"}
    records = take(
        span("other", attributes=span_attributes, events=(event,)),
        span("execute_tool add", attributes={**span_attributes, **tool}, events=(event,)),
        capture="metadata",
    )
    assert len(records) == 2
    assert secret not in repr(records)
    assert sorted(data(records[0].attributes)) == sorted(METADATA_KEYS)


@pytest.mark.parametrize("messages", [40, 400])
def test_the_usage_of_a_model_call_remains_beside_a_long_prompt(take: Take, messages: int) -> None:
    prompt = {f"llm.input_messages.{number}.message.content": "x " * 2500 for number in range(messages)}
    (record,) = take(span("chat", attributes={**prompt, "llm.token_count.prompt": 90_000, "llm.model_name": "m"}))
    assert isinstance(record, Span)
    assert len(record.attributes or "") < 100_000, "the attributes were cut"
    assert data(record.attributes)["llm.token_count.prompt"] == 90_000
    assert data(record.attributes)["llm.model_name"] == "m"
