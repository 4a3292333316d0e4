"""Snapshots of a tool's arguments and results, unaffected by later changes to the objects.

On the tool's own thread, only values that could still change are copied, as JSON bytes. Redaction and size limits are
applied to the copy later, off that thread. Plain data is copied by encoders in C (``plain_data``), objects by their
structure (``walk``). Only the ``value`` of an enum, which orjson reads, must not raise.
"""

from __future__ import annotations

from typing import Any, NewType

import orjson

from tooltrace.redact.plain_data import NO_USER_CODE, flat_json, pass_on_encoder_signal, with_nan
from tooltrace.redact.shrink import shrink
from tooltrace.redact.texts import MAX_JSON, SNAPSHOT_SIZE
from tooltrace.redact.walk import Walk, walked_json

Json = NewType("Json", str)
"""JSON text that may be stored: compact, valid UTF-8, already redacted and within the size limit."""

SNAPSHOT_NODES = 2_000
"""Maximum values that one snapshot reads from objects in the tool's own thread: about two milliseconds.

Plain data does not count: it is copied in C at a gigabyte per second."""
CUT = b" "
"""The suffix of a snapshot that was cut and contains only the first part of an object.

The JSON written here never ends with a space. The full size, where it is known, stands before the space in binary, as
tabs and carriage returns: the snapshot is valid JSON in any case."""
_ZERO, _ONE = b"\t", b"\r"

_ROOMY = 2048
_LOWEST, _BEYOND = -(2**63), 2**63
_NULL, _EMPTY = b"null", b""
_dumps, _join = orjson.dumps, b"".join

Snapshot = str | int | float | bool | bytes | None
"""A scalar, unchanged, or JSON bytes."""


def snapshot(value: Any, limit: int = SNAPSHOT_SIZE) -> Snapshot:
    """Return ``value`` as it is now: the value itself where it cannot change, else its JSON.

    Objects are read until the budget is used up; a field ``limit`` above the default raises the budget in proportion.
    """
    kind = type(value)
    if kind is not dict:  # arguments are a dict, and most results
        if kind is str or value is None or kind is bool:
            return value  # type: ignore[no-any-return]
        if (kind is int or kind is float) and _LOWEST <= value < _BEYOND:  # false for NaN and the infinities
            return value  # type: ignore[no-any-return]
    raw: bytes | None
    try:  # as plain_json, inlined because every call of a tool comes here twice
        raw = _dumps(value, option=NO_USER_CODE)
    except BaseException as error:
        pass_on_encoder_signal(error)
        raw = flat_json(value)
    else:
        if raw.replace(_NULL, _NULL) is not raw:  # the fastest search in bytes: finding nothing, it makes no copy
            raw = with_nan(value, raw)
    if raw is None:
        return _walked(value, limit)
    size = len(raw)
    if size <= _ROOMY:
        # orjson's bytes keep the 4 KiB buffer that they were written in: 8 MB for 1,000 queued calls. A copy frees it.
        return _join((_EMPTY, raw))
    return mark_cut(shrink(value, size, limit), size) if size > max(MAX_JSON, 2 * limit) else raw


def _walked(value: Any, limit: int) -> bytes:
    times = max(1, limit // SNAPSHOT_SIZE)
    walk = Walk(SNAPSHOT_NODES * times, SNAPSHOT_SIZE * times)
    raw = walked_json(walk, value)
    if not walk.cut:
        return raw
    return mark_cut(raw, len(value) + 2 if type(value) is bytes or type(value) is bytearray else None)


def mark_cut(raw: bytes, full_size: int | None = None) -> bytes:
    """Return the snapshot ``raw`` with the mark that it was cut, and its full size in bytes where that is known."""
    digits = b"" if full_size is None else f"{full_size:b}".encode().translate(bytes.maketrans(b"01", _ZERO + _ONE))
    return raw + digits + CUT


def split_cut(raw: bytes) -> tuple[bytes, bool, int | None]:
    """Return the JSON of a snapshot, whether it was cut, and its full size in bytes where that is known."""
    if not raw.endswith(CUT):
        return raw, False, None
    marked = raw[: -len(CUT)]
    json = marked.rstrip(_ZERO + _ONE)
    digits = marked[len(json) :].translate(bytes.maketrans(_ZERO + _ONE, b"01"))
    return json, True, int(digits, 2) if digits else None
