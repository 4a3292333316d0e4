"""Decoding of OTLP requests in either encoding: spans, log records, and counts of metric points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import orjson

from tooltrace.ingest.receiver.limits import ReceiverLimits
from tooltrace.ingest.receiver.responses import JSON, Encoding, IngestResult, too_large
from tooltrace.otel.otlp import proto_layers
from tooltrace.otel.otlp.from_proto import logs_from_proto, spans_from_proto
from tooltrace.otel.otlp.json import MalformedOtlp, logs_from_json, spans_from_json
from tooltrace.otel.span_data import LogData, SpanData

_Item = TypeVar("_Item", SpanData, LogData, int)


def spans(body: bytes, encoding: Encoding, receipt: IngestResult) -> Iterator[SpanData]:
    """Yield the spans of a request, and count each in ``receipt``.

    Raises MalformedOtlp, and OtlpError if there are too many.
    """
    if encoding == JSON:
        found = spans_from_json(_loaded(body, receipt.limits), refused=receipt.count_unreadable)
    else:
        found = spans_from_proto(body, refused=receipt.count_unreadable)
    return _counted(found, receipt)


def logs(body: bytes, encoding: Encoding, receipt: IngestResult) -> Iterator[LogData]:
    """Yield the log records of a request, as :func:`spans` does."""
    if encoding == JSON:
        found = logs_from_json(_loaded(body, receipt.limits), refused=receipt.count_unreadable)
    else:
        found = logs_from_proto(body, refused=receipt.count_unreadable)
    return _counted(found, receipt)


def points(body: bytes, encoding: Encoding, receipt: IngestResult) -> int:
    """Return the number of data points in a request, and count each metric in ``receipt``.

    Raises MalformedOtlp, and OtlpError if there are too many.
    """
    counts = _points(_loaded(body, receipt.limits)) if encoding == JSON else proto_layers.points(body)
    return sum(_counted(counts, receipt))


def _counted(items: Iterator[_Item], receipt: IngestResult) -> Iterator[_Item]:
    for item in items:
        receipt.count()
        yield item


def _loaded(body: bytes, limits: ReceiverLimits) -> dict[str, Any]:
    # Counted before parsing: brackets inside texts count too, but the bound is far above real requests.
    if body.count(b"{") + body.count(b"[") > limits.containers:
        raise too_large(f"the JSON has more than {limits.containers:,} objects and arrays; nothing was stored")
    try:
        data = orjson.loads(body)
    except ValueError as error:
        raise MalformedOtlp(f"the body is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise MalformedOtlp("the body is not a JSON object")
    return data


_DATA = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")


def _points(data: dict[str, Any]) -> Iterator[int]:
    metrics = _within([data], "resourceMetrics", "scopeMetrics", "metrics")
    return (sum(len(_within([metric.get(kind)], "dataPoints")) for kind in _DATA) for metric in metrics)


def _within(holders: list[Any], *names: str) -> list[dict[str, Any]]:
    """Return the objects under the nested ``names`` in ``holders``; values that are not objects are ignored."""
    for name in names:
        lists = [holder.get(name) for holder in holders if isinstance(holder, dict)]
        holders = [item for found in lists if isinstance(found, list) for item in found]
    return [holder for holder in holders if isinstance(holder, dict)]
