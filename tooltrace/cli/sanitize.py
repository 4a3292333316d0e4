"""Sanitize text from a store, which is not trusted, before a terminal shows it."""

from __future__ import annotations

import re

from tooltrace.core.visible import visible

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS …: titles, links
    r"|\x1b[ -/]*[0-~]"
)


def clean(text: str, *, lines: bool = False) -> str:
    """Return ``text`` without escape sequences, and with other control characters and bidirectional marks as escapes.

    Line breaks and tabs become spaces, unless ``lines`` is true.
    """
    text = visible(_ESCAPES.sub("", text.replace("\r\n", "\n"))).replace("\r", "\\x0d")
    return text if lines else text.replace("\n", " ").replace("\t", " ")
