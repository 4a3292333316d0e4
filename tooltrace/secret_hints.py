"""Tell cheaply which kinds of secrets a text can hold.

Each pattern of a secret contains a literal, such as ``token`` or ``eyJ``. A text that holds none of these
literals holds no secret, and a search for a literal runs at the speed of memory.
"""

from __future__ import annotations

import re
from functools import cache

Hint = bytes
"""A literal that every match of some pattern contains, or the name of some secret JSON key."""
Hints = tuple[Hint, ...]

_ANY_CASE: Hints = (b"pass", b"pwd", b"secret", b"key", b"token", b"credential", b"authorization", b"cookie", b"bearer",
                    b"basic")  # fmt: skip
_EXACT: Hints = (b"-----BEGIN ", b"@", b"-u", b"eyJ", b"k", b"A", b"G", b"x", b"gh", b"github_pat_", b"glpat-",
                 b"whsec_", b"pypi-", b"dop_v1_", b"ya29.", b"hf_", b"npm_")  # fmt: skip
_IN_KEYS: Hints = (b"ssn", b"cvv", b"jwt", b"auth", b"card", b"connection")
"""Names that are secret only as a key of JSON."""

# A hint that harmless text often holds counts only where its pattern here is found too. The text may be JSON, where
# an escape may stand for what follows a word, and a key ends with a quote, which JSON inside JSON escapes. A byte
# over 127 may belong to a Unicode space.
_SPACE = rb"[\s\x1c-\x1f]"
_ANY_CASE_PATTERNS: dict[Hint, tuple[bytes, ...]] = {
    b"pass": (rb"pass(?:w|p|[\\\"]|(?<=_pass)|(?<=-pass)[ =])",),
    b"key": (rb"api", rb"acc", rb"priv", rb"sign", rb"encr"),
    b"token": (rb"token(?:[\\\"':=>\x80-\xff]|" + _SPACE + rb"{1,8}[:=\\\x80-\xff]|(?<=-token) )",),
    b"bearer": (rb"bearer(?:" + _SPACE + rb"|[\\\x80-\xff])",),
    b"basic": (rb"basic(?:" + _SPACE + rb"|[\\\x80-\xff])",),
    b"ssn": (rb"ssn[\\\"]",),
    b"cvv": (rb"cvv[\\\"]",),
    b"jwt": (rb"jwt[\\\"]",),
    b"auth": (rb"auth[\\\"]",),
    b"card": (rb"card[\\\"]", rb"number[\\\"]"),
    b"connection": (rb"string",),
}
_EXACT_PATTERNS: dict[Hint, tuple[bytes, ...]] = {
    b"@": (rb"://[^\s\"'/@]*+@", rb":\\+/\\*/[^\s\"'/@]*+@"),
    b"-u": (rb"-(?:u|-user)[ =]",),
    b"k": (rb"k[-_](?<=[spr]k[-_])(?=[A-Za-z0-9_\-]{16})",),
    b"A": (rb"A(?:(?:KIA|SIA|ROA|IDA|BIA|CCA)(?=[A-Z0-9]{16})|Iza)",),
    b"G": (rb"G(?:OCSPX-|\.(?<=SG\.))",),
    b"x": (rb"x(?:ox[abeprs]|app)-",),
    b"gh": (rb"gh[pousr]_",),
}
"""Each begins with a literal, which `re` finds as fast as ``bytes.find`` does."""
_HIDDEN_LETTER = rb"\\u(?!00[01])"
"""A JSON escape that may stand for a letter of a hint; those of control characters cannot."""

_LETTERS = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"), ("\u212a", "k"))
"""What `re.IGNORECASE` takes for an ASCII letter, besides that letter in either case."""

_AS_TEXT = {hint: hint.decode().lower() for hint in (*_ANY_CASE, *_EXACT, *_IN_KEYS)}


@cache
def _compiled(source: bytes) -> re.Pattern[bytes]:
    return re.compile(source)


def hints(data: bytes, *, json: bool) -> Hints | None:
    """Return the hints that the UTF-8 text ``data`` holds; no hints, no secret.

    With ``json``, ``data`` may be JSON: the names of its keys count, and the answer is None where an
    escape may hide a hint.
    """
    low = _low(data)
    found = [hint for hint in _ANY_CASE if hint in low]
    if json:
        if b"\\u" in data and _compiled(_HIDDEN_LETTER).search(data):
            return None
        found += [hint for hint in _IN_KEYS if hint in low]
    found = [hint for hint in found if _counts(hint, _ANY_CASE_PATTERNS, low)]
    found += [hint for hint in _EXACT if hint in data and _counts(hint, _EXACT_PATTERNS, data)]
    return tuple(found)


def hints_among(known: Hints, text: str) -> Hints:
    """Return those of ``known`` that ``text``, a part of what they were found in, may hold."""
    low = fold(text)
    return tuple([hint for hint in known if _AS_TEXT[hint] in low])


def _counts(hint: Hint, patterns: dict[Hint, tuple[bytes, ...]], data: bytes) -> bool:
    return hint not in patterns or any(_compiled(source).search(data) for source in patterns[hint])


def _low(data: bytes) -> bytes:
    if not data.isascii():
        for letter, plain in _LETTERS:
            if (odd := letter.encode()) in data:
                data = data.replace(odd, plain.encode())
    return data.lower()


def fold(text: str) -> str:
    """Return ``text`` in lower case as `re.IGNORECASE` sees it, with each character at its place."""
    if not text.isascii():
        for letter, plain in _LETTERS:
            text = text.replace(letter, plain)
    return text.lower()
