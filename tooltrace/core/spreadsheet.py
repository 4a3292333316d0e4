"""Text that a spreadsheet would evaluate as a formula."""

from __future__ import annotations

from typing import Final

QUOTED_BY: Final = "'"
"""Prefix with which a spreadsheet shows a text as it is."""
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def without_formula(text: str) -> str:
    """Return ``text`` with an apostrophe before it where a spreadsheet would evaluate it."""
    return QUOTED_BY + text if text.startswith(FORMULA_STARTS) else text
