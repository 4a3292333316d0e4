"""Snapshots of a tool's arguments and results, unaffected by later changes to the objects.

On the tool's own thread, only values that could still change are copied, as JSON bytes. Redaction and size limits are
applied to the copy later, off that thread. Plain data is counted, then copied by an encoder in C (``plain_data``); all
other values are read by their structure (``walk``). Neither goes beyond a budget.
"""

from __future__ import annotations

from typing import Any, NewType

from tooltrace.redact.plain_data import plain_json
from tooltrace.redact.texts import MAX_JSON, SNAPSHOT_SIZE
from tooltrace.redact.walk import Walk

Json = NewType("Json", str)
"""JSON text that may be stored: compact, valid UTF-8, already redacted and within the size limit."""

BUDGET = MAX_JSON
"""The most that one snapshot reads in the tool's own thread.

Each value of plain data counts 32, each other value 100, each character of a text 1 or 4: at most 32,000 values, 10,000 of
them objects or fields of objects, and about a megabyte of text. A ``field_limit`` above the default raises it in
proportion."""
CUT = b" "
"""The suffix of a snapshot that was cut and contains only the first part of an object.

The JSON written here never ends with a space. The full size, where it is known, stands before the space in binary, as
tabs and carriage returns: the snapshot is valid JSON in any case."""
_ZERO, _ONE = b"\t", b"\r"

_ROOMY = 2048
_LOWEST, _BEYOND = -(2**63), 2**63
_EMPTY, _join = b"", b"".join

Snapshot = str | int | float | bool | bytes | None
"""A scalar, unchanged, or JSON bytes."""


def snapshot(value: Any, limit: int = SNAPSHOT_SIZE) -> Snapshot:
    """Return ``value`` as it is now: the value itself where it cannot change, else its JSON as far as the budget goes.

    ``limit``: size limit of a field.
    """
    kind = type(value)
    if kind is not dict:  # arguments are a dict, and most results
        if kind is str or value is None or kind is bool:
            return value  # type: ignore[no-any-return]
        if (kind is int or kind is float) and _LOWEST <= value < _BEYOND:  # false for NaN and the infinities
            return value  # type: ignore[no-any-return]
    budget = BUDGET if limit <= SNAPSHOT_SIZE else BUDGET * limit // SNAPSHOT_SIZE
    raw = plain_json(value, budget)
    if raw is None:
        walk = Walk(budget, limit)
        raw = walk.json(value)
        if walk.cut:
            return mark_cut(raw, None if walk.lost is None else len(raw) + walk.lost)
    # orjson's bytes keep the 4 KiB buffer that they were written in: 8 MB for 1,000 queued calls. A copy frees it.
    return raw if len(raw) > _ROOMY else _join((_EMPTY, raw))


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
