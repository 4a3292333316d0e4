"""The span of a call: attributes, status, nesting and sampling."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Decision, Sampler, SamplingResult
from opentelemetry.trace import StatusCode

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.otel import attributes as names
from tooltrace.otel import sdk_internals

Calls = Callable[[], list[ToolCall]]


class Rig:
    def __init__(self, store: Path, **options: Any) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(**options)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("user")
        tt.configure(store=store, tracer_provider=self.provider)

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())


@pytest.fixture
def rig(store: Path) -> Rig:
    return Rig(store)


def test_the_span_of_a_call(rig: Rig, calls: Calls) -> None:
    with tt.context(call_id="c1", conversation_id="conv", agent="bob"):
        tt.trace_tool(name="search", version="2", description="D", tool_type="datastore")(lambda q: [q])("x")
    (span,), (call,) = rig.spans, calls()
    assert span.name == "execute_tool search" and span.kind is trace.SpanKind.INTERNAL
    assert span.status.status_code is StatusCode.UNSET
    attributes = dict(span.attributes or {})
    assert {k: v for k, v in attributes.items() if k.startswith(("gen_ai.", "error"))} == {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.type": "datastore",
        "gen_ai.tool.description": "D", "gen_ai.tool.call.id": "c1", "gen_ai.agent.name": "bob",
        "gen_ai.conversation.id": "conv", "gen_ai.tool.call.arguments": '{"q":"x"}', "gen_ai.tool.call.result": '["x"]',
    }  # fmt: skip
    assert span.context is not None and f"{span.context.span_id:016x}" == call.span_id
    assert f"{span.context.trace_id:032x}" == call.trace_id
    assert span.end_time is not None and span.start_time is not None and span.end_time >= span.start_time
    assert span.instrumentation_scope is not None and span.instrumentation_scope.name == "tooltrace"


def test_without_a_call_id_the_span_has_none(rig: Rig) -> None:
    tt.trace_tool(lambda: None)()
    assert names.TOOL_CALL_ID not in (rig.spans[0].attributes or {})


@pytest.mark.parametrize(
    ("tool", "kind", "description"),
    [
        (lambda: tt.ToolResponse.error("E", "went wrong", type="validation"), "validation", "went wrong"),
        (lambda: tt.ToolResponse.error("E", "went wrong"), "E", "went wrong"),
        (lambda: [].pop(), "IndexError", "pop from empty list"),
        (lambda: json.loads("{"), "json.decoder.JSONDecodeError", None),
    ],
)
def test_a_failure_sets_status_and_error_type(rig: Rig, tool: Any, kind: str, description: str | None) -> None:
    try:
        tt.trace_tool(tool)()
    except Exception:  # noqa: BLE001, S110
        pass
    (span,) = rig.spans
    assert span.status.status_code is StatusCode.ERROR and (span.attributes or {})["error.type"] == kind
    assert description is None or span.status.description == description


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit(), None])
def test_other_endings_are_not_errors_on_the_span(rig: Rig, error: Any) -> None:
    def tool() -> Any:
        if error is not None:
            raise error
        return tt.ToolResponse.partial("x", reason="cut")

    try:
        tt.trace_tool(tool)()
    except BaseException:  # noqa: BLE001, S110
        pass
    (span,) = rig.spans
    assert span.status.status_code is StatusCode.UNSET and "error.type" not in (span.attributes or {})


def test_nesting_with_the_users_own_spans(rig: Rig, calls: Calls) -> None:
    @tt.trace_tool(name="outer")
    def outer() -> None:
        with rig.tracer.start_as_current_span("between"):
            inner()

    inner = tt.trace_tool(name="inner")(lambda: None)
    with rig.tracer.start_as_current_span("root"):
        outer()
    by_name = {s.name: s for s in rig.spans}
    chain = ["execute_tool inner", "between", "execute_tool outer", "root"]
    for child, parent in zip(chain, chain[1:], strict=False):
        mine = by_name[child].parent
        theirs = by_name[parent].context
        assert mine is not None and theirs is not None
        assert (mine.span_id, mine.trace_id) == (theirs.span_id, theirs.trace_id)
    assert by_name["root"].parent is None
    assert [s.name for s in rig.spans] == chain
    assert {c.trace_id for c in calls()} == {f"{by_name['root'].context.trace_id:032x}"}  # type: ignore[union-attr]


def current() -> str:
    return getattr(trace.get_current_span(), "name", "none")


@pytest.mark.parametrize("kind", ["generator", "async generator", "hidden"])
def test_the_span_is_current_inside_a_stream_and_only_there(rig: Rig, kind: str) -> None:
    inside: list[str] = []

    def body() -> Any:
        inside.append(current())
        try:
            with rig.tracer.start_as_current_span("own"):
                yield 1
                inside.append(current())
                yield 2
            inside.append(current())
        finally:
            inside.append(current())

    async def abody() -> Any:
        inside.append(current())
        with rig.tracer.start_as_current_span("own"):
            await asyncio.sleep(0)
            yield 1
            await asyncio.sleep(0)
            inside.append(current())
            yield 2
        inside.append(current())
        inside.append(current())

    outside: list[str] = []

    async def drive() -> None:
        async for _ in tt.trace_tool(name="t")(abody)():
            outside.append(current())
            await asyncio.sleep(0)
            outside.append(current())

    with rig.tracer.start_as_current_span("consumer"):
        if kind == "async generator":
            asyncio.run(drive())
        else:
            for _ in tt.trace_tool(name="t")(body if kind == "generator" else (lambda: body()))():
                outside.append(current())
        outside.append(current())
    assert set(outside) == {"consumer"}
    assert inside == ["execute_tool t", "own", "execute_tool t", "execute_tool t"]


def test_tasks_have_separate_spans(rig: Rig) -> None:
    is_current: list[bool] = []

    @tt.trace_tool
    async def tool(n: int) -> None:
        mine = trace.get_current_span()
        for _ in range(5):
            await asyncio.sleep(0)
            is_current.append(trace.get_current_span() is mine)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for n in range(10):
                group.create_task(tool(n))

    asyncio.run(main())
    assert is_current == [True] * 50 and len({s.context.span_id for s in rig.spans}) == 10  # type: ignore[union-attr]


def test_changes_of_a_tool_to_its_span_are_recorded(rig: Rig, calls: Calls) -> None:
    other = rig.tracer.start_span("other").get_span_context()

    @tt.trace_tool(name="t")
    def tool() -> None:
        span = trace.get_current_span()
        assert span.is_recording()
        span.set_attribute("rows", 5)
        span.set_attributes({"a": "b", "list": [1, 2]})
        span.set_attribute("gen_ai.tool.name", "forged")
        span.set_attribute("gen_ai.conversation.id", "found inside")
        span.add_event("e", {"k": 1})
        span.add_link(other, {"l": 1})
        span.update_name("renamed")
        span.set_status(StatusCode.ERROR, "said so")
        SPANS.append(span)

    tool()
    SPANS[0].set_attribute("late", 1)
    (span,), (call,) = rig.spans, calls()
    attributes = dict(span.attributes or {})
    assert attributes["rows"] == 5 and attributes["a"] == "b" and list(attributes["list"]) == [1, 2]  # type: ignore[arg-type]
    assert attributes["gen_ai.tool.name"] == "t" and "late" not in attributes
    assert (span.name, span.status.status_code, span.status.description) == ("renamed", StatusCode.ERROR, "said so")
    assert [(e.name, dict(e.attributes or {})) for e in span.events] == [("e", {"k": 1})]
    assert [(link.context.span_id, dict(link.attributes or {})) for link in span.links] == [(other.span_id, {"l": 1})]
    assert json.loads(call.attributes or "") == {"rows": 5, "a": "b", "list": [1, 2]}
    assert (call.tool, call.conversation_id) == ("t", "found inside")


SPANS: list[Any] = []


def test_limits_are_respected(store: Path) -> None:
    limits = SpanLimits(
        max_span_attributes=5, max_span_attribute_length=10, max_events=2, max_links=1, max_event_attributes=1
    )
    rig = Rig(store, span_limits=limits)

    def fill(span: Any) -> None:
        for i in range(20):
            span.set_attribute(f"k{i}", "v" * 100)
            span.add_event(f"e{i}", {"a": 1, "b": 2})
            span.add_link(rig.tracer.start_span("x").get_span_context())

    tt.trace_tool(lambda: fill(trace.get_current_span()))()
    with rig.tracer.start_as_current_span("plain") as plain:
        fill(plain)
    ours, theirs = rig.spans
    for span in (ours, theirs):
        assert len(span.attributes or {}) == 5
        assert all(len(v) <= 10 for v in (span.attributes or {}).values() if isinstance(v, str))
    assert [e.name for e in ours.events] == [e.name for e in theirs.events]
    assert [dict(e.attributes or {}) for e in ours.events] == [dict(e.attributes or {}) for e in theirs.events]
    assert len(ours.links) == len(theirs.links)


def test_a_span_that_is_not_sampled_is_recorded_all_the_same(store: Path, calls: Calls) -> None:
    rig = Rig(store, sampler=ALWAYS_OFF)
    assert tt.trace_tool(lambda: not trace.get_current_span().get_span_context().trace_flags.sampled)()
    (call,) = calls()
    assert call.status == "success" and rig.spans == []


def test_the_sampler_receives_the_start_attributes_of_the_conventions(store: Path, calls: Calls) -> None:
    received: list[dict[str, Any]] = []

    class Asked(Sampler):
        def should_sample(
            self, parent_context, trace_id, name, kind=None, attributes=None, links=None, trace_state=None
        ):  # type: ignore[no-untyped-def]
            received.append({"name": name, **dict(attributes or {})})
            return SamplingResult(Decision.RECORD_AND_SAMPLE, {**(attributes or {}), "sampled.by": "me"})

        def get_description(self) -> str:
            return "Asked"

    rig = Rig(store, sampler=Asked())
    with tt.context(agent="bob"):
        tt.trace_tool(name="t")(lambda: None)()
    assert received == [
        {"name": "execute_tool t", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t",
         "gen_ai.tool.type": "function", "gen_ai.agent.name": "bob"}
    ]  # fmt: skip
    assert (rig.spans[0].attributes or {})["sampled.by"] == "me"


class Broken(SpanProcessor):
    def __init__(self, where: str) -> None:
        setattr(self, where, self._fail)

    def _fail(self, *_: Any, **__: Any) -> None:
        raise RuntimeError("a processor of the user's")


@pytest.mark.parametrize("where", ["on_start", "on_end"])
def test_a_broken_processor_costs_neither_the_call_nor_the_record(
    store: Path, calls: Calls, lenient: None, where: str
) -> None:
    rig = Rig(store)
    rig.provider.add_span_processor(Broken(where))
    assert tt.trace_tool(lambda: 5)() == 5
    (call,) = calls()
    assert call.result == "5"


def test_it_is_the_span_that_the_sdk_would_have_made(rig: Rig) -> None:
    with rig.tracer.start_as_current_span("root"):
        tt.trace_tool(name="t")(lambda: None)()
        ours = rig.spans[0]
        with rig.tracer.start_as_current_span("execute_tool t", attributes=dict(ours.attributes or {})) as plain:
            pass
    a, b = json.loads(ours.to_json()), json.loads(plain.to_json())  # type: ignore[attr-defined]
    for form in (a, b):
        for key in ("start_time", "end_time"):
            assert form.pop(key).endswith("Z")
        assert form["context"].pop("span_id")
    assert a == b


def test_otlp_can_encode_it(rig: Rig) -> None:
    encoder = pytest.importorskip("opentelemetry.exporter.otlp.proto.common.trace_encoder")
    tt.trace_tool(lambda: {"a": 1})()
    assert b"execute_tool" in encoder.encode_spans(rig.spans).SerializeToString()


@pytest.mark.parametrize("name", [name for name, value in vars(ReadableSpan).items() if isinstance(value, property)])
def test_it_has_what_a_span_of_the_sdk_shows(rig: Rig, name: str) -> None:
    tt.trace_tool(lambda: None)()
    with rig.tracer.start_as_current_span("plain"):
        pass
    with warnings.catch_warnings(action="ignore"):  # of instrumentation_info
        ours, plain = (getattr(span, name) for span in rig.spans)
    assert ours is None or isinstance(ours, type(plain)) or name == "parent"


def test_the_private_names_of_the_sdk_are_where_they_were() -> None:
    provider = TracerProvider()
    batch = BatchSpanProcessor(InMemorySpanExporter())
    provider.add_span_processor(batch)
    processor = sdk_internals.span_processor(provider)
    assert processor is not None
    assert sdk_internals.parts_of(processor) == (batch,)
    assert sdk_internals.queue_of(batch) is not None
    assert callable(batch._on_ending)
    assert sdk_internals.span_limits(provider) is provider._span_limits
    assert sdk_internals.global_provider is not trace.get_tracer_provider
    assert sdk_internals.attach is not context.attach
    with trace.use_span(trace.NonRecordingSpan(trace.INVALID_SPAN_CONTEXT)) as span:
        assert sdk_internals.current_context()[sdk_internals.SPAN_KEY] is span
    provider.shutdown()
