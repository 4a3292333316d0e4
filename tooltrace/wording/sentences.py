"""Sentences in the reader's language: as text, and as pieces for a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from string import Formatter
from typing import Final

from tooltrace.analysis.sentence import Clause, Figure, Sentence
from tooltrace.core.plural import with_noun
from tooltrace.core.visible import shortened, visible_name
from tooltrace.wording.i18n import Translations
from tooltrace.wording.numbers import UNKNOWN, figure

TRACED_UNITS = ("text", "names", "code", "message")
"""Units of values that come from a trace."""

_QUOTES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "en": (("'", "'"), ('"', '"'), ("“", "”"), ("«", "»")),
    "zh": (("“", "”"), ("「", "」"), ("《", "》")),
}
"""Quotes around a message by language, the preferred ones first."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a sentence: words, or the value ``name`` in its unit."""

    text: str
    name: str = ""
    figure: Figure | None = None


def pieces(sentence: Sentence, words: Translations) -> Iterator[Piece]:
    """Yield the words and the values of ``sentence`` in their order, with a full stop unless it ends with an ellipsis."""
    last = ""
    for clause in sentence.clauses:
        for piece in _clause(clause, words):
            yield piece
            last = piece.text
    if not sentence.clauses[0].wording and not last.endswith("…"):
        yield Piece(words("sentence.stop"))


def _clause(clause: Clause, words: Translations) -> Iterator[Piece]:
    wording = (words.exact(clause.kind) or clause.wording) if clause.wording else words(f"sentence.{clause.kind}")
    for literal, name, noun, _ in Formatter().parse(wording):
        if literal:
            yield Piece(literal)
        if name:
            value = clause.values[name]
            text = _text(value, words)
            yield Piece(text, name, value)
            if noun:
                yield Piece(with_noun(text, noun).removeprefix(text))


def _text(value: Figure, words: Translations) -> str:
    if value.unit == "all":
        return words("sentence.all")
    if value.unit == "none":  # the group of the rows without the dimension
        return words("sentence.none")
    if value.value is None:
        return UNKNOWN
    if value.unit == "message":
        return _quoted(visible_name(str(value.value)), words)
    if value.unit == "text":
        return shortened(visible_name(str(value.value)))
    if value.unit == "names":  # a list, each of which is short
        return str(value.value)
    if value.unit == "time" and isinstance(value.value, datetime):
        return f"{value.value:%Y-%m-%d %H:%M} UTC"
    return figure(value.value, value.unit, words)


def _quoted(message: str, words: Translations) -> str:
    """Return ``message`` in quotes that it does not contain, so that its end is seen."""
    quotes = _QUOTES.get(words.language, _QUOTES["en"])
    first, last = next((pair for pair in quotes if not any(mark in message for mark in pair)), quotes[0])
    return f"{first}{message}{last}"


def as_text(sentence: Sentence, words: Translations) -> str:
    """Return the sentence as one line of text; times are UTC."""
    return "".join(piece.text for piece in pieces(sentence, words))
