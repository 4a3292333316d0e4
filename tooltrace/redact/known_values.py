"""Secrets that are known because they were removed once: they are removed wherever else they stand.

A password is found by its key, and then stands alone in the message of an exception: ``login with … refused``. The values
stay in memory only, as long as the attempt and those inside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from tooltrace.redact.plain_data import json_of
from tooltrace.redact.texts import MASK

MIN_LENGTH: Final = 8
MAX_LENGTH: Final = 4096
MAX_VALUES: Final = 50
"""Maximum number of values that are remembered of one attempt."""
_SCHEME: Final = re.compile(r"(?i:bearer|basic|token|apikey|api-key|digest)\s+(\S+)")
_PLAIN: Final = re.compile(
    r"[^\W\d_]+|[\d\s.,:/+\-]+(?:[TZ][\d\s.,:/+\-]*)*|(?:[A-Za-z]:\\|~?\.{0,2}/).*|[\w.\-]+(?:/[\w.\-]+)+|(?:true|false|none|null)\b.*",
    re.DOTALL,
)
"""A word, a number or a time, a path: it may stand elsewhere for something else."""


def is_distinct(value: str) -> bool:
    """Whether ``value`` is a secret only: not a word, a number or a path, and of MIN_LENGTH characters or more."""
    if not MIN_LENGTH <= len(value) <= MAX_LENGTH or MASK in value:
        return False
    if value.isalpha() and not (value.islower() or value.istitle()):
        return True  # letters in no order of a word
    return _PLAIN.fullmatch(value) is None


def removed_values(before: Any, after: Any) -> Iterator[str]:
    """Yield the texts that ``before``, JSON data, has and its redacted form ``after`` has not."""
    if after is before:
        return
    if isinstance(before, str):
        yield from _removed_texts(before, after) if isinstance(after, str) else ()
    elif isinstance(before, dict) and isinstance(after, dict) and len(before) == len(after):
        for value, safe in zip(before.values(), after.values(), strict=True):
            yield from removed_values(value, safe)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for value, safe in zip(before, after, strict=True):
            yield from removed_values(value, safe)
    elif after == MASK:
        yield from _texts(before)


def _removed_texts(before: str, after: str) -> Iterator[str]:
    if before[:1] in ("{", "[", '"') and after[:1] == before[:1]:
        try:
            yield from removed_values(orjson.loads(before), orjson.loads(after))
            return
        except ValueError:
            pass
    place = 0
    kept = after.split(MASK)
    if not before.startswith(kept[0]):
        return  # a function of the user wrote another text
    place = len(kept[0])
    for piece in kept[1:]:
        end = before.find(piece, place) if piece else len(before)
        if end < 0:
            return
        yield from _with_token(before[place:end])
        place = end + len(piece)


def _with_token(value: str) -> Iterator[str]:
    """Yield ``value``, without the white space around it, and the token in a header such as ``Bearer …``."""
    value = value.strip()
    if is_distinct(value):
        yield value
    if (scheme := _SCHEME.fullmatch(value)) is not None and is_distinct(scheme[1]):
        yield scheme[1]


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in ``value``, which was removed whole."""
    if isinstance(value, str):
        yield from _with_token(value)
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


class KnownValues:
    """The texts to remove, in each form in which a text or JSON may have them."""

    def __init__(self, values: Iterable[str]) -> None:
        forms: set[str] = set()
        for value in values:
            escaped = json_of(value).decode()[1:-1]
            forms |= {value, escaped, json_of(escaped).decode()[1:-1]}
        # the longest first: one may be a part of another
        self._forms = sorted(forms, key=len, reverse=True)

    def __bool__(self) -> bool:
        return bool(self._forms)

    def removed_from(self, text: str) -> str:
        """Return ``text``, or JSON, with the mask in place of each value."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        return text
