"""Sentences as data: clauses with values and links. ``tooltrace.wording.sentences`` turns them into text in a language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tooltrace.analysis.normal_forms import MessagePart


@dataclass(frozen=True, slots=True)
class Figure:
    """One value of a sentence, with a unit of ``tooltrace.analysis.header.UNITS``."""

    value: Any
    unit: str
    parts: tuple[MessagePart, ...] = ()
    """The value, an error message, as constant and varying parts; empty for other values."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence: its kind, which selects the wording, and its values by name."""

    kind: str
    values: Mapping[str, Figure] = field(default_factory=dict)
    wording: str = ""
    """The English wording with the values in braces, of a clause whose wording a query file has."""


@dataclass(frozen=True, slots=True)
class Link:
    """Something that a reader can open next, by ids: calls, a tool, or a query with its parameters."""

    kind: Literal["calls", "tool", "compare"]
    params: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: clauses in their order, and links."""

    clauses: tuple[Clause, ...]
    links: tuple[Link, ...] = ()
