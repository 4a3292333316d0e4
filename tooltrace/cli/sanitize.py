"""Sanitize text from a store, which is not trusted, before a terminal shows it."""

from __future__ import annotations

from tooltrace.core.visible import visible


def clean(text: str, *, lines: bool = False) -> str:
    """Return ``text`` with escapes for control characters, those of escape sequences included, and bidirectional marks.

    Nothing is removed, as on the pages: a name with colours is another name than the same one without.
    Line breaks and tabs become spaces, unless ``lines`` is true.
    """
    text = visible(text.replace("\r\n", "\n")).replace("\r", "\\x0d")
    return text if lines else text.replace("\n", " ").replace("\t", " ")
