"""Spans that real packages emitted, from the files in ``emitted``, which state the versions; and the rows that they become.

Each file was recorded from a run of an agent with a scripted model. Values too long to matter were left out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.spans.conftest import Take, calls_of, data
from tooltrace.core.records import Span
from tooltrace.ingest.spans.conventions.detect import is_tool_span
from tooltrace.otel.span_data import EventData, SpanData

EMITTED = Path(__file__).with_name("emitted")

EXPECTED: dict[str, list[list[Any]]] = json.loads(Path(__file__).with_name("emitted_rows.json").read_text())
"""Of each file its rows: tool, id of the model, conversation, agent, status, ending, code, arguments, result or text."""


def spans_of(name: str) -> list[SpanData]:
    """Return the spans of one file."""
    spans = json.loads((EMITTED / f"{name}.json").read_text())["spans"]
    optional: dict[str, Any] = {"parent_span_id": None, "attributes": {}, "events": []}
    read = [optional | span for span in spans]
    return [SpanData(**{**span, "events": tuple(EventData(**event) for event in span["events"])}) for span in read]


def rows(records: Any) -> list[list[Any]]:
    return [
        [call.tool, None if call.call_id == call.span_id else call.call_id, call.conversation_id, call.agent, call.status,
         call.ending, call.code, data(call.arguments), call.text if call.result is None else data(call.result)]
        for call in calls_of(records)
    ]  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_each_tool_call_is_one_row(name: str, take: Take) -> None:
    records = take(*spans_of(name))
    assert rows(records) == EXPECTED[name]
    assert {call.attempt for call in calls_of(records)} == {1}
    assert len(records) == len(spans_of(name))


@pytest.mark.parametrize("name", EXPECTED)
def test_agent_and_conversation_come_from_parents_of_an_earlier_batch(name: str, take: Take) -> None:
    spans = spans_of(name)
    parents = [span for span in spans if not is_tool_span(span.name, span.attributes)]
    tools = [span for span in spans if span not in parents]
    assert rows(take(parents, tools)) == EXPECTED[name]
    assert rows(take(*reversed(spans))) == EXPECTED[name][::-1]


def test_every_file_is_read() -> None:
    assert {file.stem for file in EMITTED.glob("*.json")} == set(EXPECTED)


def test_merged_responses_of_google_adk_are_a_span_and_not_a_call(take: Take) -> None:
    records = take(*spans_of("google_adk"))
    assert [record.name for record in records if isinstance(record, Span) and "merged" in record.name] == [
        "execute_tool (merged)"
    ]


def test_a_failed_fetch_may_be_retried(take: Take) -> None:
    failed = [call for call in calls_of(take(*spans_of("vercel_ai_6"))) if call.tool == "fetchPage"]
    assert [(call.error_type, call.error_message, call.retryable) for call in failed] == [
        ("TypeError", "fetch failed", True)
    ]


@pytest.mark.parametrize("name", EXPECTED)
def test_without_content_there_are_no_arguments_and_results(name: str, take: Take) -> None:
    words = {"Oslo", "Lyon", "degrees", "127.0.0.1", "plain text", "noon"}
    records = take(*spans_of(name), capture="metadata")
    assert [word for word in words if any(word in repr(record) for record in records)] == []
    assert len(calls_of(records)) == len(EXPECTED[name])


def test_events_with_arguments_and_results_are_not_stored_twice(take: Take) -> None:
    calls = calls_of(take(*spans_of("strands")))
    assert [call for call in calls if "Oslo" in (call.attributes or "") or "Nowhere" in (call.attributes or "")] == []
