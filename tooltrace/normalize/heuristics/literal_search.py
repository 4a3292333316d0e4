"""A search for many literals at once, in one pass over a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from ahocorasick import Automaton


def literal_search(literals: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that tells whether a text has one of ``literals``. The first call builds the automaton."""

    @cache
    def automaton() -> Automaton:
        made = Automaton()
        for literal in literals:
            made.add_word(literal, None)
        made.make_automaton()
        return made

    return lambda text: next(automaton().iter(text), None) is not None
