"""Providers other than the SDK's own, parents from another process, and ids made at random."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import opentelemetry.trace as trace_api
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased, TraceIdRatioBased
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

import tooltrace as tt


class Wrapped(trace_api.TracerProvider):
    """A provider that creates tracers but is not an SDK provider."""

    def __init__(self, inner: TracerProvider) -> None:
        self._inner = inner

    def get_tracer(self, *args: Any, **kwargs: Any) -> trace_api.Tracer:
        return self._inner.get_tracer(*args, **kwargs)


def exporting(**options: Any) -> tuple[TracerProvider, InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False, **options)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, exporter


@contextmanager
def under(parent: SpanContext) -> Iterator[None]:
    with trace_api.use_span(NonRecordingSpan(parent)):
        yield


def test_another_provider_gets_a_span_with_our_ids_and_attributes(tmp_path: Path, store: Path, calls) -> None:
    inner, exporter = exporting()
    tt.configure(store=store, tracer_provider=Wrapped(inner))

    @tt.trace_tool
    def broken(path: str) -> None:
        trace_api.get_current_span().set_attribute("shelf", 7)
        raise FileNotFoundError(path)

    try:
        broken("gone")
    except FileNotFoundError:
        pass
    (call,) = calls()
    (span,) = exporter.get_finished_spans()
    assert (f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}") == (call.trace_id, call.span_id)
    assert span.attributes["gen_ai.tool.name"] == "broken"
    assert span.attributes["error.type"] == "FileNotFoundError"
    assert span.attributes["shelf"] == 7
    assert span.status.status_code is trace_api.StatusCode.ERROR


def test_a_remote_parent_is_recorded(store: Path, calls) -> None:
    provider, exporter = exporting()
    tt.configure(store=store, tracer_provider=provider)
    parent = SpanContext(0xABC, 0xDEF, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    with under(parent):
        tt.trace_tool(
            lambda: 1,
        )()
    (call,) = calls()
    assert (call.trace_id, call.parent_span_id) == (f"{0xABC:032x}", f"{0xDEF:016x}")
    (span,) = exporter.get_finished_spans()
    assert span.parent == parent


def test_an_unsampled_parent_costs_the_export_and_not_the_row(store: Path, calls) -> None:
    provider, exporter = exporting()
    tt.configure(store=store, tracer_provider=provider)
    with under(SpanContext(0xABC, 0xDEF, is_remote=False, trace_flags=TraceFlags(0))):
        tt.trace_tool(lambda: 1)()
    assert len(calls()) == 1
    assert exporter.get_finished_spans() == ()


def test_every_sampler_decides_as_it_would_for_a_span_of_the_sdk(store: Path) -> None:
    parents = [None] + [
        SpanContext(0xABC, 0xDEF, is_remote=remote, trace_flags=TraceFlags(flag))
        for remote in (False, True)
        for flag in (0, 1)
    ]
    ratio = TraceIdRatioBased(0.0)
    samplers = [ALWAYS_ON, ALWAYS_OFF, ratio, ParentBased(ALWAYS_ON), ParentBased(ALWAYS_OFF), ParentBased(ratio)]
    samplers += [ParentBased(ALWAYS_ON, local_parent_sampled=ALWAYS_OFF, remote_parent_not_sampled=ALWAYS_ON)]
    for sampler in samplers:
        for parent in parents:
            provider, exporter = exporting(sampler=sampler)
            tt.configure(store=store, tracer_provider=provider)
            with under(parent) if parent else under(trace_api.INVALID_SPAN_CONTEXT):
                tt.trace_tool(lambda: 1)()
                with provider.get_tracer("theirs").start_as_current_span("theirs") as theirs:
                    flags = theirs.get_span_context().trace_flags
            names = [span.name for span in exporter.get_finished_spans()]
            assert len(names) in (0, 2), (sampler.get_description(), parent, names)
            assert bool(names) == flags.sampled
            ours = [span for span in exporter.get_finished_spans() if span.name != "theirs"]
            assert [span.context.trace_flags for span in ours] == [flags] * len(ours)


def test_the_log_line_and_the_metric_are_there_when_the_journal_was_written_first(store: Path) -> None:
    import structlog

    tt.configure(store=store, durability="call")
    structlog.configure()
    try:
        with structlog.testing.capture_logs() as lines:
            tt.trace_tool(lambda: 1)()
            tt.flush()
    finally:
        structlog.reset_defaults()
    assert [line["event"] for line in lines] == ["tool_call"]
