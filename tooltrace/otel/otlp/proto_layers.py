"""Open an OTLP request layer by layer: the content of a layer stays bytes until it is needed.

Protobuf makes an object of some hundred bytes from two bytes that encode an empty span: twenty megabytes of those would
fill the memory. Therefore the layers are parsed with message types of our own that declare their content as ``bytes``,
which has the same wire form, and each span is parsed alone. Traces, logs and metrics use the same field numbers here.
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
"""Map from a message to its fields' numbers; a negative number marks a field that is not repeated."""


MAX_GROUPS: Final = 50_000
"""Maximum number of resources and scopes in one request."""


class ScopeGroup(NamedTuple):
    """Items that share one resource and one scope, each as bytes."""

    resource: bytes
    scope: bytes
    items: Any
    """Spans, log records or metrics: a sequence that makes the bytes of each item on access."""


def groups(data: bytes) -> Iterator[ScopeGroup]:
    """Yield the groups of an ``Export…ServiceRequest``.

    Raises MalformedOtlp if ``data`` is not such a request, or has too many groups.
    """
    blocks = _open("Request", data, "the request").resources
    number = _limited(len(blocks))
    for block in blocks:
        resource = _open("Resource", block, "a resource's block")
        number = _limited(number + len(resource.scopes))
        for part in resource.scopes:
            scope = _open("Scope", part, "a scope's block")
            yield ScopeGroup(resource.resource, scope.scope, scope.items)


def _limited(number: int) -> int:
    if number > MAX_GROUPS:
        raise MalformedOtlp(f"the request has more than {MAX_GROUPS:,} resources and scopes")
    return number


def points(data: bytes) -> Iterator[int]:
    """Yield the number of data points of each metric of an ``ExportMetricsServiceRequest``. Raises MalformedOtlp."""
    return (_points(metric) for group in groups(data) for metric in group.items)


def _points(metric: bytes) -> int:
    kinds = _open("Metric", metric, "a metric")
    return sum(len(_open("Points", getattr(kinds, name), name).points) for name in _SHAPES["Metric"])


def _open(shape: str, data: bytes, what: str) -> Any:
    try:
        return _messages()[shape].FromString(data)
    except DecodeError as error:
        raise MalformedOtlp(f"{what} is not valid protobuf: {error}") from error


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
