"""Any spans and log records that OTLP can say."""

from __future__ import annotations

from hypothesis import strategies as st

from tooltrace.otel.span_data import EventData, LinkData, LogData, SpanData

NS = st.integers(1, 2**64 - 1)
TRACE = st.integers(1, 2**128 - 1).map(lambda number: f"{number:032x}")
ID = st.integers(1, 2**64 - 1).map(lambda number: f"{number:016x}")
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ATTRIBUTES = st.dictionaries(st.text(), VALUE, max_size=4)
NAME = st.none() | st.text(min_size=1)
SPAN = st.builds(
    SpanData,
    name=st.text(),
    trace_id=TRACE,
    span_id=ID,
    parent_span_id=st.none() | ID,
    kind=st.sampled_from(["internal", "server", "client", "producer", "consumer"]),
    start_ns=NS,
    end_ns=NS,
    status=st.sampled_from(["unset", "ok", "error"]),
    description=NAME,
    attributes=ATTRIBUTES,
    events=st.lists(st.builds(EventData, name=st.text(), time_ns=NS, attributes=ATTRIBUTES), max_size=2).map(tuple),
    links=st.lists(st.builds(LinkData, trace_id=TRACE, span_id=ID, attributes=ATTRIBUTES), max_size=2).map(tuple),
    resource=ATTRIBUTES,
    scope=NAME,
    scope_version=NAME,
)
LOG = st.builds(
    LogData,
    event_name=NAME,
    time_ns=NS,
    severity=st.none() | st.integers(1, 24),
    body=VALUE,
    attributes=ATTRIBUTES,
    trace_id=st.none() | TRACE,
    span_id=st.none() | ID,
    resource=ATTRIBUTES,
    scope=NAME,
    scope_version=NAME,
)
