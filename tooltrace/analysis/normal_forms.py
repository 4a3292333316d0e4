"""Normal forms of arguments, results and errors: equal for requests and answers that differ only in times and numbers of requests.

The patterns are those of the macros of the store, so that both find the same texts equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from tooltrace.store.database.text_patterns import ACKNOWLEDGED, ADDRESSES, DURATIONS, MOMENTS, TIMES, VARYING

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


Pattern = tuple[re.Pattern[str], str]

COMPARED: Final = 1000
"""Characters of a text in which times are left out."""
_NUMBER: Final = re.compile(r'":\s*[0-9]+\s*([,}])')
_MEMBER: Final = re.compile(r'"([^"\\]+)":\s*([0-9]+)\s*[,}]')
_HUMP: Final = re.compile(r"([a-z])([A-Z])")
_ADDRESS: Final = re.compile(rf"(^|_|-)({ADDRESSES})s?$", re.ASCII)
_DONE: Final = re.compile(ACKNOWLEDGED, re.ASCII)
_WAITING: Final = re.compile(r"(^|[^a-z])(sleep|wait|delay|pause)([^a-z]|$)")


def _replacing(patterns: tuple[tuple[str, str], ...]) -> Callable[[str], str]:
    compiled = [(re.compile(pattern.replace("''", "'"), re.ASCII), name) for pattern, name in patterns]

    def replaced(text: str) -> str:
        for pattern, name in compiled:
            text = pattern.sub(name, text)
        return text

    return lru_cache(maxsize=4096)(replaced)


_without_moments = _replacing(MOMENTS)
_without_times = _replacing((*TIMES, *DURATIONS))
_message_kind = _replacing(VARYING)


def arguments_form(arguments: str | None) -> str | None:
    """Return ``arguments`` without times and numbers of requests in the first 1,000 characters."""
    if arguments is None:
        return None
    return _without_moments(arguments[:COMPARED]) + arguments[COMPARED:]


def numberless_form(arguments: str | None) -> str | None:
    """Return ``arguments`` without whole numbers; None without such a number, for one member, or for a long text."""
    if arguments is None or len(arguments) > COMPARED:
        return None
    if not _NUMBER.search(arguments) or not re.search('":.*":', arguments):
        return None
    return _NUMBER.sub(r'":#\1', _without_moments(arguments))


def number_members(arguments: str) -> list[tuple[str, int]]:
    """Return the members of ``arguments`` that are whole numbers."""
    return [(found[1], int(found[2])) for found in _MEMBER.finditer(arguments)]


def error_form(code: str | None, error_type: str | None, message: str | None) -> tuple[str, str, str]:
    """Return what errors of one kind have in common."""
    return code or "", error_type or "", _message_kind((message or "")[:500])


def answer_form(text: str | None, result: str | None) -> tuple[str, ...]:
    """Return a result without times and durations in the first 1,000 characters; a longer one is compared as a whole too."""
    parts = (text or "", result or "")
    return (
        *(_without_times(part[:COMPARED]) for part in parts),
        *(part if len(part) > COMPARED else "" for part in parts),
    )


def is_address(name: str) -> bool:
    """Return whether a member's name says that its number addresses something: a page, a record, a line, a time."""
    return _ADDRESS.search(_HUMP.sub(r"\1_\2", name).lower()) is not None


def is_acknowledgement(text: str | None, result: str | None) -> bool:
    """Return whether a result says only that something was done: it does not show whether a call made progress."""
    shown = text or result or ""
    return len(shown) <= 80 and (shown in ("", "null", '""', "{}") or _DONE.search(shown.lower()) is not None)


def only_waits(tool: str) -> bool:
    """Return whether the name of a tool says that it only waits."""
    return _WAITING.search(tool.lower()) is not None
