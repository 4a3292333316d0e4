"""One trace over threads and processes: W3C trace context in and out, and baggage for who calls."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any

import opentelemetry.context as context_api
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import baggage, propagate
from opentelemetry.context.context import Context
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler, SamplingResult

import tooltrace as tt
from tests.conftest import records
from tests.otel.conftest import exporting
from tooltrace.core.records import ToolCall
from tooltrace.recording import context

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HEADERS = {
    "traceparent": f"00-{TRACE}-{PARENT}-01",
    "baggage": "gen_ai.conversation.id=chat%203,gen_ai.agent.name=clerk",
}


@contextmanager
def request(headers: dict[str, str]) -> Any:
    """Read the headers of a request as a server does."""
    token = context_api.attach(propagate.extract(headers, context=Context()))
    try:
        yield
    finally:
        context_api.detach(token)


@tt.trace_tool
def headers_out() -> dict[str, str]:
    """Return the headers of an outgoing request of a tool."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier


def test_a_call_is_a_child_of_its_request(store: Path, calls: Any) -> None:
    with request(HEADERS):
        headers_out()
    (call,) = calls()
    assert (call.trace_id, call.parent_span_id) == (TRACE, PARENT)


@pytest.mark.parametrize("provided", [True, False])
def test_outgoing_requests_carry_the_tools_span(store: Path, calls: Any, provided: bool) -> None:
    if provided:
        tt.configure(store=store, tracer_provider=exporting()[0])
    with request(HEADERS):
        sent = headers_out()
    (call,) = calls()
    assert sent["traceparent"].startswith(f"00-{TRACE}-{call.span_id}-")
    assert sent["baggage"] == "gen_ai.conversation.id=chat+3,gen_ai.agent.name=clerk"


CHILD = """
import json, os, sys
import opentelemetry.context as context_api
from opentelemetry import propagate
import tooltrace as tt

tt.configure(store=sys.argv[1])
context_api.attach(propagate.extract(json.loads(sys.argv[2])))

@tt.trace_tool
def inner():
    return 1

inner()
tt.shutdown()
"""


@tt.trace_tool
def outer(store: str) -> None:
    """A tool that hands its work to another process."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    subprocess.run([sys.executable, "-c", CHILD, store, json.dumps(carrier)], check=True)


@pytest.mark.processes
def test_a_trace_continues_in_another_process(store: Path, calls: Any) -> None:
    with request(HEADERS):
        outer(str(store))
    by_tool = {call.tool: call for call in calls()}
    assert by_tool["inner"].parent_span_id == by_tool["outer"].span_id
    assert by_tool["inner"].pid != by_tool["outer"].pid
    assert {call.trace_id for call in by_tool.values()} == {TRACE}
    assert {(call.conversation_id, call.agent) for call in by_tool.values()} == {("chat 3", "clerk")}


def test_a_trace_continues_in_a_pool_with_the_passed_context(store: Path, calls: Any) -> None:
    @tt.trace_tool
    def fan_out() -> None:
        with ThreadPoolExecutor(4) as pool:
            for job in [pool.submit(copy_context().run, headers_out) for _ in range(8)]:
                job.result()
            pool.submit(headers_out).result()

    with request(HEADERS):
        fan_out()
    (parent,) = (call for call in calls() if call.tool == "fan_out")
    inner = [call for call in calls() if call.tool == "headers_out"]
    assert sum(call.parent_span_id == parent.span_id for call in inner) == 8
    alone = [call for call in inner if call.parent_span_id is None]
    assert len(alone) == 1
    assert alone[0].trace_id != TRACE
    assert len({call.span_id for call in inner}) == 9


# baggage


def test_baggage_fills_in_missing_context(store: Path, calls: Any) -> None:
    with request(HEADERS):
        headers_out()
        with tt.context(conversation_id="mine"):
            headers_out()
        with tt.context(agent="other"):
            headers_out()
    headers_out()
    recorded = [(call.conversation_id, call.agent) for call in calls()]
    assert recorded == [("chat 3", "clerk"), ("mine", "clerk"), ("chat 3", "other"), (None, None)]


def test_the_agent_of_the_baggage_is_there_for_samplers(store: Path) -> None:
    class Seen(Sampler):
        attributes: Any = None

        def should_sample(self, *args: Any, **kwargs: Any) -> SamplingResult:
            Seen.attributes = args[4] if len(args) > 4 else kwargs["attributes"]
            return ALWAYS_ON.should_sample(*args, **kwargs)

        def get_description(self) -> str:
            return "seen"

    tt.configure(store=store, tracer_provider=exporting(sampler=Seen())[0])
    with request(HEADERS):
        headers_out()
    assert Seen.attributes["gen_ai.agent.name"] == "clerk"


def test_attempts_are_counted_within_the_conversation_of_the_baggage(store: Path, calls: Any) -> None:
    for conversation in ("a", "b", "a"):
        with request({"baggage": f"gen_ai.conversation.id={conversation}"}), tt.context(call_id="call_0"):
            headers_out()
    assert [(call.conversation_id, call.attempt) for call in calls()] == [("a", 1), ("b", 1), ("a", 2)]


def test_a_model_message_belongs_to_the_call_of_its_conversation(store: Path, calls: Any) -> None:
    for conversation in ("a", "b"):
        with request({"baggage": f"gen_ai.conversation.id={conversation}"}), tt.context(call_id="call_0"):
            headers_out()
    with request({"baggage": "gen_ai.conversation.id=a"}):
        tt.ToolResponse.success("ok").to_message("call_0")
    first = calls()[0]
    (message,) = (record for record in records(store) if type(record).__name__ == "Message")
    assert message.span_id == first.span_id


@pytest.mark.parametrize("value", [7, None, "", b"x", ["a"]])
def test_invalid_names_in_baggage_are_ignored(store: Path, calls: Any, value: Any) -> None:
    token = context_api.attach(baggage.set_baggage("gen_ai.agent.name", value))
    try:
        headers_out.__wrapped__()
        tt.trace_tool(lambda: 1)()
    finally:
        context_api.detach(token)
    assert calls()[0].agent is None


@given(names=st.dictionaries(st.sampled_from(["gen_ai.conversation.id", "gen_ai.agent.name", "other"]), st.text()))
def test_any_text_round_trips_in_baggage(names: dict[str, str]) -> None:
    outgoing = Context()
    for key, value in names.items():
        outgoing = baggage.set_baggage(key, value, outgoing)
    carrier: dict[str, str] = {}
    try:
        propagate.inject(carrier, outgoing)
    except UnicodeEncodeError:
        return
    known = context.with_baggage(context.EMPTY, propagate.extract(carrier, Context()))
    arrived = baggage.get_all(propagate.extract(carrier, Context()))
    assert known.conversation_id == (arrived.get("gen_ai.conversation.id") or None)
    assert known.agent == (arrived.get("gen_ai.agent.name") or None)


def test_without_baggage_nothing_is_made() -> None:
    with tt.context(agent="a"):
        assert context.call_context(Context()) is context.current.get()


def test_the_place_of_baggage_in_a_context_is_where_the_api_puts_it() -> None:
    made = baggage.set_baggage("k", "v", Context())
    assert made[context.BAGGAGE_KEY] == {"k": "v"}


def test_a_call_without_a_trace_begins_one(store: Path, calls: Any) -> None:
    with request({"traceparent": "00-" + "0" * 32 + "-" + "0" * 16 + "-01"}):
        headers_out()
    (call,) = calls()
    assert isinstance(call, ToolCall)
    assert call.parent_span_id is None
    assert int(call.trace_id, 16)
