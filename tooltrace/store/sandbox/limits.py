"""The limits of one query in the sandbox: time, memory, and the number and size of its rows as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from tooltrace.redact.plain_data import json_of
from tooltrace.store.result import Cut

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """The limits for the time, the memory and the result size of one query."""

    seconds: float = 10.0
    """Maximum wall-clock seconds, counted from the moment when the store is open."""
    memory_bytes: int = 512 * MIB
    """DuckDB's own memory limit."""
    headroom_bytes: int = 1024 * MIB
    """Address space that the process may use beyond ``memory_bytes``: DuckDB does not count all of its memory."""
    rows: int = 10_000
    bytes: int = 16 * MIB
    """Maximum bytes of a result as JSON."""
    file_bytes: int = 256 * MIB
    """Maximum bytes of a result as a file: the server has the whole file in memory while it sends it."""


def time_exceeded(limits: SandboxLimits) -> str:
    """Return the message for a query that exceeded the time limit."""
    return (
        f"the query took longer than {limits.seconds:g} s and was stopped: limit its time range, its tools or its rows"
    )


def memory_exceeded(limits: SandboxLimits) -> str:
    """Return the message for a query that exceeded the memory limit."""
    return (
        f"the query needed more than {limits.memory_bytes // MIB} MiB of memory and was stopped: "
        "limit its time range, its tools or its rows"
    )


_EXACT = range(-(2**53), 2**53 + 1)
"""Integers that a browser reads exactly: JavaScript numbers are doubles."""
MAX_TEXT_LENGTH = 100_000
"""Maximum characters of one text; longer texts are truncated."""


def to_json(value: Any) -> Any:
    """Return ``value`` as JSON data.

    Times become ISO text in UTC; NaN, infinities and numbers that a browser cannot read exactly become text; values
    of other types become text, bytes in hex; long texts are truncated.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if value in _EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT_LENGTH else f"{value[:MAX_TEXT_LENGTH]}…"
    if isinstance(value, datetime):
        return f"{value.isoformat(timespec='microseconds')}{'' if value.tzinfo else 'Z'}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value) if Decimal(repr(float(value))) == value else str(value)
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)


def limited_rows(result: Iterable[Any], limits: SandboxLimits) -> tuple[list[list[Any]], Cut | None]:
    """Return the rows of ``result`` as JSON data, and the limit that cut them; None where all rows are included."""
    rows: list[list[Any]] = []
    size = 0
    for row in result:
        values = [to_json(value) for value in row]
        size += len(json_of(values))
        if len(rows) >= limits.rows:
            return rows, "rows"
        if size > limits.bytes:
            return rows, "bytes"
        rows.append(values)
    return rows, None
