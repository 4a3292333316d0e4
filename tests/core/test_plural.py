"""Numbers with their nouns."""

from __future__ import annotations

import pytest

from tooltrace.core.plural import CountingFormatter, format_count


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [(1, "call", "1 call"), (0, "call", "0 calls"), (1234, "call", "1,234 calls"), (2, "query|queries", "2 queries")],
)
def test_a_noun_is_in_the_singular_for_one(number, noun, text):
    assert format_count(number, noun) == text
    assert CountingFormatter().format(f"{{n:{noun}}}", n=f"{number:,}") == text
