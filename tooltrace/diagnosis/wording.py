"""Clauses of findings: a kind, whose texts ``dashboards/strings`` has in each language, and values with their units."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Final

from tooltrace.analysis.normal_forms import message_parts
from tooltrace.analysis.sentence import Clause, Figure, Sentence
from tooltrace.core.plural import format_count
from tooltrace.core.visible import shortened, visible_name
from tooltrace.wording.i18n import DEFAULT, Translations
from tooltrace.wording.sentences import as_text

MAX_NAMES: Final = 6
"""Names in a list; the others are counted."""


def clause(kind: str, **values: Figure) -> Clause:
    """Return the clause whose text is ``sentence.finding.<kind>``."""
    return Clause(f"finding.{kind}", values)


def sentence(kind: str, **values: Figure) -> Sentence:
    """Return a sentence of one clause."""
    return Sentence((clause(kind, **values),))


def limits(low: float | None, high: float | None) -> list[Clause]:
    """Return the interval of a share as a clause; none where it is unknown."""
    return [] if low is None or high is None else [clause("limits", low=share(low), high=share(high))]


def english(said: Sentence) -> str:
    """Return the sentence in English, as the Python API and programs get it."""
    return as_text(said, _english())


def text(value: str) -> Figure:
    """Return a name of the history, in whole: what shows it shortens it, and escapes what is hidden in it."""
    return Figure(value, "text")


def names(values: Sequence[str]) -> Figure:
    """Return names as a list, of which the last ones are counted."""
    shown = ", ".join(shortened(visible_name(value)) for value in values[:MAX_NAMES])
    more = len(values) - MAX_NAMES
    return Figure(f"{shown} and {format_count(more, 'other')}" if more > 0 else shown, "names")


def code(value: str) -> Figure:
    """Return an error code."""
    return Figure(value, "code")


def message(value: str) -> Figure:
    """Return an error message of the history, in one line."""
    line = " ".join(value.split())
    return Figure(line, "message", message_parts(line, None))


def share(value: float | None) -> Figure:
    """Return a share between 0 and 1."""
    return Figure(value, "share")


def count(value: float) -> Figure:
    """Return a whole number."""
    return Figure(round(value), "count")


def ms(value: float) -> Figure:
    """Return a duration in milliseconds."""
    return Figure(value, "ms")


def at(value: datetime) -> Figure:
    """Return a time, naive UTC."""
    return Figure(value, "time")


@cache
def _english() -> Translations:
    return Translations(DEFAULT)
