"""Whatever comes: no exception, no span lost, one record for a call, however the spans are cut into batches."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ingest.spans.conftest import calls_of, mcp, span, tool
from tooltrace.core.records import Span, ToolCall
from tooltrace.ingest.spans import Assembler
from tooltrace.ingest.spans.conventions.detect import CONSUMED, CONVENTIONS
from tooltrace.otel.span_codec import decode, encode
from tooltrace.otel.span_data import EventData, LinkData, SpanData
from tooltrace.recording.settings import Settings
from tooltrace.store.journal import line_format

KEYS = sorted(CONSUMED | {"logfire.span_type", "tooltrace.version", "tooltrace.status", "tooltrace.duration_ms"}) + [
    *("mcp.method.name", "rpc.method", "openinference.span.kind", "traceloop.span.kind", "langfuse.observation.type"),
    *("pydantic_ai.tool.deferral.name", "exception.type", "tooltrace.signals", "process.pid", "service.name"),
]
WORDS = ["execute_tool", "tools/call", "TOOL", "tool", "add", "{}", '{"args": 1, "kwargs": 2}', '{"output": 1, "kwargs": null}',
         '{"input_str": 1, "kwargs": 2}', "[" * 2000, "-1", "1e999", "\ud800", "ERROR", "null", ""]  # fmt: skip
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.binary(max_size=4),
    st.sampled_from(WORDS),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
ATTRIBUTES = st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), VALUES, max_size=8)
IDS = st.sampled_from([f"{n:016x}" for n in range(6)]) | st.text(max_size=20)
TRACES = st.sampled_from(["0" * 32, "1" * 32]) | st.text(max_size=34)
TIMES = st.integers(-(2**70), 2**70) | st.integers(0, 10**6)
ANY_SPAN = st.builds(
    SpanData,
    name=st.sampled_from(WORDS) | st.text(max_size=10),
    trace_id=TRACES,
    span_id=IDS,
    parent_span_id=st.none() | IDS,
    kind=st.sampled_from(["internal", "server", "client"]),
    start_ns=TIMES,
    end_ns=TIMES,
    status=st.sampled_from(["unset", "ok", "error"]),
    description=st.none() | st.text(max_size=10),
    attributes=ATTRIBUTES,
    events=st.lists(
        st.builds(EventData, name=st.sampled_from(["exception", "x"]), time_ns=TIMES, attributes=ATTRIBUTES), max_size=2
    ).map(tuple),
    links=st.lists(st.builds(LinkData, trace_id=TRACES, span_id=IDS, attributes=ATTRIBUTES), max_size=2).map(tuple),
    resource=ATTRIBUTES,
    scope=st.none() | st.text(max_size=5),
)


@pytest.mark.long
@given(st.lists(st.lists(ANY_SPAN, max_size=6), max_size=3), st.sampled_from(["full", "metadata"]))
def test_any_span_gives_writable_records(batches: list[list[SpanData]], capture: Any) -> None:
    assembler = Assembler(Settings(store=None, capture=capture))
    for batch in batches:
        records = assembler.convert(batch)
        assert len(records) == len({(form.trace_id, form.span_id) for form in batch})
        for record in records:
            assert line_format.decode(line_format.encode(record)) == record
            assert len(record.span_id) == 16
            assert len(record.trace_id) == 32


def _tree(draw: Any) -> tuple[list[SpanData], int]:
    """A trace of calls that are shown up to four times each, in the order in which their spans end, and how many calls
    it has."""
    agent = span("agent", attributes={"gen_ai.operation.name": "invoke_agent"})
    spans = []
    count = draw(st.integers(1, 5))
    for number in range(count):
        name = draw(st.sampled_from(["add", "find"]))
        arguments = {"n": number} if draw(st.booleans()) else None
        given = {} if arguments is None else {"arguments": arguments}
        at: SpanData = tool(name, agent, f"c{number}" if draw(st.booleans()) else None, **given)
        shown = [at]
        for layer in range(draw(st.integers(0, 3))):
            if draw(st.booleans()):
                at = span("POST", at, kind="client")
                shown.append(at)
            named = name if layer == 0 or draw(st.booleans()) else None
            at = mcp(named, at, kind="client" if layer % 2 else "server", scope=f"lib{layer}")
            shown.append(at)
        spans += shown[::-1]
    return [*spans, agent], count


@given(st.data())
def test_one_record_a_call_however_the_spans_are_cut(draw: st.DataObject) -> None:
    spans, count = _tree(draw.draw)
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(spans)), max_size=6)))
    assembler = Assembler(Settings(store=None))
    records: list[ToolCall | Span] = []
    for start, end in zip([0, *cuts], [*cuts, len(spans)], strict=True):
        records += assembler.convert(spans[start:end])
    assert len(calls_of(records)) == count
    assert sorted(record.span_id for record in records) == sorted(form.span_id for form in spans)


@given(st.data(), st.randoms(use_true_random=False))
def test_a_call_is_one_record_in_any_order_of_spans(draw: st.DataObject, chance: random.Random) -> None:
    spans, count = _tree(draw.draw)
    chance.shuffle(spans)
    assert len(calls_of(Assembler(Settings(store=None)).convert(spans))) == count


@pytest.mark.long
@given(st.lists(ANY_SPAN, max_size=8))
def test_conversion_is_deterministic(batch: list[SpanData]) -> None:
    fresh = Settings(store=None)
    assert Assembler(fresh).convert(batch) == Assembler(fresh).convert(batch)


@given(ANY_SPAN)
def test_a_forwarded_external_call_is_the_same_call(form: SpanData) -> None:
    settings_ = Settings(store=None)
    (record,) = Assembler(settings_).convert([form])
    if isinstance(record, ToolCall):
        assert decode(encode(record)) == record
        assert Assembler(settings_).convert([encode(record)]) == [record]


def test_every_dialect_has_a_name_of_its_own() -> None:
    assert len({dialect.name for dialect in CONVENTIONS}) == len(CONVENTIONS)
