"""The duration metric of a batch of calls: a histogram of the calls since the batch before.

Delta temporality, because any process may deliver: no single process could keep the running total, and an acknowledged
batch is never counted again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any, Final

from tooltrace.core.records import ToolCall
from tooltrace.otel import attributes as names
from tooltrace.otel.metrics import DESCRIPTION, UNIT, duration_attributes
from tooltrace.otel.otlp.to_proto import HistogramPoint
from tooltrace.otel.span_codec import SCOPE, encode
from tooltrace.otel.span_data import SpanData
from tooltrace.version import __version__

_PER_CALL: Final = (names.PROCESS_PID,)
"""Attributes that differ between processes of one service and would create a time series for each."""


def histograms(
    calls: Iterable[ToolCall], *, after_ns: int = 0, resource_of: Callable[[SpanData], dict[str, Any]] | None = None
) -> list[HistogramPoint]:
    """Return a point for each resource and set of attributes. Calls without a duration are left out.

    ``resource_of``: returns the resource of a call's span, where that is more than the span itself has.

    The points' times do not overlap those of the batch before, which ended at ``after_ns``: receivers that add deltas
    reject overlaps. A call that is delivered late therefore counts in the later interval.
    """
    timed = [call for call in calls if call.duration_ms is not None]
    if not timed:
        return []
    spans = [encode(call) for call in timed]
    start = max(after_ns, min(span.start_ns for span in spans))
    end = max(start + 1, *(span.end_ns for span in spans))
    groups: dict[str, tuple[dict[str, Any], dict[str, Any], list[float]]] = {}
    for call, span in zip(timed, spans, strict=True):
        full = span.resource if resource_of is None else resource_of(span)
        resource = {key: value for key, value in full.items() if key not in _PER_CALL}
        attributes = duration_attributes(call)
        group = groups.setdefault(repr((resource, attributes)), (resource, attributes, []))
        group[2].append((call.duration_ms or 0.0) / 1e3)
    return [_form(resource, attributes, seconds, start, end) for resource, attributes, seconds in groups.values()]


def _form(
    resource: dict[str, Any], attributes: dict[str, Any], seconds: list[float], start: int, end: int
) -> HistogramPoint:
    buckets = [0] * (len(names.DURATION_BUCKETS) + 1)
    for value in seconds:
        buckets[bisect_left(names.DURATION_BUCKETS, value)] += 1
    return HistogramPoint(
        name=names.DURATION_METRIC,
        unit=UNIT,
        description=DESCRIPTION,
        start_ns=start,
        end_ns=end,
        count=len(seconds),
        sum=sum(seconds),
        min=min(seconds),
        max=max(seconds),
        bounds=names.DURATION_BUCKETS,
        buckets=tuple(buckets),
        attributes=attributes,
        resource=resource,
        scope=SCOPE,
        scope_version=__version__,
    )
