"""The first part of plain data that is larger than a snapshot may be."""

from __future__ import annotations

from typing import Any

import orjson

from tooltrace.redact.plain_data import plain_json
from tooltrace.redact.texts import MAX_JSON, cut_text, fix_unicode, marker

SHORT = 2000
"""Maximum bytes of a mapping's member that is recorded although the room is used up."""
BEYOND_CUT = 64
"""Maximum members of a mapping that are still recorded after the budget is used up.

A scalar member is recorded by its value, any other by its type. The last argument of a call matters as much as the
first."""
_FEW = 64
"""Maximum members of a mapping of which one is measured by writing the others."""


def shrink(value: Any, size: int, limit: int) -> bytes:
    """Return the JSON of the first part of plain data whose JSON has ``size`` bytes: somewhat more than ``limit``.

    Lists are sliced in proportion, so that C code reads what remains. Mappings keep all their short members up to a
    number, because the last member of a result may be its error.
    """
    return orjson.dumps(_Shrinker(limit).shrink(value, size))


class _Shrinker:
    """One reduction of plain data to about ``limit`` bytes of JSON."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._room = limit + limit // 2

    def shrink(self, value: Any, size: int) -> Any:
        kind = type(value)
        if issubclass(kind, str):
            return self._text(str.__str__(value))
        if issubclass(kind, dict):
            return self._dict(value, size)
        if issubclass(kind, list | tuple):
            return self._list(list(value) if kind is not list else value, size)
        return marker(value)

    def _member(self, value: Any, size: int | None) -> Any:
        """Return a member whose JSON has ``size`` bytes, where that is known."""
        if type(value) is str and len(value) > MAX_JSON:
            return self._text(value) if self._room > 0 else "…"
        if size is None or size <= max(self._room, SHORT):
            raw = plain_json(value)
            if raw is None:  # another thread has changed it
                return marker(value)
            size = len(raw)
            # a short member is kept although the room is used up: the last one of a result may be its error
            if size <= max(self._room, SHORT):
                self._room -= size
                return orjson.Fragment(raw)
        return self.shrink(value, size) if self._room > 0 else "…"

    def _text(self, text: str) -> str:
        # never shorter than the limit and the margin: redaction recognises it as long, and omits a cut secret
        kept = fix_unicode(cut_text(text, self._limit))
        self._room -= len(kept)
        return kept

    def _dict(self, value: dict[Any, Any], size: int) -> dict[str, Any]:
        items = list(dict.items(value))
        longest, longest_size = _longest_container(items, size)
        out: dict[str, Any] = {}
        beyond = BEYOND_CUT
        for position, (key, item) in enumerate(items):
            if self._room <= 0:
                beyond -= 1
                if beyond < 0:
                    out["<too many>"] = "…"
                    break
            name = (fix_unicode(str.__str__(key)) if issubclass(type(key), str) else marker(key))[: self._limit]
            self._room -= len(name) + 4
            out[name] = self._member(item, longest_size if position == longest else None)
        return out

    def _list(self, value: list[Any], size: int) -> Any:
        count = max(1, len(value) * self._room // size)
        head = value[:count]
        raw = plain_json(head)
        if raw is not None and len(raw) > 2 * self._room:  # the first items are longer than the others
            return [self._member(head[0], len(raw) - 2)] if len(head) == 1 else self._list(head, len(raw))
        if raw is None:
            return marker(value)
        self._room -= len(raw)
        return orjson.Fragment(raw)


def _longest_container(items: list[tuple[Any, Any]], size: int) -> tuple[int, int | None]:
    """Return the position of the longest list or mapping among the members, and the bytes of its JSON.

    ``size``: bytes of the JSON of all members. Only the other members are written to know the rest, because a huge result
    is most often one huge member. The size is None where that would not be cheap.
    """
    if not 0 < len(items) <= _FEW:
        return -1, None
    lengths = [len(item) if type(item) in (dict, list) else -1 for _, item in items]
    longest = lengths.index(max(lengths))
    if lengths[longest] < 0:
        return -1, None
    others = {key: item for position, (key, item) in enumerate(items) if position != longest}
    raw = None if any(type(item) is str and len(item) > MAX_JSON for item in others.values()) else plain_json(others)
    key = plain_json(items[longest][0])
    if raw is None or key is None:
        return longest, None
    rest = size - len(raw) - len(key) - len(b",:" if others else b":")
    return longest, rest if rest > 0 else None  # another thread may have changed a member
