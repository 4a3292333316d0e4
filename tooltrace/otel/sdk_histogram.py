"""Many measurements of one histogram at once, by the private names of the SDK that this needs.

``Histogram.record`` takes 8 µs: it copies, cleans, sorts and hashes the attributes for each value, and builds an exemplar
for each. Measurements with the same attributes share all of that. What the SDK collects afterwards is the same:
``tests/otel/test_sdk_histogram.py`` compares the two. A histogram, a reader or a view of another class receives each
measurement by its public method.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from time import time_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from opentelemetry.context.context import Context
from opentelemetry.trace.propagation import _SPAN_KEY as SPAN_KEY

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram
    from opentelemetry.trace import Span


class Measurement(NamedTuple):
    """A value, and the span in which it was measured, for exemplars."""

    value: float
    span: Span


def record_all(histogram: Histogram, attributes: Mapping[str, str], measured: Sequence[Measurement]) -> None:
    """Record the values of ``measured``, which all have the same ``attributes``."""
    if len(measured) > 1 and _is_known(histogram) and all(0 <= one.value < math.inf for one in measured):
        _record_known(histogram, attributes, measured)
        return
    for value, span in measured:
        histogram.record(value, dict(attributes), Context({SPAN_KEY: span}))


def _is_known(histogram: Any) -> bool:
    """Whether ``histogram`` and all that it passes a measurement to are classes of the SDK, with the names used here."""
    try:
        from opentelemetry.sdk.metrics._internal import (
            exemplar,
            instrument,
            measurement_consumer,
            metric_reader_storage,
        )
    except ImportError:
        return False
    filters = (exemplar.TraceBasedExemplarFilter, exemplar.AlwaysOnExemplarFilter, exemplar.AlwaysOffExemplarFilter)
    try:
        consumer = histogram._measurement_consumer  # noqa: SLF001
        return (
            type(histogram) is instrument._Histogram  # noqa: SLF001
            and bool(histogram._is_enabled())  # noqa: SLF001
            and type(consumer) is measurement_consumer.SynchronousMeasurementConsumer
            and type(consumer._sdk_config.exemplar_filter) in filters  # noqa: SLF001
            and all(
                type(storage) is metric_reader_storage.MetricReaderStorage
                and all(hasattr(match, name) for match in _matches(storage, histogram) for name in _MATCH_NAMES)
                for storage in consumer._reader_storages.values()  # noqa: SLF001
            )
        )
    except AttributeError:
        return False


_MATCH_NAMES = ("_view", "_lock", "_get_or_create_aggregation")


def _matches(storage: Any, histogram: Any) -> Any:
    """Return the views of ``histogram`` in the ``storage`` of one reader."""
    return storage._get_or_init_view_instrument_match(histogram)  # noqa: SLF001


def _record_known(histogram: Any, attributes: Mapping[str, str], measured: Sequence[Measurement]) -> None:
    consumer = histogram._measurement_consumer  # noqa: SLF001
    for storage in consumer._reader_storages.values():  # noqa: SLF001
        for match in _matches(storage, histogram):
            _record_for_view(match, consumer._sdk_config.exemplar_filter, attributes, measured)  # noqa: SLF001


def _record_for_view(
    match: Any, exemplars: Any, attributes: Mapping[str, str], measured: Sequence[Measurement]
) -> None:
    from opentelemetry.sdk.metrics._internal._view_instrument_match import _hash_attributes

    kept = match._view._attribute_keys  # noqa: SLF001
    seen = dict(attributes) if kept is None else {key: attributes[key] for key in attributes if key in kept}
    with match._lock:  # noqa: SLF001 - a collection may otherwise discard the aggregation in between
        aggregation = match._get_or_create_aggregation(_hash_attributes(seen), seen)  # noqa: SLF001
        _aggregate(aggregation, exemplars, attributes, measured)


def _aggregate(
    aggregation: Any, exemplars: Any, attributes: Mapping[str, str], measured: Sequence[Measurement]
) -> None:
    from opentelemetry.sdk.metrics._internal.aggregation import _ExplicitBucketHistogramAggregation
    from opentelemetry.sdk.metrics._internal.exemplar import AlignedHistogramBucketExemplarReservoir
    from opentelemetry.sdk.metrics._internal.measurement import Measurement as SdkMeasurement

    now = time_ns()
    reservoir = getattr(aggregation, "_reservoir", None)
    if (
        type(aggregation) is not _ExplicitBucketHistogramAggregation
        or type(reservoir) is not AlignedHistogramBucketExemplarReservoir
    ):
        for value, span in measured:
            context = Context({SPAN_KEY: span})
            sampled = exemplars.should_sample(value, now, attributes, context)
            aggregation.aggregate(SdkMeasurement(value, now, None, context, attributes), sampled)  # type: ignore[arg-type]
        return
    known: Any = aggregation
    boundaries = known._boundaries  # noqa: SLF001
    values = [one.value for one in measured]
    buckets = [bisect_left(boundaries, value) for value in values]
    with known._lock:  # noqa: SLF001
        if known._value is None:  # noqa: SLF001
            known._value = known._get_empty_bucket_counts()  # noqa: SLF001
        for value in values:  # in turn, so that the sum is rounded as the SDK rounds it
            known._sum += value  # noqa: SLF001
        if known._record_min_max:  # noqa: SLF001
            known._min = min(known._min, *values)  # noqa: SLF001
            known._max = max(known._max, *values)  # noqa: SLF001
        for bucket in buckets:
            known._value[bucket] += 1  # noqa: SLF001
    done: set[int] = set()
    # Backwards, so that the first measurement of a bucket found here is the last one recorded.
    for bucket, (value, span) in zip(reversed(buckets), reversed(measured), strict=True):
        if bucket in done:  # the reservoir keeps the last measurement of a bucket
            continue
        context = Context({SPAN_KEY: span})
        if exemplars.should_sample(value, now, attributes, context):
            reservoir.offer(value, now, attributes, context)
            done.add(bucket)
