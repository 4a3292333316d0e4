"""Texts of recorded values: valid Unicode, and the parts that are kept of a long one."""

from __future__ import annotations

from tooltrace.redact.inspection import full_name

MASK = "[redacted]"
"""The text that replaces a secret."""
SNAPSHOT_SIZE = 64 * 1024
"""Maximum characters of text that one snapshot reads from objects in the tool's own thread."""
MAX_JSON = 1024 * 1024
"""Maximum bytes of plain data in a snapshot: rules and redaction read as much whole. A larger value is cut."""
MARGIN = 4096
"""Characters past the limit that are kept of a long text, to redact it before it is cut: longer than any secret."""
_MEASURED = 4 * 1024 * 1024
TAIL = 4096
"""Characters at the end of a long text that are kept for rules, which may look for an exit status there."""

_LETTERS = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"), ("\u212a", "k"))
"""Non-ASCII characters that `re.IGNORECASE` treats as equal to an ASCII letter, and that letter."""


def cut_text(text: str, limit: int) -> str:
    """Return ``text``, or a part of it where it is long: its front, from which a field is made, and its end.

    The whole text is not copied. A text that may be JSON stays whole up to MAX_JSON characters, because rules and
    redaction read it by its members.
    """
    room = limit + MARGIN
    if len(text) <= room + TAIL or (
        len(text) <= MAX_JSON and (text[:1] in "{[" or text[:64].lstrip()[:1] in ("{", "["))
    ):
        return text
    return text[:room] + text[-TAIL:]


def utf8_size(text: str) -> int:
    """Return the size of ``text`` in UTF-8; that of a long text that is not ASCII is estimated from its front."""
    if text.isascii():
        return len(text)
    front = text[:_MEASURED]
    size = len(front.encode("utf-8", "surrogatepass"))
    return size if front == text else size * len(text) // _MEASURED


def fix_unicode(text: str) -> str:
    """Return ``text`` as valid Unicode: surrogate pairs joined, lone surrogates replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def marker(value: object) -> str:
    """Return the text that is recorded in place of an object that cannot be read: its type."""
    return fix_unicode(f"<{full_name(type(value))}>")


def fold(text: str) -> str:
    """Return ``text`` in lower case as `re.IGNORECASE` compares it; characters keep their positions."""
    if not text.isascii():
        for letter, ascii_letter in _LETTERS:
            text = text.replace(letter, ascii_letter)
    return text.lower()
