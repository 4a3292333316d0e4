"""Requests as bytes: of forms, and by hand, where no library would write them."""

from __future__ import annotations

from tooltrace.otel.otlp.to_proto import logs_to_proto, spans_to_proto
from tooltrace.otel.span_data import LogData, SpanData


def spans(*forms: SpanData) -> bytes:
    return spans_to_proto(forms).SerializeToString()


def logs(*forms: LogData) -> bytes:
    return logs_to_proto(forms).SerializeToString()


def field(number: int, content: bytes) -> bytes:
    """A length-delimited field."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes((*out, number))


def nested(*numbers: int, content: bytes) -> bytes:
    """``content`` in the last of these fields, each of which lies in the one before."""
    for number in reversed(numbers):
        content = field(number, content)
    return content
