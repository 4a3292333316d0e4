"""Numbers with their nouns, in the singular for 1."""

from __future__ import annotations

from string import Formatter
from typing import Any


def format_count(number: int, noun: str) -> str:
    """Return ``number`` with its ``noun``, in the plural where it is not 1."""
    return with_noun(f"{number:,}", noun)


def with_noun(number: str, noun: str) -> str:
    """Return the formatted ``number`` with its ``noun``; a plural that does not end with s stands behind a ``|``."""
    one, _, many = noun.partition("|")
    return f"{number} {one if number == '1' else many or f'{one}s'}"


class CountingFormatter(Formatter):
    """A formatter for texts in which ``{n:call}`` is a number with its noun: 1 call, 2 calls."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return ``value`` as text, with the noun that ``format_spec`` is."""
        return with_noun(str(value), format_spec) if format_spec else str(value)
