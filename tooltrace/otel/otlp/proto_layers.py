"""An OTLP request opened layer by layer: what lies in a layer stays bytes until its turn comes.

Protobuf makes an object of some hundred bytes of two bytes that say "an empty span": twenty megabytes of those would
fill the memory. So the layers are read with messages of our own that call what they hold ``bytes``, which on the wire is
the same, and a span is parsed alone. Traces, logs and metrics number these fields alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from tooltrace.otel.otlp.json import MalformedOtlp

_SHAPES: Final[dict[str, dict[str, int]]] = {
    "Request": {"resources": 1},
    "Resource": {"resource": -1, "scopes": 2},
    "Scope": {"scope": -1, "items": 2},
    "Metric": {"gauge": -5, "sum": -7, "histogram": -9, "exponential_histogram": -10, "summary": -11},
    "Points": {"points": 1},
}
"""Message to its fields' numbers; a negative one is not repeated."""


MOST_GROUPS: Final = 50_000
"""How many resources and scopes one request may have."""


class Group(NamedTuple):
    """What has one resource and one scope in common, each as bytes."""

    resource: bytes
    scope: bytes
    items: Any
    """Spans, log records or metrics: a sequence that makes the bytes of each when it is asked for."""


def groups(data: bytes) -> Iterator[Group]:
    """The groups of an ``Export…ServiceRequest``. Raises MalformedOtlp where ``data`` is none, or has too many."""
    blocks = _open("Request", data, "the request").resources
    number = _few(len(blocks))
    for block in blocks:
        resource = _open("Resource", block, "a resource's block")
        number = _few(number + len(resource.scopes))
        for part in resource.scopes:
            scope = _open("Scope", part, "a scope's block")
            yield Group(resource.resource, scope.scope, scope.items)


def _few(number: int) -> int:
    if number > MOST_GROUPS:
        raise MalformedOtlp(f"the request has more than {MOST_GROUPS:,} resources and scopes")
    return number


def points(data: bytes) -> Iterator[int]:
    """How many data points each metric of an ``ExportMetricsServiceRequest`` has. Raises MalformedOtlp."""
    return (_points(metric) for group in groups(data) for metric in group.items)


def _points(metric: bytes) -> int:
    kinds = _open("Metric", metric, "a metric")
    return sum(len(_open("Points", getattr(kinds, name), name).points) for name in _SHAPES["Metric"])


def _open(shape: str, data: bytes, what: str) -> Any:
    try:
        return _messages()[shape].FromString(data)
    except DecodeError as error:
        raise MalformedOtlp(f"{what} is no valid protobuf: {error}") from error


@cache
def _messages() -> dict[str, Any]:
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="tooltrace/layers.proto", package="tooltrace", syntax="proto3")
    for shape, numbers in _SHAPES.items():
        message = file.message_type.add(name=shape)
        for name, number in numbers.items():
            label = field.LABEL_REPEATED if number > 0 else field.LABEL_OPTIONAL
            message.field.add(name=name, number=abs(number), type=field.TYPE_BYTES, label=label)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        shape: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tooltrace.{shape}")) for shape in _SHAPES
    }
