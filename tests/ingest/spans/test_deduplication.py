"""A call that several spans show is one record, and what only looks like one is not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ingest.spans.conftest import START, Take, calls_of, data, mcp, span, tool
from tooltrace.core.records import Span
from tooltrace.otel.span_data import SpanData


def test_the_three_spans_of_fastmcp_are_one_call(take: Take) -> None:
    client = mcp("add", scope="fastmcp")
    send = mcp(None, client, scope="mcp-python-sdk")
    failed = {"error.type": "tool_error", "fastmcp.server.name": "shop"}
    error = ("fastmcp.exceptions.ToolError", "no such file: a.txt")
    server = mcp("add", send, kind="server", scope="fastmcp", attributes=failed, error=error)
    records = take(server, send, client)
    (call,) = calls_of(records)
    assert (call.tool, call.span_id, call.parent_span_id) == ("add", client.span_id, None)
    assert (call.status, call.error_type, call.code) == ("error", "fastmcp.exceptions.ToolError", "NOT_FOUND")
    assert data(call.attributes)["fastmcp.server.name"] == "shop"
    assert call.duration_ms == (client.end_ns - client.start_ns) / 1e6
    assert sorted(r.span_id for r in records) == sorted(f.span_id for f in (client, send, server)), "none is lost"


def test_the_record_has_the_best_value_of_each_span(take: Take) -> None:
    agent = span("invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent"})
    outer = tool("shop_add", agent, "c1", result="failed", attributes={"gen_ai.agent.name": "clerk", "x": 1, "y": 1})
    inner = mcp("add", outer, scope="mcp", attributes={"x": 2, "z": 2}, error=("httpx.ReadTimeout", "no answer"))
    (call,) = calls_of(take(agent, outer, inner))
    assert (call.tool, call.call_id, call.agent, call.span_id) == ("shop_add", "c1", "clerk", outer.span_id)
    assert (call.parent_span_id, call.trace_id) == (agent.span_id, outer.trace_id)
    assert (call.status, call.code, call.error_message) == ("error", "TIMEOUT", "no answer")
    assert data(call.attributes) == {"x": 1, "y": 1, "z": 2, "mcp.method.name": "tools/call", "otel.scope.name": "lib"}


def test_the_result_is_that_of_the_outermost_span_that_has_one(take: Take) -> None:
    outer = tool("add", None, "c1")
    inner = tool("add", outer, scope="other", result={"ok": False, "error": "not_in_channel"})
    (call,) = calls_of(take(outer, inner))
    assert (call.status, call.code, call.call_id) == ("error", "not_in_channel", "c1")
    outer = tool("add", result=3)
    (call,) = calls_of(take(outer, tool("add", outer, scope="other", result=4)))
    assert data(call.result) == 3


def test_the_most_detailed_span_of_a_failure_counts(take: Take) -> None:
    outer = tool("read", error=("FileNotFoundError", "a.txt"))
    inner = mcp("read", outer, scope="mcp", status="error", attributes={"error.type": "tool_error"})
    (call,) = calls_of(take(outer, inner))
    assert (call.code, call.error_type, call.error_message) == ("NOT_FOUND", "FileNotFoundError", "a.txt")


def test_transport_between_them_changes_nothing(take: Take) -> None:
    client = mcp("add")
    post = span("POST", client, kind="client", attributes={"http.request.method": "POST"})
    served = span("POST /mcp", post, kind="server", attributes={"http.route": "/mcp"})
    server = mcp("add", served, kind="server")
    assert len(calls_of(take(client, post, served, server))) == 1


@pytest.mark.parametrize(
    "between",
    [{"gen_ai.operation.name": "invoke_agent"}, {"openinference.span.kind": "AGENT"}, {"traceloop.span.kind": "agent"}],
)
def test_an_agent_inside_a_tool_makes_calls_of_its_own(take: Take, between: dict[str, str]) -> None:
    outer = tool("search")
    agent = span("agent", outer, attributes=between)
    inner = tool("search", agent, scope="other")
    assert len(calls_of(take(outer, agent, inner))) == 2


def test_a_tool_that_calls_another_is_two_calls(take: Take) -> None:
    outer = tool("plan")
    inner = mcp("add", outer, scope="mcp")
    assert [call.tool for call in calls_of(take(outer, inner))] == ["plan", "add"]


def test_a_tool_that_calls_itself_is_two_calls(take: Take) -> None:
    outer = tool("count", arguments={"n": 2})
    inner = tool("count", outer, arguments={"n": 1})
    assert len(calls_of(take(outer, inner))) == 2
    outer = tool("count")
    assert len(calls_of(take(outer, tool("count", outer)))) == 2, "one instrumentation does not show a call twice"


def test_two_calls_of_the_model_are_two_though_one_is_in_the_other(take: Take) -> None:
    outer = tool("search", None, "c1")
    assert len(calls_of(take(outer, tool("search", outer, "c2", scope="other")))) == 2


def test_an_outer_that_knows_fewer_arguments_is_the_same_call(take: Take) -> None:
    outer = tool("add", arguments={"a": 1})
    assert len(calls_of(take(outer, tool("add", outer, scope="other", arguments={"a": 1, "b": 0})))) == 1
    outer = tool("add", arguments={"a": 1})
    assert len(calls_of(take(outer, tool("add", outer, scope="other", arguments={"a": 2, "b": 0})))) == 2


def test_a_retry_of_the_same_call_is_its_next_attempt(take: Take) -> None:
    agent = span("agent")
    first = tool("add", agent, "c1", error=("TimeoutError", "slow"))
    second = tool("add", agent, "c1", start_ns=START + 5_000_000, result=3)
    found = calls_of(take(second, first, agent))
    assert sorted((call.attempt, call.status) for call in found) == [(1, "error"), (2, "success")]


@pytest.mark.parametrize("split", [0, 1, 2])
def test_an_id_that_comes_again_in_a_conversation_is_another_call_unless_that_one_failed(
    take: Take, split: int
) -> None:
    def turn(number: int, **more: Any) -> SpanData:
        talk = {"gen_ai.conversation.id": "talk"}
        return tool(
            "add", None, "call_0", trace_id=f"{number:032x}", start_ns=START + number * 10**9, attributes=talk, **more
        )

    spans = [turn(1, arguments={"a": 1}, result=1), turn(2, arguments={"a": 2}, error=("TimeoutError", "slow"))]
    spans += [turn(3, arguments={"a": 2}, result=2), turn(4, arguments={"a": 2}, result=2)]
    found = calls_of(take(spans[:split], spans[split:]))
    own = [call.first_span_id for call in found]
    assert own == [None, found[1].span_id, found[1].span_id, found[3].span_id]
    assert [call.attempt for call in found] == [1, 1, 2, 1]


@pytest.mark.parametrize("split", [0, 1, 2, 3])
def test_retries_inside_one_call_are_attempts_of_it(take: Take, split: int) -> None:
    outer = tool("add", None, "c1", result=3)
    first = mcp("add", outer, scope="mcp", end_ns=START + 10_000_000, error=("TimeoutError", "slow"))
    second = mcp("add", outer, scope="mcp", end_ns=START + 20_000_000)
    spans = [first, second, outer]
    found = calls_of(take(spans[:split], spans[split:]))
    assert len(found) == 2
    assert [call.status for call in found].count("error") == 1
    if split == 0:
        assert [(call.call_id, call.attempt) for call in found] == [("c1", 1), ("c1", 2)]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)])
def test_one_span_a_batch_is_still_one_call(take: Take, order: tuple[int, ...]) -> None:
    client = tool("add", None, "c1")
    send = mcp(None, client, scope="sdk")
    server = mcp("add", send, kind="server")
    spans = [client, send, server]
    records = take(*([spans[number]] for number in order))
    assert len(calls_of(records)) == (2 if order == (0, 2, 1) else 1)
    assert len(records) == 3


def test_repeated_spans_give_equal_records(take: Take) -> None:
    outer = tool("add", None, "c1")
    inner = mcp("add", outer, scope="mcp")
    once = take([inner, outer])
    assert take([inner, outer], [inner, outer]) == once + once
    assert [type(r) for r in take([inner], [outer], [inner, outer])] == [type(r) for r in take([inner], [outer])] * 2
    assert len(take([inner, inner, outer])) == 2


def test_two_rows_that_turn_out_to_be_one_call_stay_the_rows_that_they_are(take: Take) -> None:
    client = tool("add", None, "c1")
    send = mcp(None, client, scope="sdk")
    server = mcp("add", send, kind="server")
    first, second, _, *again = take([server], [client], [send], [server], [client])
    assert again == [first, second]


def test_calls_side_by_side_stay_apart(take: Take) -> None:
    agent = span("agent")
    spans: list[SpanData] = [agent]
    for _ in range(20):
        client = mcp("add", agent)
        spans += [mcp("add", client, kind="server"), client]
    assert len(calls_of(take(spans))) == 20


def test_a_cycle_of_parents_terminates(take: Take) -> None:
    first = tool("add", span_id="00000000000000aa", parent_span_id="00000000000000bb")
    second = tool("add", span_id="00000000000000bb", parent_span_id="00000000000000aa", scope="other")
    own = tool("add", span_id="00000000000000cc", parent_span_id="00000000000000cc")
    assert len(take(first, second, own)) == 3


def test_spans_of_other_traces_have_nothing_to_do_with_each_other(take: Take) -> None:
    outer = tool("add")
    inner = mcp("add", outer, scope="mcp", trace_id="1" * 32)
    assert len(calls_of(take(outer, inner))) == 2


def test_duplicates_are_stored_as_spans(take: Take) -> None:
    outer = tool("add")
    inner = mcp("add", outer, scope="mcp", kind="client")
    (kept,) = [record for record in take(outer, inner) if isinstance(record, Span)]
    assert (kept.name, kept.span_kind, kept.parent_span_id) == ("tools/call add", "client", outer.span_id)


@pytest.mark.long
def test_a_batch_of_any_size_loses_none(take: Take) -> None:
    spans: list[SpanData] = []
    for _ in range(10_500):
        client = mcp("add")
        spans += [mcp("add", client, kind="server"), client]
    assert len(calls_of(take(spans))) == 10_500
