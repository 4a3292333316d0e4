"""The patterns of ``patterns/texts.txt``, by the name of their list."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from tooltrace.normalize.lazy_regex import lazy

_PART = re.compile(r"\{\{(\w+)\}\}")


class TextPattern(NamedTuple):
    """A pattern, and a text that it matches."""

    pattern: str
    example: str


@cache
def patterns(name: str) -> tuple[TextPattern, ...]:
    """Return the patterns of the list ``name``, in their order."""
    return _lists()[name]


@cache
def _lists() -> dict[str, tuple[TextPattern, ...]]:
    parts: dict[str, str] = {}
    lists: dict[str, list[TextPattern]] = {}
    found: list[TextPattern] = []
    for line, pattern in _entries(files("tooltrace.normalize").joinpath("patterns", "texts.txt").read_text("utf-8")):
        mark, _, text = line.partition(" ")
        if mark == "##":
            found = lists.setdefault(text, [])
        elif mark == "=":
            parts[text] = pattern
        else:
            found.append(TextPattern(pattern, text.replace("⏎", "\n")))
    return {
        name: tuple(TextPattern(_whole(each.pattern, parts), each.example) for each in rows)
        for name, rows in lists.items()
    }


def _entries(text: str) -> list[tuple[str, str]]:
    """Return each line with a mark, and the pattern in the lines after it."""
    entries: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith(("## ", "= ", "+ ")):
            entries.append((line, ""))
        elif line and entries:
            mark, before = entries[-1]
            entries[-1] = (mark, before + line.removeprefix("    "))
    return entries


def _whole(pattern: str, parts: dict[str, str]) -> str:
    """Return ``pattern`` with its named parts."""
    while _PART.search(pattern):
        pattern = _PART.sub(lambda match: parts[match[1]], pattern)
    return pattern


def any_of(name: str, flags: int = 0) -> re.Pattern[str]:
    """Return one pattern for all of the list ``name``, compiled on first use."""
    return lazy(lambda: "|".join(f"(?:{each.pattern})" for each in patterns(name)), flags)


def each_of(name: str, flags: int = 0) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of the list ``name``, each compiled on first use."""
    return tuple(lazy(each.pattern, flags) for each in patterns(name))
