"""Measurements that are recorded together make the data that the SDK makes of them one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.context.context import Context
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from tests.examples import examples
from tooltrace.otel import sdk_histogram
from tooltrace.otel.sdk_histogram import Measurement, record_all
from tooltrace.otel.sdk_internals import SPAN_KEY

DELTA = {Histogram: AggregationTemporality.DELTA, Counter: AggregationTemporality.DELTA}
SETUPS: dict[str, tuple[dict[type, Any], list[View]]] = {
    "cumulative": ({}, []),
    "delta": (DELTA, []),
    "a view without the agent": ({}, [View(instrument_name="d", attribute_keys={"tool"})]),
    "exponential buckets": ({}, [View(instrument_name="d", aggregation=ExponentialBucketHistogramAggregation())]),
    "two views": (
        {},
        [View(instrument_name="d", name="one"), View(instrument_name="d", name="two", attribute_keys=set())],
    ),
}


class Meter:
    """A provider with one histogram and one reader."""

    def __init__(self, temporality: dict[type, Any], views: list[View]) -> None:
        self.reader = InMemoryMetricReader(preferred_temporality=temporality)
        provider = MeterProvider([self.reader], views=views, shutdown_on_exit=False)
        self.histogram = provider.get_meter("test").create_histogram(
            "d", explicit_bucket_boundaries_advisory=[0.01, 0.1, 1.0]
        )

    def read(self) -> Any:
        data = self.reader.get_metrics_data()
        return (
            None if data is None else _without_times(json.loads(data.to_json())["resource_metrics"][0]["scope_metrics"])
        )


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if not key.endswith("unix_nano")}
    return [_without_times(item) for item in value] if isinstance(value, list) else value


def span(number: int, sampled: bool) -> NonRecordingSpan:
    return NonRecordingSpan(SpanContext(number, number, is_remote=False, trace_flags=TraceFlags(int(sampled))))


measurements = st.lists(
    st.tuples(
        st.sampled_from(["search", "weather"]),
        st.none() | st.sampled_from(["clerk", "cook"]),
        st.lists(st.tuples(st.floats(0, 10) | st.sampled_from([0.01, 0.1]), st.booleans()), min_size=1, max_size=8),
    ),
    max_size=5,
)


@pytest.mark.parametrize("setup", SETUPS)
@settings(max_examples=examples(30))
@given(first=measurements, second=measurements)
def test_batches_are_collected_as_single_measurements_are(setup: str, first: Any, second: Any) -> None:
    batched, single = Meter(*SETUPS[setup]), Meter(*SETUPS[setup])
    for part in (first, second):
        for tool, agent, values in part:
            attributes = {"tool": tool} | ({} if agent is None else {"agent": agent})
            made = [Measurement(value, span(number, sampled)) for number, (value, sampled) in enumerate(values, 1)]
            record_all(batched.histogram, attributes, made)
            for value, own in made:
                single.histogram.record(value, attributes, Context({SPAN_KEY: own}))
        assert batched.read() == single.read()


def test_the_sdks_own_histogram_is_known() -> None:
    """Fails where the SDK moves a private name, so that each measurement would cost 8 µs again."""
    assert sdk_histogram._is_known(Meter({}, []).histogram)


def test_values_that_the_sdk_refuses_are_refused_in_a_batch_too() -> None:
    meter = Meter({}, [])
    record_all(meter.histogram, {}, [Measurement(value, span(1, True)) for value in (-1.0, float("nan"), 0.5)])
    (point,) = meter.read()[0]["metrics"][0]["data"]["data_points"]
    assert (point["count"], point["sum"]) == (1, 0.5)
