"""Names and texts from a trace cannot hide, reverse or overwrite what stands beside them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.core.visible import BLANK, MOST_NAME_CHARACTERS, shortened, visible, visible_name
from tooltrace.report.templates import finalized, name


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("search_docs", "search_docs"),
        ("查询 поиск café ñ", "查询 поиск café ñ"),
        ("e\u0301\u0323 stays", "e\u0301\u0323 stays"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("Z" + "\u0336" * 6, "Z\u0336\u0336" + r"\u0336" * 4),
        ("Z" + "\u0336" * 99, "Z\u0336\u0336" + r"\u0336" * 4 + "…(97)"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\ud800", r"\ud800"),
    ],
)
def test_a_text(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\u3000"])
def test_a_blank_name_is_visible(blank):
    assert visible_name(blank) == BLANK


def test_an_invisible_name_is_visible():
    assert visible_name("\u200b") == r"\u200b"
    assert visible_name("a\nb") == r"a\x0ab"


def test_a_long_name_is_cut_with_a_title():
    shown = str(name("<x>" + "n" * 10_000))
    assert shown.startswith('<span title="&lt;x&gt;nnn')
    assert shown.endswith("n…</span>")
    assert len(shown) < 1_300
    assert len(shortened("n" * 10_000)) == MOST_NAME_CHARACTERS


def test_markup_of_a_template_stays():
    markup = name("a")
    assert finalized(markup) is markup
    assert finalized(3) == 3


@given(st.text())
def test_no_control_and_no_bidirectional_mark_is_left(text):
    left = set(visible(text)) - set("\n\t\r")
    assert not {one for one in left if unicodedata.category(one) in ("Cc", "Cs")}
    assert not {one for one in left if unicodedata.bidirectional(one) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")}  # fmt: skip
