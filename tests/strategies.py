"""Any spans and log records that OTLP can state, and any records, for tests of properties."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import Any

import orjson
from hypothesis import strategies as st

from tooltrace.core.fields import fields_of
from tooltrace.core.records import Record
from tooltrace.otel.span_data import EventData, LinkData, LogData, SpanData
from tooltrace.redact.snapshot import Json

NS = st.integers(1, 2**64 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
TRACE_ID = st.integers(1, 2**128 - 1).map("{:032x}".format)
SPAN_ID = st.integers(1, 2**64 - 1).map("{:016x}".format)
NAME = st.none() | st.text(min_size=1)
VALUE = st.recursive(
    st.none() | st.booleans() | INT64 | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ATTRIBUTES = st.dictionaries(st.text(), VALUE, max_size=4)
COMMON: dict[str, Any] = {
    "attributes": ATTRIBUTES,
    "resource": st.sampled_from([{}, {"service.name": "a"}, {"service.name": "b", "n": [1, 2.5]}]) | ATTRIBUTES,
    "scope": NAME,
    "scope_version": NAME,
}
SPAN = st.builds(
    SpanData,
    name=st.text(),
    trace_id=TRACE_ID,
    span_id=SPAN_ID,
    parent_span_id=st.none() | SPAN_ID,
    kind=st.sampled_from(["internal", "server", "client", "producer", "consumer"]),
    start_ns=NS,
    end_ns=NS,
    status=st.sampled_from(["unset", "ok", "error"]),
    description=NAME,
    events=st.lists(st.builds(EventData, name=st.text(), time_ns=NS, attributes=ATTRIBUTES), max_size=2).map(tuple),
    links=st.lists(st.builds(LinkData, trace_id=TRACE_ID, span_id=SPAN_ID, attributes=ATTRIBUTES), max_size=2).map(tuple),
    **COMMON,
)  # fmt: skip
LOG = st.builds(
    LogData,
    event_name=NAME,
    time_ns=NS,
    severity=st.none() | st.integers(1, 24),
    body=VALUE,
    trace_id=st.none() | TRACE_ID,
    span_id=st.none() | SPAN_ID,
    **COMMON,
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
).map(lambda value: Json(orjson.dumps(value).decode()))
FIELD: dict[str, st.SearchStrategy[Any]] = {
    "str": st.text(),
    "int": INT64,
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "bool": st.booleans(),
    "datetime": st.datetimes(timezones=st.just(UTC)),
    "Json": JSON,
}
"""Values of a field by its type."""


def records_of(
    kind: type[Record],
    own: Mapping[str, st.SearchStrategy[Any]] = {},
    by_type: Mapping[str, st.SearchStrategy[Any]] = FIELD,
) -> st.SearchStrategy[Record]:
    """Return records of one kind, whatever their fields can hold. ``own``: values of a field that has rules of its own."""
    values = {}
    for field in fields_of(kind):
        value = own.get(field.name, by_type[field.type_name])
        values[field.name] = st.none() | value if field.nullable else value
    return st.builds(kind, **values)
