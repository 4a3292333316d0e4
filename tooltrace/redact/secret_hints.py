"""A cheap check for the kinds of secrets that a text can contain.

One expression describes all of them, somewhat more broadly than their patterns do, and reads a text once: a text without a
match contains no secret. In the others, the literals that each pattern contains, such as ``eyJ``, show which patterns to run.
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

_WHITE = r"(?:[\t-\r \x1c-\x1f?]|\\+(?:[nrtbf]|u00[01][0-9A-Fa-f])?)"
_GAP = f"{_WHITE}*"
_SEPARATOR = rf"(?:{_WHITE}|[._-])*"
_BASE64 = r"(?:[A-Za-z0-9+_-]|\\*/)"
_COLON = rf"(?:O[g-v]|{_BASE64}(?:[DTjz][o-r]|{_BASE64}[AEIMQUYcgkosw048]6))"
"""The next characters of base64 that encode a colon in one of the next three bytes."""
_IN_KEY = rf"(?i-u:passw(?:or)?d|passphrase|secret|(?:api|account|access|private|signing|encryption){_SEPARATOR}key|authorization|credential|cookie|connection{_SEPARATOR}string)"
_END_OF_KEY = rf"(?i-u:pass|token|pwd|auth|jwt|ssn|cvv|card{_SEPARATOR}number|credit{_SEPARATOR}card)\\*\""
_ALL_EXACT = (
    r"-(?:u|-user)[ =][^\t-\r :\"']+:"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY|:\\*/\\*/[^\t-\r \"'/@]*@|eyJ[A-Za-z0-9_-]{5}[A-Za-z0-9_-]*\."
    r"|[spr]k[-_][A-Za-z0-9_-]{16}|A(?:KIA|SIA|ROA|IDA|BIA|CCA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{16}|(?:hf_|npm_)[A-Za-z0-9]{16}"
    r"|(?:gh[pousr]_|github_pat_|glpat-|x(?:ox[abeprs]|app)-|whsec_|GOCSPX-|pypi-|dop_v1_|SG\.|ya29\.)[A-Za-z0-9_.-]{10}"
)
_may_have_exact = literal_search(_ALL_EXACT)
"""Whether a text may have a secret of a form with a case-sensitive hint."""
_may_have_secret = literal_search(
    # a value after a name
    r"(?i-u:(?:passw(?:or)?d|passphrase|_pass|pwd|secret[A-Za-z0-9_?-]*|(?:api|account|private)[_-]?key"
    rf"|access[_-]?key(?:[_-]?id)?|token|authorization|cookie|credentials?){_GAP}[\"']?{_GAP}[:=])"
    r"|-(?:password|passwd|pass|token|secret|api-?key)[ =]"
    r"|<(?i-u:password|passwd|secret|token|api_?key)>"
    rf"|(?i-u:bearer){_WHITE}{_GAP}[A-Za-z0-9._~+/\\-]*[0-9A-Z]"
    rf"|(?i-u:basic){_WHITE}{_GAP}(?:{_BASE64}{_BASE64}{_BASE64}{_BASE64})*{_COLON}"
    # a form of its own
    rf"|{_ALL_EXACT}"
    # a key of JSON, the name of a pair {"name": …, "value": …}, and an escape that may hide a letter
    rf"|{_IN_KEY}(?:[^\"\n]|\\\")*\"{_GAP}:|{_END_OF_KEY}{_GAP}:"
    rf"|\"(?:name|key)\\*\"{_GAP}:{_GAP}\"(?:[^\"\n]|\\\")*(?:{_IN_KEY}|{_END_OF_KEY})"
    r"|\\u(?:[^0]|0[^0]|00[^01])"
)
"""Whether a text may have a secret: true for each text that a pattern or the name of a key would change.

The text may be JSON, with JSON in its strings: white space and quotation marks may be escapes, also of escapes. A question
mark stands for each character that is not ASCII. One search takes 1.7 ns for a character, whatever words the text has.
"""

_QUESTION_MARKS = bytes(range(128)) + b"?" * 128
_LETTERS = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"), ("\u212a", "k"))
"""Non-ASCII characters that `re.IGNORECASE` treats as equal to an ASCII letter, and that letter."""


def hints(data: str | bytes, *, json: bool) -> Hints | None:
    """Return the hints that ``data`` contains; a text without hints contains no secret.

    ``data`` is a text or its UTF-8 bytes. With ``json``, ``data`` may be JSON: the names of its keys count as hints,
    and None is returned where an escape may hide a hint.
    """
    plain = _ascii(data)
    if not _may_have_secret(plain):
        return ()
    exact, low = (plain, plain.lower()) if plain is data else _searched(data)
    return _present(exact, low, json=json, with_exact=_may_have_exact(plain))


def _present(exact: str, low: str, *, json: bool, with_exact: bool) -> Hints | None:
    """Return the hints in ``exact`` and ``low``, see ``_searched``; the case-sensitive ones if ``with_exact``."""
    # ``pass\u0077ord`` is "password" once the JSON is parsed
    if json and "\\u" in exact and _hidden_letter().search(exact):
        return None
    present = [hint for hint, searches in _any_case(json) if hint in low and _counts(searches, low)]
    for char, group in _exact() if with_exact else ():
        if char in exact:
            present += [hint for hint, searches in group if hint in exact and _counts(searches, exact)]
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


def _ascii(data: str | bytes) -> str:
    """Return ``data`` with a question mark for each character or byte that is not ASCII; letters as in ``fold``."""
    if isinstance(data, str):
        if data.isascii():
            return data
        for letter, ascii_letter in _LETTERS:
            if letter in data:
                data = data.replace(letter, ascii_letter)
        return data.encode("ascii", "replace").decode("ascii")
    if not data.isascii():
        for letter, ascii_letter in _LETTERS:
            if (odd := letter.encode()) in data:
                data = data.replace(odd, ascii_letter.encode())
        data = data.translate(_QUESTION_MARKS)
    return data.decode("ascii")


def _searched(data: str | bytes) -> tuple[str, str]:
    """Return ``data`` unchanged and in lower case, each as a string with one character per byte.

    `str` searches strings of one-byte characters fastest.
    """
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    low = data
    if not data.isascii():
        for letter, ascii_letter in _LETTERS:
            if (odd := letter.encode()) in low:
                low = low.replace(odd, ascii_letter.encode())
    return data.decode("latin-1"), low.lower().decode("latin-1")


def _counts(searches: Searches, data: str) -> bool:
    for search in searches:  # any() takes longer than the search in a short text
        if search(data):
            return True
    return not searches


@cache
def _hidden_letter() -> re.Pattern[str]:
    return re.compile(_HIDDEN_LETTER)


@cache
def _any_case(json: bool) -> tuple[tuple[Hint, Searches], ...]:
    return _with_searches(_ANY_CASE + _IN_KEYS if json else _ANY_CASE, _ANY_CASE_PATTERNS)


@cache
def _exact() -> tuple[tuple[str, tuple[tuple[Hint, Searches], ...]], ...]:
    return tuple([(char, _with_searches(group, _EXACT_PATTERNS)) for char, group in _EXACT])


def _with_searches(group: Hints, patterns: dict[Hint, tuple[str, ...]]) -> tuple[tuple[Hint, Searches], ...]:
    return tuple([(hint, _searches(patterns.get(hint, ()))) for hint in group])


def _searches(sources: Iterable[str]) -> Searches:
    return tuple([re.compile(source, re.ASCII).search for source in sources])  # the characters are bytes
