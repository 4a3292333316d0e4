"""A search for many literals at once, by an automaton of Aho and Corasick.

A loop over ``in``, and an expression of Python's ``re``, read a text once for each literal. The automaton reads it once
for all, at some 250 MiB/s for 500 literals, and says where each of them is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ahocorasick_rs
else:
    try:
        import ahocorasick_rs
    except ImportError:  # no wheel for this Python yet
        ahocorasick_rs = None

Found = Sequence[tuple[int, int, int]]
"""The number of each literal that was found, and where it begins and ends."""
Search = Callable[[str], Found]
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def literal_positions(literals: Sequence[str]) -> Search:
    """Return a function that finds each place of each of ``literals`` in a text, overlapping ones too."""
    if ahocorasick_rs is None:
        return slow_literal_positions(literals)
    automaton = ahocorasick_rs.AhoCorasick(literals, implementation=ahocorasick_rs.Implementation.DFA)

    def find(text: str) -> Found:
        try:
            return automaton.find_matches_as_indexes(text, overlapping=True)
        except UnicodeEncodeError:  # the library reads valid Unicode only
            return automaton.find_matches_as_indexes(_LONE_SURROGATE.sub("\ufffd", text), overlapping=True)

    return find


def slow_literal_positions(literals: Sequence[str]) -> Search:
    """Return the same function made with ``re``, which reads a text once for each first letter."""
    longest_first = sorted(literals, key=len, reverse=True)
    pattern = re.compile(f"(?=({'|'.join(map(re.escape, longest_first))}))")
    begun_by = {
        literal: [(number, len(short)) for number, short in enumerate(literals) if literal.startswith(short)]
        for literal in literals
    }

    def find(text: str) -> Found:
        return [
            (number, match.start(), match.start() + length)
            for match in pattern.finditer(text)
            for number, length in begun_by[match[1]]
        ]

    return find
