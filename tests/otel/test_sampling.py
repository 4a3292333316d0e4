"""Sampling decides about the export. The store has every call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ALWAYS_ON,
    ParentBased,
    ParentBasedTraceIdRatio,
    Sampler,
    TraceIdRatioBased,
)

import tooltrace as tt
from tests.otel.conftest import exporting

CALLS = 200
SAMPLERS = [
    pytest.param(ALWAYS_ON, (CALLS, CALLS), id="on"),
    pytest.param(ALWAYS_OFF, (0, 0), id="off"),
    pytest.param(TraceIdRatioBased(0.0), (0, 0), id="ratio 0"),
    pytest.param(TraceIdRatioBased(0.5), (50, 150), id="ratio 1/2"),
    pytest.param(ParentBased(ALWAYS_OFF), (0, 0), id="parent, off"),
    pytest.param(ParentBasedTraceIdRatio(0.25), (20, 90), id="parent, ratio 1/4"),
]


@pytest.mark.parametrize(("sampler", "expected"), SAMPLERS)
def test_a_sampler_costs_no_row(store: Path, calls: Any, sampler: Sampler, expected: tuple[int, int]) -> None:
    provider, exporter = exporting(sampler=sampler)
    tt.configure(store=store, tracer_provider=provider)
    tool = tt.trace_tool(lambda number: number)
    for number in range(CALLS):
        tool(number)
    rows = {call.span_id: call for call in calls()}
    spans = exporter.get_finished_spans()
    assert len(rows) == CALLS
    assert expected[0] <= len(spans) <= expected[1]
    assert {f"{span.context.span_id:016x}" for span in spans} <= set(rows)
    assert all(call.arguments is not None and call.status == "success" for call in rows.values())
    with tt.connect() as db:
        assert db.execute("SELECT count(*) FROM tool_calls").fetchone() == (CALLS,)


def test_attributes_set_on_an_unsampled_span_are_in_the_row(store: Path, calls: Any) -> None:
    from opentelemetry import trace as trace_api

    tt.configure(store=store, tracer_provider=exporting(sampler=ALWAYS_OFF)[0])

    @tt.trace_tool
    def tool() -> None:
        trace_api.get_current_span().set_attribute("shelf", 7)

    tool()
    assert calls()[0].attributes == '{"shelf":7}'


def test_calls_of_an_unsampled_request_are_stored(store: Path, calls: Any) -> None:
    provider, exporter = exporting(sampler=ParentBased(ALWAYS_OFF))
    tt.configure(store=store, tracer_provider=provider)

    @tt.trace_tool
    def inner() -> int:
        return 1

    @tt.trace_tool
    def outer() -> int:
        return inner()

    with provider.get_tracer("agent").start_as_current_span("invoke_agent") as root:
        outer()
    by_tool = {call.tool: call for call in calls()}
    assert by_tool["inner"].parent_span_id == by_tool["outer"].span_id
    assert by_tool["outer"].trace_id == f"{root.get_span_context().trace_id:032x}"
    assert exporter.get_finished_spans() == ()
