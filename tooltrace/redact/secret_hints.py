"""A cheap check for the kinds of secrets that a text can contain.

Each pattern of a secret contains a literal, such as ``token`` or ``eyJ``. A text that contains none of these
literals contains no secret, and the search for a literal is limited only by memory bandwidth.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

from tooltrace.redact.literal_search import literal_search

MASK = "[redacted]"
"""The text that replaces a secret."""

Hint = str
"""A literal that every match of some pattern contains, or the name of a secret JSON key."""
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
"""Case-sensitive hints, grouped by a character that is in each hint of the group or follows it.

A text without that character is not searched for the group's hints."""
_IN_KEYS: Hints = ("ssn", "cvv", "jwt", "auth", "card", "connection")
"""Names that denote a secret only as a JSON key."""

# A hint that is frequent in harmless text counts only if its pattern in these tables matches too. The text may be JSON:
# there an escape may represent the character after a word, and a key ends with a quote, which JSON inside JSON escapes.
# A byte over 127 may belong to a Unicode space.
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
    # Masking a private key may join a URL and its @, so a private key also counts as a hint of "@".
    "@": (r"://[^\s\"'/@]*+@", r":\\+/\\*/[^\s\"'/@]*+@", r"-----BEGIN "),
    "-u": (r"-(?:u|-user)[ =]",),
    "k": (r"k[-_](?<=[spr]k[-_])(?=[A-Za-z0-9_\-]{16})",),
    "A": (r"A(?:(?:KIA|SIA|ROA|IDA|BIA|CCA)(?=[A-Z0-9]{16})|Iza)",),
    "G": (r"G(?:OCSPX-|\.(?<=SG\.))",),
    "x": (r"x(?:ox[abeprs]|app)-",),
    "gh": (r"gh[pousr]_",),
}
"""Patterns of case-sensitive hints. Each begins with a literal, which `re` finds as fast as ``str.find``."""
_HIDDEN_LETTER = r"\\u(?!00[01])"
"""A JSON escape that may represent a letter of a hint; escapes of control characters cannot."""

_may_count_in_any_case = literal_search(
    r"pass[wp\\\"]|_pass|-pass[ =]|pwd|secret|key|credential|authorization|cookie|card|connection"
    r"|token[\t-\r \x1c-\x1f]{0,8}[\\\"':=>\x{80}-\x{ff}]|-token |(?:bearer|basic)[\t-\r \x1c-\x1f\\\x{80}-\x{ff}]"
    r"|(?:ssn|cvv|jwt|auth)[\\\"]"
)
"""Whether a text in lower case has a hint that may count: true wherever the tables above count one.

Most texts have none, and cost one search instead of forty: 0.3 µs instead of 2 for 150 characters, 1 instead of 73 for
6 KB."""
_may_count = literal_search(
    r"-----BEGIN |-(?:u|-user)[ =]|glpat-|pypi-|x(?:ox[abeprs]|app)-|github_pat_|whsec_|dop_v1_|hf_|npm_|gh[pousr]_|ya29\."
    r"|(?:://|:\\+/\\*/)[^\t-\r \"'/@]*@|eyJ|[spr]k[-_][A-Za-z0-9_-]{16}|A(?:KIA|SIA|ROA|IDA|BIA|CCA|Iza)|GOCSPX-|SG\.|\\u"
)
"""The same for case-sensitive hints, and for an escape that may hide a letter."""

_LETTERS = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"), ("\u212a", "k"))
"""Non-ASCII characters that `re.IGNORECASE` treats as equal to an ASCII letter, and that letter."""


def hints(data: str | bytes, *, json: bool) -> Hints | None:
    """Return the hints that ``data`` contains; a text without hints contains no secret.

    ``data`` is a text or its UTF-8 bytes. With ``json``, ``data`` may be JSON: the names of its keys count as hints,
    and None is returned where an escape may hide a hint.
    """
    exact, low = _searched(data)
    if not _may_count_in_any_case(low) and not _may_count(exact):
        return ()
    return _present(exact, low, json=json)


def _present(exact: str, low: str, *, json: bool) -> Hints | None:
    """Return the hints in ``exact`` and ``low``, see ``_searched``."""
    present = [hint for hint in _ANY_CASE if hint in low]
    if json:
        if "\\u" in exact and _hidden_letter().search(exact):
            return None
        present += [hint for hint in _IN_KEYS if hint in low]
    if present:
        present = [hint for hint in present if _counts(_any_case_patterns().get(hint), low)]
    for char, group in _EXACT:
        if char in exact:
            present += [hint for hint in group if hint in exact and _counts(_exact_patterns().get(hint), exact)]
    return tuple(present)


def hints_among(known: Hints, text: str) -> Hints:
    """Return the hints among ``known`` that ``text`` may contain.

    ``text`` is part of the data in which ``known`` were found.
    """
    low = fold(text)
    return tuple([hint for hint in known if hint in text or hint in low])


def fold(text: str) -> str:
    """Return ``text`` in lower case as `re.IGNORECASE` compares it; characters keep their positions."""
    if not text.isascii():
        for letter, ascii_letter in _LETTERS:
            text = text.replace(letter, ascii_letter)
    return text.lower()


def _searched(data: str | bytes) -> tuple[str, str]:
    """Return ``data`` unchanged and in lower case, each as a string with one character per byte.

    `str` searches strings of one-byte characters fastest.
    """
    if isinstance(data, str):
        if data.isascii():
            return data, data.lower()
        data = data.encode("utf-8", "surrogatepass")
    low = data
    if not data.isascii():
        for letter, ascii_letter in _LETTERS:
            if (odd := letter.encode()) in low:
                low = low.replace(odd, ascii_letter.encode())
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
