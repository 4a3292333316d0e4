"""Tell cheaply which kinds of secrets a text can hold.

Each pattern of a secret contains a literal, such as ``token`` or ``eyJ``. A text that holds none of these
literals holds no secret, and a search for a literal runs at the speed of memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

MASK = "[redacted]"
"""What stands in place of a secret."""

Hint = str
"""A literal that every match of some pattern contains, or the name of some secret JSON key."""
Hints = tuple[Hint, ...]
Searches = tuple[Callable[[str], re.Match[str] | None], ...]

_ANY_CASE: Hints = ("pass", "pwd", "secret", "key", "token", "credential", "authorization", "cookie", "bearer",
                    "basic")  # fmt: skip
_EXACT: tuple[tuple[str, Hints], ...] = (
    ("-", ("-----BEGIN ", "-u", "glpat-", "pypi-", "x")),
    ("_", ("github_pat_", "whsec_", "dop_v1_", "hf_", "npm_", "gh")),
    (".", ("ya29.",)),
    ("", ("@", "eyJ", "k", "A", "G")),
)
"""By a character that they all have or are followed by, without which none of them counts."""
_IN_KEYS: Hints = ("ssn", "cvv", "jwt", "auth", "card", "connection")
"""Names that are secret only as a key of JSON."""

# A hint that harmless text often holds counts only where its pattern here is found too. The text may be JSON, where
# an escape may stand for what follows a word, and a key ends with a quote, which JSON inside JSON escapes. A byte
# over 127 may belong to a Unicode space.
_SPACE = r"[\s\x1c-\x1f]"
_ANY_CASE_PATTERNS: dict[Hint, tuple[str, ...]] = {
    "pass": (r"pass(?:w|p|[\\\"]|(?<=_pass)|(?<=-pass)[ =])",),
    "key": (r"api", r"acc", r"priv", r"sign", r"encr"),
    "token": (r"token(?:[\\\"':=>\x80-\xff]|" + _SPACE + r"{1,8}[:=\\\x80-\xff]|(?<=-token) )",),
    "bearer": (r"bearer(?:" + _SPACE + r"|[\\\x80-\xff])",),
    "basic": (r"basic(?:" + _SPACE + r"|[\\\x80-\xff])",),
    "ssn": (r"ssn[\\\"]",),
    "cvv": (r"cvv[\\\"]",),
    "jwt": (r"jwt[\\\"]",),
    "auth": (r"auth[\\\"]",),
    "card": (r"card[\\\"]", r"number[\\\"]"),
    "connection": (r"string",),
}
_EXACT_PATTERNS: dict[Hint, tuple[str, ...]] = {
    # The mask of a private key may bring a URL and its @ together.
    "@": (r"://[^\s\"'/@]*+@", r":\\+/\\*/[^\s\"'/@]*+@", r"-----BEGIN "),
    "-u": (r"-(?:u|-user)[ =]",),
    "k": (r"k[-_](?<=[spr]k[-_])(?=[A-Za-z0-9_\-]{16})",),
    "A": (r"A(?:(?:KIA|SIA|ROA|IDA|BIA|CCA)(?=[A-Z0-9]{16})|Iza)",),
    "G": (r"G(?:OCSPX-|\.(?<=SG\.))",),
    "x": (r"x(?:ox[abeprs]|app)-",),
    "gh": (r"gh[pousr]_",),
}
"""Each begins with a literal, which `re` finds as fast as ``str.find`` does."""
_HIDDEN_LETTER = r"\\u(?!00[01])"
"""A JSON escape that may stand for a letter of a hint; those of control characters cannot."""

_LETTERS = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"), ("\u212a", "k"))
"""What `re.IGNORECASE` takes for an ASCII letter, besides that letter in either case."""


def hints(data: str | bytes, *, json: bool) -> Hints | None:
    """Return the hints that ``data``, a text or its UTF-8, holds; no hints, no secret.

    With ``json``, ``data`` may be JSON: the names of its keys count, and the answer is None where an
    escape may hide a hint.
    """
    exact, low = _searched(data)
    found = [hint for hint in _ANY_CASE if hint in low]
    if json:
        if "\\u" in exact and _hidden_letter().search(exact):
            return None
        found += [hint for hint in _IN_KEYS if hint in low]
    if found:
        found = [hint for hint in found if _counts(_any_case_patterns().get(hint), low)]
    for char, group in _EXACT:
        if char in exact:
            found += [hint for hint in group if hint in exact and _counts(_exact_patterns().get(hint), exact)]
    return tuple(found)


def hints_among(known: Hints, text: str) -> Hints:
    """Return those of ``known`` that ``text``, a part of what they were found in, may hold."""
    low = fold(text)
    return tuple([hint for hint in known if hint in text or hint in low])


def fold(text: str) -> str:
    """Return ``text`` in lower case as `re.IGNORECASE` sees it, with each character at its place."""
    if not text.isascii():
        for letter, plain in _LETTERS:
            text = text.replace(letter, plain)
    return text.lower()


def _searched(data: str | bytes) -> tuple[str, str]:
    """Return ``data`` as it is and in lower case, with a character for each byte: `str` searches those fastest."""
    if isinstance(data, str):
        if data.isascii():
            return data, data.lower()
        data = data.encode("utf-8", "surrogatepass")
    low = data
    if not data.isascii():
        for letter, plain in _LETTERS:
            if (odd := letter.encode()) in low:
                low = low.replace(odd, plain.encode())
    return data.decode("latin-1"), low.lower().decode("latin-1")


def _counts(searches: Searches | None, data: str) -> bool:
    if searches is None:
        return True
    for search in searches:  # noqa: SIM110  # any() takes longer than the search in a short text
        if search(data):
            return True
    return False


@cache
def _hidden_letter() -> re.Pattern[str]:
    return re.compile(_HIDDEN_LETTER)


@cache
def _any_case_patterns() -> dict[Hint, Searches]:
    return {hint: _searches(sources) for hint, sources in _ANY_CASE_PATTERNS.items()}


@cache
def _exact_patterns() -> dict[Hint, Searches]:
    return {hint: _searches(sources) for hint, sources in _EXACT_PATTERNS.items()}


def _searches(sources: Iterable[str]) -> Searches:
    return tuple([re.compile(source, re.ASCII).search for source in sources])  # the characters are bytes
