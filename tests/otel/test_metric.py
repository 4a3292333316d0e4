"""The duration metric: as the conventions have it, and as the application's views change it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics.view import DropAggregation, ExplicitBucketHistogramAggregation, View

import tooltrace as tt
from tests.otel.conftest import exporting
from tooltrace.otel import attributes as names
from tooltrace.version import __version__

BUCKETS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)


def record_some() -> None:
    log = tt.TraceLogger()
    with tt.context(conversation_id="chat_3", agent="clerk"):
        log.record("t", 1, duration_ms=15.0)
        log.record("t", 1, duration_ms=10.0)
        log.record("t", tt.ToolResponse.error("TIMEOUT", "late"), duration_ms=100_000)
    log.record("other", 1, duration_ms=None)


def test_the_metric_is_the_conventions(store: Path, metered: Any) -> None:
    read = metered()
    record_some()
    ((scope, metric),) = read()
    assert (scope.scope.name, scope.scope.version, scope.scope.schema_url) == (
        "tooltrace",
        __version__,
        names.SCHEMA_URL,
    )
    assert (metric.name, metric.unit) == ("gen_ai.execute_tool.duration", "s")
    points = {dict(point.attributes).get("error.type"): point for point in metric.data.data_points}
    assert set(points) == {None, "TIMEOUT"}
    good, bad = points[None], points["TIMEOUT"]
    assert tuple(good.explicit_bounds) == BUCKETS
    assert (good.count, good.sum, good.bucket_counts[:2]) == (2, pytest.approx(0.025), (1, 1))
    assert (bad.count, bad.bucket_counts[-1]) == (1, 1)
    assert dict(good.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "t",
        "gen_ai.tool.type": "function",
        "gen_ai.agent.name": "clerk",
    }


def test_calls_without_a_duration_are_not_measured(store: Path, metered: Any) -> None:
    read = metered()
    tt.TraceLogger().record("t", 1)
    assert read() == []


@pytest.mark.parametrize("response", [None, tt.ToolResponse.error("TIMEOUT", "late"), tt.ToolResponse.error(None, "x")])
def test_the_error_type_is_the_same_on_span_and_metric(store: Path, metered: Any, response: Any) -> None:
    provider, exporter = exporting()
    read = metered()
    tt.configure(store=store, tracer_provider=provider)

    @tt.trace_tool
    def tool() -> Any:
        if response is None:
            raise TimeoutError("late")
        return response

    if response is None:
        with pytest.raises(TimeoutError):
            tool()
    else:
        tool()
    ((_, metric),) = read()
    (span,) = exporter.get_finished_spans()
    (point,) = metric.data.data_points
    assert point.attributes["error.type"] == span.attributes["error.type"]


def test_an_exemplar_names_the_calls_span(store: Path, metered: Any, calls: Any) -> None:
    provider, _ = exporting()
    read = metered()
    tt.configure(store=store, tracer_provider=provider)
    tt.trace_tool(lambda: 1)()
    ((_, metric),) = read()
    (call,) = calls()
    (exemplar,) = metric.data.data_points[0].exemplars
    assert (f"{exemplar.trace_id:032x}", f"{exemplar.span_id:016x}") == (call.trace_id, call.span_id)


def test_a_view_of_the_users_still_works(store: Path, metered: Any) -> None:
    read = metered(
        View(
            instrument_name="gen_ai.execute_tool.duration",
            name="tools",
            attribute_keys={"gen_ai.tool.name"},
            aggregation=ExplicitBucketHistogramAggregation((1.0,)),
        )
    )
    record_some()
    ((_, metric),) = read()
    (point,) = metric.data.data_points
    assert (metric.name, tuple(point.explicit_bounds), tuple(point.bucket_counts)) == ("tools", (1.0,), (2, 1))
    assert dict(point.attributes) == {"gen_ai.tool.name": "t"}


def test_a_view_may_drop_the_metric(store: Path, metered: Any, calls: Any) -> None:
    read = metered(View(instrument_name="gen_ai.*", aggregation=DropAggregation()))
    record_some()
    assert read() == []
    assert len(calls()) == 4
