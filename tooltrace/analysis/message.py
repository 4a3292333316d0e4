"""The parts of an error message that vary between messages of its kind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_PLACEHOLDER = re.compile(r"<(?:text|url|path|id|n)>")


class MessagePart(NamedTuple):
    """A part of a message, and whether it varies between messages of the same kind."""

    text: str
    varies: bool


def message_parts(message: str, pattern: str | None) -> tuple[MessagePart, ...]:
    """Return ``message`` in parts that together are the complete message.

    ``pattern``: the message with a placeholder, such as ``<n>``, for each part that varies, as the queries return it.
    Where it does not belong to ``message``, no part varies.
    """
    first, *constants = _PLACEHOLDER.split(pattern or "")
    whole = (MessagePart(message, varies=False),)
    if not constants or not message.startswith(first):
        return whole
    parts, end = [MessagePart(first, varies=False)], len(first)
    for at, constant in enumerate(constants):
        is_last = at == len(constants) - 1
        start = len(message) - len(constant) if is_last else message.find(constant, end + 1)
        if start <= end or not message.startswith(constant, start):
            return whole
        parts += [MessagePart(message[end:start], varies=True), MessagePart(constant, varies=False)]
        end = start + len(constant)
    return tuple(part for part in parts if part.text)


def row_message_parts(row: Mapping[str, Any]) -> tuple[MessagePart, ...]:
    """Return the parts of ``message`` in a row with the columns ``message`` and ``pattern``."""
    return message_parts(row["message"], row.get("pattern"))
