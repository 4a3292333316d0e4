"""As much of an answer as may be shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from tooltrace.sandbox.limits import Limits
from tooltrace.sandbox.values import plain
from tooltrace.store.result import Cut


def bounded(answer: Iterable[Any], limits: Limits) -> tuple[list[list[Any]], Cut | None]:
    """The rows of ``answer`` as JSON can say them, and where they were cut; None where all are there."""
    rows: list[list[Any]] = []
    size = 0
    for row in answer:
        made = [plain(value) for value in row]
        size += len(orjson.dumps(made))
        if len(rows) >= limits.rows:
            return rows, "rows"
        if size > limits.bytes:
            return rows, "bytes"
        rows.append(made)
    return rows, None
