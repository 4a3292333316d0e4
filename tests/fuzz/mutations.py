"""Changes of bytes that make a valid input a hostile one."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.ingest.receiver.wire import varint

LARGEST = 256 * 1024
"""Bytes of the largest input: work that is quadratic in them takes minutes."""
WORDS = (
    b"null", b"true", b"1e999", b"-1", b"NaN", b"9223372036854775808", b'"\\ud800"', b"\\u0000", b"\x00", b"\xff\xfe", b"[]", b"{}",
    b'""', b"2026-02-30T25:61:00Z", b"0001-01-01", b"99999999999999999999", b"\n", b"\r", b'"', b"\\", b"\xef\xbb\xbf", b"error",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, -1, 2**63, 2**200, 1e308, float("nan"), "", "\ud800", "\0", "x" * 100_000, "1" * 5_000, [], {}, [[[]]], {"": None},
    "2026-13-01", "9" * 30, "0" * 32, "token=sk-abcdefghijklmnopqrstuvwx", {"stringValue": 1}, {"intValue": "x"}, {"bytesValue": "*"},
)  # fmt: skip
DEEP = ((b"[", b"]"), (b'{"a":', b"}"), (b'"{\\"a\\":', b'}"'))


def mutated(known: Sequence[bytes], choose: random.Random) -> bytes:
    """Return one of ``known`` after one to six random changes."""
    data = choose.choice(known)
    for _ in range(choose.choice((1, 1, 2, 3, 6))):
        data = choose.choice(_CHANGES)(data, known, choose)[:LARGEST]
    return data


def _part(data: bytes, choose: random.Random) -> tuple[int, int]:
    start = choose.randrange(len(data) + 1)
    return start, min(len(data), start + int(choose.expovariate(1 / 40)))


def _replace(data: bytes, _: Sequence[bytes], choose: random.Random) -> bytes:
    start, end = _part(data, choose)
    return data[:start] + choose.choice(WORDS) + data[end:]


def _flip(data: bytes, _: Sequence[bytes], choose: random.Random) -> bytes:
    at = choose.randrange(len(data) + 1)
    return data[:at] + bytes([choose.randrange(256)]) + data[at + 1 :]


def _cut(data: bytes, _: Sequence[bytes], choose: random.Random) -> bytes:
    start, end = _part(data, choose)
    return data[:start] + data[end:]


def _repeat(data: bytes, _: Sequence[bytes], choose: random.Random) -> bytes:
    start, end = _part(data, choose)
    times = choose.choice((2, 50, LARGEST // max(1, end - start)))
    return data[:start] + data[start:end] * times + data[end:]


def _nest(data: bytes, _: Sequence[bytes], choose: random.Random) -> bytes:
    start, end = _part(data, choose)
    before, after = choose.choice(DEEP)
    depth = choose.choice((3, 130, 20_000))
    return data[:start] + before * depth + data[start:end] + after * depth + data[end:]


def _restructure(data: bytes, known: Sequence[bytes], choose: random.Random) -> bytes:
    """Change one value of valid JSON, or one field of a protobuf message, so that the rest stays valid."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return _refield(data, known, choose)
    holder, key = {"": value}, ""
    while holder[key] and isinstance(holder[key], (dict, list)) and choose.random() < 0.9:
        holder = holder[key]
        key = choose.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    if isinstance(holder, dict) and choose.random() < 0.2:
        holder[choose.choice(("kind", "x" * 9))] = holder.pop(key, None)
    else:
        holder[key] = choose.choice((*VALUES, [holder[key]] * 500, {"a": holder[key]}, f"{holder[key]}"))
    return json.dumps(holder.get("", value) if isinstance(holder, dict) else value).encode()


def _refield(data: bytes, known: Sequence[bytes], choose: random.Random) -> bytes:
    fields = list(_fields(data))
    if not fields:
        return _flip(data, known, choose)
    at = choose.randrange(len(fields))
    tag, content = fields[at]
    if tag & 7 == 2 and choose.random() < 0.7:
        inner = choose.choice((_refield, _replace, _repeat, _splice))(content, known, choose)
        fields[at] = (tag, inner[: LARGEST // 2])
    else:
        fields[at : at + 1] = [fields[at]] * choose.choice((0, 2, 200))
    return b"".join(varint(tag) + (varint(len(content)) if tag & 7 == 2 else b"") + content for tag, content in fields)


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the fields of a protobuf message, up to the first that is none: tag and content."""
    at = 0
    while at < len(data):
        tag, start = _number(data, at)
        if tag & 7 == 2:
            size, start = _number(data, start)
            at = start + size
        else:
            at = {0: _number(data, start)[1], 1: start + 8, 5: start + 4}.get(tag & 7, len(data) + 1)
        if tag >> 3 == 0 or at > len(data):
            return
        yield tag, data[start:at]


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at ``at``, and where it ends; beyond the data where it does not end."""
    value = 0
    for shift, byte in enumerate(data[at : at + 10], 1):
        value |= (byte & 127) << 7 * (shift - 1)
        if byte < 128:
            return value, at + shift
    return 0, len(data) + 1


def _splice(data: bytes, known: Sequence[bytes], choose: random.Random) -> bytes:
    other = choose.choice(known)
    start, end = _part(data, choose)
    first, last = _part(other, choose)
    return data[:start] + other[first:last] + data[end:]


_CHANGES: tuple[Callable[[bytes, Sequence[bytes], random.Random], bytes], ...] = (
    _replace, _flip, _cut, _repeat, _nest, _splice, *[_restructure] * 14,
)  # fmt: skip
