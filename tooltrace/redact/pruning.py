"""JSON data cut to the size limit of a field: the front of each text and list, and what is left out, as a count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tooltrace.redact.plain_data import json_of

_SCALAR = 8
"""Bytes that a number, a boolean or null counts."""
_MEASURED_DEPTH = 8
"""Depth up to which a container is measured before it is cut: each level is measured again inside the one around it."""


def _json_size(text: str) -> int:
    """Return the bytes of ``text`` as JSON."""
    if text.isascii() and text.isprintable():  # most texts: only two characters are escaped
        return len(text) + 2 + text.count('"') + text.count("\\")
    return len(json_of(text))


class Pruning:
    """One cut of JSON data. Reads the data only as far as it is kept."""

    def __init__(self, limit: int, head: Callable[[str], str] | None, *, counted: bool) -> None:
        """``limit``: about the bytes of JSON that are kept.

        ``head`` cuts a text to the limit, as names and lists are cut then; None where the leaves have been cut before.
        ``counted``: whether to write how many members are left out, which is unknown where the data was cut before.
        """
        self._limit = limit
        self._left = limit
        self._head = head
        self._counted = counted

    def prune(self, value: Any, depth: int = 0) -> Any:
        """Return ``value``, cut to the bytes that are left. Data that is kept whole is returned itself, not a copy."""
        kind = type(value)
        # the data is from orjson, so it has no subclasses
        if kind is str:
            return self._text(value if self._head is None else self._head(value))
        if kind is dict or kind is list:
            if depth < _MEASURED_DEPTH and (size := self._size(value)) < self._left:
                self._left -= size
                return value
            return self._dict(value, depth + 1) if kind is dict else self._list(value, depth + 1)
        self._left -= _SCALAR
        return value

    def _size(self, value: dict[str, Any] | list[Any]) -> int:
        """Return the bytes that ``value`` counts; where those are more than are left, any such number."""
        left = self._left
        if type(value) is dict:
            size = sum(map(len, value)) + 4 * len(value)
            items: Any = value.values()
        else:
            size = len(value)
            items = value
        for item in items:
            if size >= left:
                break
            kind = type(item)
            if kind is str:
                size += _json_size(item)
            elif kind is dict or kind is list:
                size += self._size(item)
            else:
                size += _SCALAR
        return size

    def _text(self, text: str) -> str:
        size = _json_size(text)
        # escapes and UTF-8 make JSON longer than the text: the part that fits is estimated in proportion
        front = text if size <= self._left else text[: max(self._left, 0) * len(text) // size]
        self._left -= size
        return front if front == text else front + "…"

    def _dict(self, value: dict[str, Any], depth: int) -> dict[str, Any]:
        if self._head is not None and max(map(len, value), default=0) > self._limit:
            value = {key[: self._limit]: item for key, item in value.items()}
        out: dict[str, Any] = {}
        for key, item in value.items():
            if self._left <= 0:
                out["…"] = f"{len(value) - len(out)} more" if self._counted else "more"
                break
            self._left -= len(key) + 4
            out[key] = self.prune(item, depth)
        return out

    def _list(self, value: list[Any], depth: int) -> list[Any]:
        if self._head is not None:
            value = value[: self._limit]
        out: list[Any] = []
        for item in value:
            if self._left <= 0:
                out.append(f"… {len(value) - len(out)} more" if self._counted else "… more")
                break
            self._left -= 1
            out.append(self.prune(item, depth))
        return out
