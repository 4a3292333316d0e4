"""``clean`` shows control characters as escapes, as the pages do, and changes nothing else."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.cli.sanitize import clean
from tooltrace.core.visible import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – ünï ☃", "plain – ünï ☃"),
        ("\x1b[1;31mred\x1b[0m", r"\x1b[1;31mred\x1b[0m"),
        ("\x9b31mred", r"\x9b31mred"),
        ("\x1b]8;;https://bad\x1b\\link\x1b]8;;\x1b\\", r"\x1b]8;;https://bad\x1b\link\x1b]8;;\x1b" + "\\"),
        ("\x1b]52;c;cm0gLXJm\x07copied", r"\x1b]52;c;cm0gLXJm\x07copied"),
        ("\x1bPq#0\x1b\\dcs", r"\x1bPq#0\x1b\dcs"),
        ("\x1bcreset", r"\x1bcreset"),
        ("cut \x1b[", r"cut \x1b["),
        ("a\r\nb\tc\rd", r"a b c\x0dd"),
        ("\u202eback\u2066", r"\u202eback\u2066"),
    ],
)
def test_known_tricks(text, shown):
    assert clean(text) == shown


def test_the_pages_show_the_same() -> None:
    for text in ("\x1b[1;31mred\x1b[0m", "\x9b31mred", "\u202eback"):
        assert clean(text) == visible(text)


@given(st.text(st.characters() | st.sampled_from("\x1b\x9b\x9d\x90[]Pm;\x07\\")))
def test_no_control_character_is_left(text):
    for lines in (False, True):
        left = clean(text, lines=lines)
        assert not {c for c in left if unicodedata.category(c) in ("Cc", "Cs")} - ({"\n", "\t"} if lines else set())
