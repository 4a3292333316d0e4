"""The same call by OpenTelemetry's own GenAI utilities and by ours: each difference is known and has its reason.

A difference that is not in the table fails, and so does an entry that does not differ any more.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import opentelemetry._logs._internal as logs_api
import opentelemetry.metrics._internal as metrics_api
import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util.genai.handler import TelemetryHandler

import tooltrace as tt
from tooltrace.otel.content_policy import VARIABLE
from tooltrace.recording.sinks import otel_metric

Facts = dict[str, Any]
ABSENT = "(absent)"


@dataclass
class Providers:
    """An application's three providers, and what they were given."""

    spans: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    logs: InMemoryLogRecordExporter = field(default_factory=InMemoryLogRecordExporter)
    reader: InMemoryMetricReader = field(default_factory=InMemoryMetricReader)
    at_start: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tracer = TracerProvider(shutdown_on_exit=False)
        self.tracer.add_span_processor(AtStart(self.at_start))
        self.tracer.add_span_processor(SimpleSpanProcessor(self.spans))
        self.meter = MeterProvider([self.reader], shutdown_on_exit=False)
        self.logger = LoggerProvider(shutdown_on_exit=False)
        self.logger.add_log_record_processor(SimpleLogRecordProcessor(self.logs))

    def facts(self) -> Facts:
        """All that went out, but for times and ids, each under a name of its own."""
        (span,) = self.spans.get_finished_spans()
        scope = span.instrumentation_scope
        facts: Facts = {
            "span name": span.name,
            "span kind": span.kind.name,
            "span status": span.status.status_code.name,
            "span description": span.status.description,
            "span events": [event.name for event in span.events],
            "scope name": scope.name,
            "scope schema": scope.schema_url,
            **_named("span", span.attributes),
            **_named("start", self.at_start),
            "log events": [record.log_record.event_name for record in self.logs.get_finished_logs()],
        }
        data = self.reader.get_metrics_data()
        (made,) = data.resource_metrics[0].scope_metrics[0].metrics
        (point,) = made.data.data_points
        facts |= {f"metric {key}": getattr(made, key) for key in ("name", "unit", "description")}
        facts |= {"metric buckets": tuple(point.explicit_bounds), "metric exemplars": len(point.exemplars)}
        return facts | _named("metric", point.attributes)


class AtStart(SpanProcessor):
    """Sees what samplers see."""

    def __init__(self, seen: dict[str, Any]) -> None:
        self._seen = seen

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        self._seen.update(span.attributes)


def _named(where: str, attributes: Any) -> Facts:
    own = sorted(key for key in attributes if key.startswith("tooltrace."))
    facts = {f"{where}: {key}": value for key, value in attributes.items() if key not in own}
    return {**facts, f"{where}: tooltrace.*": True} if own else facts


CALL = {"tool_type": "function", "agent_name": "clerk"}
ARGUMENTS = {"city": "Paris", "days": 2}
RESULT = {"degrees": 21.5, "sky": "clear"}


def theirs(fails: bool, content: bool = True) -> Facts:
    """The call as OpenTelemetry's utilities tell it."""
    providers = Providers()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "SPAN_AND_EVENT" if content else "NO_CONTENT")
        handler = TelemetryHandler(providers.tracer, providers.meter, providers.logger)
        with suppress(TimeoutError), handler.tool("weather", **CALL) as call:
            call.tool_call_id, call.tool_description = "call_7", "Tell the weather."
            call.arguments = ARGUMENTS
            if fails:
                raise TimeoutError("no answer within 5 s")
            call.tool_result = RESULT
        return providers.facts()


def ours(store: Path, fails: bool, content: bool = True) -> Facts:
    """The same call as tooltrace tells it."""
    providers = Providers()

    @tt.trace_tool
    def weather(city: str, days: int) -> dict[str, Any]:
        """Tell the weather."""
        if fails:
            raise TimeoutError("no answer within 5 s")
        return RESULT

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "SPAN_AND_EVENT" if content else "NO_CONTENT")
        patch.setattr(metrics_api, "_METER_PROVIDER", providers.meter)
        patch.setattr(logs_api, "_LOGGER_PROVIDER", providers.logger)
        otel_metric._histogram.cache_clear()
        tt.configure(store=store, tracer_provider=providers.tracer)
        with suppress(TimeoutError), tt.context(call_id="call_7", agent="clerk"):
            weather(**ARGUMENTS)
        assert tt.flush(None)
        otel_metric._histogram.cache_clear()
        return providers.facts()


EVERYWHERE = {
    "scope name": "each instrumentation has its own",
    "scope schema": "the conventions moved to a schema of their own; 1.37.0 knows neither the metric nor the event",
    "metric description": "ours is the model's brief",
    "metric: gen_ai.operation.name": "one value, so no new series; charts of all GenAI durations group by it",
    "span: tooltrace.*": "what the conventions have no names for: status, ending, code, attempt, rule, confidence …",
    "start: gen_ai.agent.name": "the conventions want it at the start, for samplers; the utilities set it at the end",
}
"""Differences of every call, and their reasons."""

ON_FAILURE = {
    "log events": "the conventions ask for gen_ai.execute_tool.exception; the utilities send no exception yet",
}
"""Further differences if the tool raised."""


def differences(one: Facts, other: Facts) -> dict[str, tuple[Any, Any]]:
    """Every fact that is not the same, ours and theirs. JSON text is compared by what it says."""
    found = {}
    for key in sorted(one.keys() | other.keys()):
        left, right = one.get(key, ABSENT), other.get(key, ABSENT)
        if key.startswith("span: gen_ai.tool.call.") and ABSENT not in (left, right) and "id" not in key:
            left, right = json.loads(left), json.loads(right)
        if left != right:
            found[key] = (left, right)
    return found


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the machine's changes what either says."""
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("content", [True, False], ids=["content", "no content"])
def test_a_success_differs_as_is_known(store: Path, content: bool) -> None:
    found = differences(ours(store, fails=False, content=content), theirs(fails=False, content=content))
    assert set(found) == set(EVERYWHERE), found


@pytest.mark.parametrize("content", [True, False], ids=["content", "no content"])
def test_a_failure_differs_as_is_known(store: Path, content: bool) -> None:
    found = differences(ours(store, fails=True, content=content), theirs(fails=True, content=content))
    assert set(found) == set(EVERYWHERE) | set(ON_FAILURE), found
    assert found["log events"] == (["gen_ai.execute_tool.exception"], [])


def test_each_difference_matches_its_reason(store: Path) -> None:
    found = differences(ours(store, fails=False), theirs(fails=False))
    assert found["start: gen_ai.agent.name"] == ("clerk", ABSENT)
    assert found["metric: gen_ai.operation.name"] == ("execute_tool", ABSENT)
    assert found["span: tooltrace.*"] == (True, ABSENT)
    assert found["scope schema"] == (
        "https://opentelemetry.io/schemas/gen-ai/0.1.0",
        "https://opentelemetry.io/schemas/1.37.0",
    )


def test_a_difference_that_is_not_known_is_found() -> None:
    assert differences({"a": 1, "b": 1}, {"b": 2}) == {"a": (1, ABSENT), "b": (1, 2)}


def test_default_content_differs_from_the_reference_utilities(store: Path) -> None:
    """The one difference of a default: ``capture`` is our switch, and says ``full`` unless it is told otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "")
        handler = TelemetryHandler(TracerProvider(shutdown_on_exit=False))
        assert not handler.should_capture_content()
    facts = ours(store, fails=False)
    assert json.loads(facts["span: gen_ai.tool.call.arguments"]) == ARGUMENTS
    assert json.loads(facts["span: gen_ai.tool.call.result"]) == RESULT


def test_capture_metadata_equals_the_default_of_the_utilities(store: Path) -> None:
    providers = Providers()
    tt.configure(store=store, tracer_provider=providers.tracer, capture="metadata")
    tt.trace_tool(lambda city: RESULT)("Paris")
    (span,) = providers.spans.get_finished_spans()
    assert not {"gen_ai.tool.call.arguments", "gen_ai.tool.call.result"} & set(span.attributes)
