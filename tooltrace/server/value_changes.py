"""Differences of two calls for a page: the values that differ, each with the part in which the two sides differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from tooltrace.analysis.alignment import AlignedPair
from tooltrace.redact.plain_data import json_of

IN_THE_HEAD: Final = frozenset({"status", "code"})
"""Values that the head of each call shows, so that they are not repeated as changes."""
CONTEXT: Final = 40
"""Characters that are shown before and after the part that differs."""
LONGEST: Final = 400
"""Characters that are shown of the part that differs."""
PARSED: Final = 100_000
"""Characters up to which a value is read as JSON, so that its members are compared one by one."""
_WORD: Final = 24
"""Characters by which the part that differs is extended at most, so that it begins and ends with a word."""
_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class MarkedText:
    """One side of a value that differs: an equal text, the part that differs, and an equal text."""

    before: str
    part: str
    after: str


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A value, or a member of a JSON object, that differs."""

    name: str
    """Name of the value, such as arguments."""
    member: str | None
    """Name of the member; None for the whole value."""
    a: MarkedText | None
    """The value of A; None if A has none."""
    b: MarkedText | None


def value_changes(pair: AlignedPair) -> tuple[ValueChange, ...]:
    """Return the values of ``pair`` that differ, without those that the head of each call shows."""
    return tuple(change for name in pair.changes for change in _of_value(pair, name))


def _of_value(pair: AlignedPair, name: str) -> Iterator[ValueChange]:
    if name in IN_THE_HEAD or pair.a is None or pair.b is None:
        return
    if name == "answer" and "result" in pair.changes and all(_is_the_result(call) for call in (pair.a, pair.b)):
        return
    a, b = (_read(call[name], is_json=name in ("arguments", "result")) for call in (pair.a, pair.b))
    if not (isinstance(a, dict) and isinstance(b, dict)):
        yield ValueChange(name, None, *mark(_text(a), _text(b)))
        return
    for member in dict.fromkeys((*a, *b)):
        one, other = a.get(member, _ABSENT), b.get(member, _ABSENT)
        if one is _ABSENT or other is _ABSENT or one != other or type(one) is not type(other):
            yield ValueChange(name, member, *mark(_text(one), _text(other)))


def _is_the_result(call: dict[str, Any]) -> bool:
    """Whether the answer of ``call`` has the text of its result."""
    return bool(_text(_read(call["result"], is_json=True)) == call["answer"])


def _read(value: Any, *, is_json: bool) -> Any:
    """Return the data of a recorded value; ``_ABSENT`` for none, which is not the JSON value null."""
    if value is None:
        return _ABSENT
    if is_json and isinstance(value, str) and len(value) <= PARSED:
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def _text(value: Any) -> str | None:
    if value is _ABSENT:
        return None
    if isinstance(value, str):
        return value
    try:
        return json_of(value).decode()
    except (TypeError, ValueError, RecursionError):  # nested too deeply
        return str(value)


def mark(a: str | None, b: str | None) -> tuple[MarkedText | None, MarkedText | None]:
    """Return both texts with the part that differs, from the first to the last difference."""
    if a is None or b is None:
        one, other = (None if text is None else MarkedText("", _cut(text), "") for text in (a, b))
        return one, other
    start = _common(a, b)
    end = _common(a[start:][::-1], b[start:][::-1])
    start -= _inside_word(a[:start][::-1])
    end -= _inside_word(a[len(a) - end :])
    before = a[:start] if start <= CONTEXT else f"…{a[start - CONTEXT : start]}"
    after = a[len(a) - end :] if end <= CONTEXT else f"{a[len(a) - end : len(a) - end + CONTEXT]}…"
    one, other = (MarkedText(before, _cut(text[start : len(text) - end]), after) for text in (a, b))
    return one, other


def _common(a: str, b: str) -> int:
    """Return the length of the text with which both begin. Slices are compared, because texts can be long."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _inside_word(text: str) -> int:
    """Return the number of letters and digits with which ``text`` begins; 0 for more than a word has."""
    length = next((place for place, character in enumerate(text[: _WORD + 1]) if not character.isalnum()), len(text))
    return length if length <= _WORD else 0


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
