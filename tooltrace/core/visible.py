"""Text from a trace as a person may see it: characters that hide or rearrange text become escapes.

Pages, reports and the terminal show names and messages that a tool, a model or a foreign instrumentation chose. Such a
text must not overwrite its surroundings, reverse them or pretend to be another.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

BLANK: Final = "␠"
"""Character shown for a name without any visible character."""
MOST_NAME_CHARACTERS: Final = 120
"""Characters of a name that are shown."""

_HIDDEN: Final = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls, but for line breaks and tabs
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional marks, overrides and isolates
    r"\u2028\u2029\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
_HIDDEN_IN_NAMES: Final = re.compile(
    "[\n\r\t\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200d\u2060-\u2064\u3164\uffa0]"
)
_HIDDEN_IN_EVIDENCE: Final = re.compile(
    "[\r\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u206f\u3164\ufe00-\ufe0f\uffa0\U000e0080-\U000e0fff]"
)
"""Characters without a glyph, and variation selectors, which can carry a hidden text to a model."""
_MARK: Final = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"
_STACKED: Final = re.compile(f"(?<=[{_MARK}]{{2}})[{_MARK}]+")


def visible(text: str) -> str:
    """Return ``text`` with escapes for controls, bidirectional marks and stacked combining characters.

    Line breaks and tabs stay. The first two combining characters of a letter stay, as languages need them.
    """
    if text.isascii() and text.isprintable():
        return text
    return _STACKED.sub(_escapes, _HIDDEN.sub(_escapes, text))


def visible_name(text: str) -> str:
    """Return a name in one line, with escapes for invisible characters too; a blank name is ``␠``."""
    if not text.strip():
        return BLANK
    return _HIDDEN_IN_NAMES.sub(_escapes, visible(text))


def visible_evidence(text: str) -> str:
    """Return ``text`` for a model, which reads characters that a person does not see: with escapes for all of those.

    Line breaks and tabs stay.
    """
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN_IN_EVIDENCE.sub(_escapes, visible(text))


def shortened(name: str) -> str:
    """Return the first characters of a visible name, with "…" where it is longer."""
    return name if len(name) <= MOST_NAME_CHARACTERS else f"{name[: MOST_NAME_CHARACTERS - 1]}…"


def _escapes(found: re.Match[str]) -> str:
    text = found[0]
    return _escape(text) if len(text) == 1 else _escape_all(text)


@lru_cache(maxsize=1024)
def _escape(character: str) -> str:
    """Return the escape of one character, remembered: a text may have thousands of them."""
    return _escape_all(character)


def _escape_all(text: str) -> str:
    codes = [ord(character) for character in text]
    shown = "".join(f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in codes[:4])
    return shown if len(codes) <= 4 else f"{shown}…({len(codes)})"
