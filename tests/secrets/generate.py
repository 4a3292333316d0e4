"""Texts that a regular expression matches, made by a seeded walk over its parse."""

from __future__ import annotations

import random
import re
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

PRINTABLE = [chr(code) for code in range(33, 127)]


def text_of(pattern: re.Pattern[str], chance: random.Random) -> str:
    """Return a text that ``pattern`` probably matches: assertions are not followed."""
    groups: dict[int, str] = {}
    return "".join(_parts(_parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE), chance, groups))


def _parts(tokens: Any, chance: random.Random, groups: dict[int, str]) -> list[str]:
    return [_part(kind, value, chance, groups) for kind, value in tokens]


def _part(kind: Any, value: Any, chance: random.Random, groups: dict[int, str]) -> str:
    if kind is op.LITERAL:
        return chr(value)
    if kind in (op.IN, op.NOT_LITERAL, op.ANY):
        chars = [char for char in PRINTABLE if _allows(kind, value, char)] or [" "]
        words = [char for char in chars if char.isalnum()]
        return chance.choice(words or chars)
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        least, most, inner = value
        is_space = inner[0][0] is op.IN and inner[0][1] == [(op.CATEGORY, op.CATEGORY_SPACE)]
        many = chance.randint(least, least + min(most - least, 1 if is_space else 12))
        return "".join("".join(_parts(inner, chance, groups)) for _ in range(many))
    if kind is op.SUBPATTERN:
        groups[value[0]] = "".join(_parts(value[3], chance, groups))
        return groups[value[0]]
    if kind is op.BRANCH:
        return "".join(_parts(chance.choice(value[1]), chance, groups))
    return groups.get(value, "") if kind is op.GROUPREF else ""


def _allows(kind: Any, value: Any, char: str) -> bool:
    if kind is op.NOT_LITERAL:
        return ord(char) != value
    if kind is op.ANY:
        return True
    found = any(
        (part is op.LITERAL and ord(char) == each)
        or (part is op.RANGE and each[0] <= ord(char) <= each[1])
        or (part is op.CATEGORY and _in_category(each, char))
        for part, each in value
    )
    return found != (value[0][0] is op.NEGATE)


def _in_category(category: Any, char: str) -> bool:
    kind = str(category)
    found = char.isdigit() if "DIGIT" in kind else char.isspace() if "SPACE" in kind else char.isalnum() or char == "_"
    return found != ("NOT" in kind)
