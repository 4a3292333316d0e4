"""The steps of a trace and of a conversation: attempts and spans of other libraries."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.queries.answers import run
from tooltrace.core.records import Json, Span

from .conftest import START

TRACE, OTHER = "a" * 32, "b" * 32


def span(number: int, attributes: str = "{}", **given: Any) -> Span:
    known = {"trace_id": TRACE, "span_id": f"{number:016x}", "started_at": START, "duration_ms": 5.0, "name": "span"}
    return Span(**{**known, "attributes": Json(attributes), **given})


def test_the_steps_of_a_trace_are_its_attempts_and_spans_in_order_of_time(engine, make):
    con = engine(
        make(
            tool="find",
            call_id="c",
            trace_id=TRACE,
            parent_span_id=f"{1:016x}",
            started_at=START + timedelta(seconds=2),
        ),
        make(tool="elsewhere", trace_id=OTHER),
        span(1, name="invoke_agent clerk"),
        span(2, name="GET", started_at=START + timedelta(seconds=1)),
    )
    found = run(con, "steps", trace_id=TRACE).project("kind, tool, span, parent_span_id").fetchall()
    assert [row[1:] for row in found] == [
        (None, "invoke_agent clerk", None),
        (None, "GET", None),
        ("find", None, f"{1:016x}"),
    ]
    assert run(con, "steps").fetchall() == []


def test_the_steps_of_a_conversation_include_the_spans_of_its_traces(engine, make):
    con = engine(
        make(tool="find", trace_id=TRACE, conversation_id="chat"),
        make(tool="alone", trace_id=OTHER, conversation_id="chat", started_at=START + timedelta(seconds=5)),
        make(tool="stranger", trace_id="c" * 32, conversation_id="another"),
        span(1, started_at=START + timedelta(seconds=1)),
        span(2, trace_id="c" * 32),
    )
    found = run(con, "steps", conversation="chat").project("tool, span_id").fetchall()
    assert [row[0] for row in found] == ["find", None, "alone"]


@pytest.mark.parametrize(
    ("attributes", "is_found"),
    [
        ('{"gen_ai.conversation.id": "chat"}', True),
        ('{"gen_ai.operation.name": "chat", "session.id": "chat"}', True),
        ('{"session.id": "chat"}', False),
        ('{"note": "chat"}', False),
        ('{"gen_ai.conversation.id": "chatty"}', False),
    ],
)
def test_the_steps_of_a_conversation_include_traces_without_a_tool_call(engine, make, attributes, is_found):
    con = engine(
        make(tool="find", trace_id=TRACE, conversation_id="chat"),
        span(1, attributes, trace_id=OTHER),
        span(2, trace_id=OTHER, parent_span_id=f"{1:016x}", name="GET"),
    )
    found = run(con, "steps", conversation="chat").project("coalesce(tool, span)").fetchall()
    assert {row[0] for row in found} == ({"find", "span", "GET"} if is_found else {"find"})
    assert run(con, "steps", conversation="unknown").fetchall() == []


def test_a_conversation_whose_id_json_escapes_is_found(engine):
    con = engine(span(1, '{"gen_ai.conversation.id": "a\\"b"}'))
    assert len(run(con, "steps", conversation='a"b').fetchall()) == 1


@pytest.mark.parametrize(
    ("attributes", "kind", "model"),
    [
        ('{"gen_ai.operation.name": "invoke_agent"}', "agent", None),
        (
            '{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.model": "m-1"}',
            "model",
            "m-1",
        ),
        ('{"openinference.span.kind": "LLM", "llm.model_name": "m"}', "model", "m"),
        ('{"openinference.span.kind": "CHAIN"}', "workflow", None),
        ('{"openinference.span.kind": "RETRIEVER"}', "retrieval", None),
        ('{"traceloop.span.kind": "workflow"}', "workflow", None),
        ('{"langfuse.observation.type": "generation"}', "model", None),
        ('{"ai.operationId": "ai.streamText.doStream", "ai.model.id": "m"}', "model", "m"),
        ('{"ai.operationId": "ai.embedMany"}', "retrieval", None),
        ('{"http.request.method": "GET"}', "span", None),
        ("{}", "span", None),
    ],
)
def test_the_conventions_of_a_span_give_its_kind(engine, attributes, kind, model):
    con = engine(span(1, attributes))
    assert run(con, "steps", trace_id=TRACE).project("kind, model").fetchall() == [(kind, model)]
