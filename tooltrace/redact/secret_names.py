"""The names of secrets: one list, for keys of JSON and for names in texts.

A name may stand at the end of a longer one (``DB_PASSWORD``, ``clientSecret``), in the plural, and before further words
(``password_old``), unless these say that the value is about the secret: ``cookie_policy``, ``tokenType``.
"""

from __future__ import annotations

import re
from enum import Enum
from itertools import product
from typing import NamedTuple

from tooltrace.redact.texts import fold


class Strength(Enum):
    """How much a name says about its value."""

    SURE = "sure"
    """Each value is a secret."""
    COUNTED = "counted"
    """In the plural, numbers are counts and no secrets: ``tokens: 512``."""
    WHOLE = "whole"
    """Each value is a secret, if the name is a word of its own, and the last one."""
    RANDOM = "random"
    """A value that looks random is a secret."""

    @property
    def is_sure(self) -> bool:
        """Whether the name alone tells that a value is a secret, whatever it is."""
        return self is not Strength.RANDOM


_SHORT = (Strength.WHOLE, Strength.RANDOM)


class Name(NamedTuple):
    words: tuple[str, ...]
    """The words of the name, which are joined, or separated by one of ``_ - .`` or a space."""
    strength: Strength = Strength.SURE


def _keys(*owners: str) -> tuple[Name, ...]:
    return tuple([Name((owner, "key")) for owner in owners])


NAMES = (
    *[Name((word,)) for word in ("password", "passwd", "passphrase", "passcode", "pwd", "secret", "authorization", "credential", "cookie")],
    *[Name((word,), Strength.WHOLE) for word in ("pass", "auth", "jwt", "ssn", "cvv")],
    *[Name(words, Strength.WHOLE) for words in (("card", "number"), ("credit", "card"))],
    *[Name((word,)) for word in ("contraseña", "contrasena", "passwort", "kennwort", "senha", "密码", "密碼", "口令")],
    *[Name((owner, "pass")) for owner in ("db", "database", "key", "user")],
    Name(("connection", "string")),
    Name(("token",), Strength.COUNTED),
    *_keys("api", "access", "account", "private", "priv", "signing", "encryption", "auth", "service", "client", "db",
           "database", "master", "shared", "license", "storage"),
    *[Name((word,), Strength.RANDOM) for word in ("key", "signature", "sig", "creds", "login", "pw")],
)  # fmt: skip
"""All names, in lower case."""

_SEPARATORS = ("", "_", "-", ".", " ")


def spellings(name: Name) -> tuple[str, ...]:
    """Return the texts in lower case that spell ``name``."""
    first, *rest = name.words
    return tuple(
        first + "".join(separator + word for separator, word in zip(separators, rest, strict=True))
        for separators in product(_SEPARATORS, repeat=len(rest))
    )


NAME_OF = {spelling: name for name in NAMES for spelling in spellings(name)}
"""The names by their spellings."""

_NOT_BEFORE = tuple(f"{word}{separator}" for word in ("page", "continuation", "public") for separator in ("", "_", "-"))
"""What makes a name one of something that is not secret: ``next_page_token``."""
_INSIDE = {
    "secret": re.compile(r"(?i:ar(?:y|ies|iat)|ion|ive|e?_?santa|ly)"),
    "password": re.compile(r"(?i:less)"),
}
"""How words go on that only begin like a name."""
_ABOUT = re.compile(
    r"(?i:(?:^|.*[_\-. ])?(?:policy|policies|types?|santa|counts?|limits?|budgets?|usage|used|length|size|names?|field|ur[li]s?|endpoint|file|path|dir"
    r"|expir\w{0,6}|ttl|age|hint|prompt|placeholder|label|help|strength|manager|provider|class|store|jar|consent|banner|index|kind|format|encoding"
    r"|reset|input|form|re|regex|pattern|error|required|enabled|version|param|parameter|header|estimate|rate|ratio|cost|price|window|per\w{0,20}))s?"
)
"""Words after a name that say that the value is about the secret, and not the secret itself."""
_CAMEL = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def is_name_at(text: str, low: str, start: int, end: int, suffix: str) -> bool:
    """Whether the spelling of a name at ``start``, which ends at ``end``, names a secret in ``text``.

    ``low`` is ``text`` in lower case; ``suffix`` is what follows the spelling without a separator of words.
    """
    spelling = low[start:end]
    name = NAME_OF[spelling]
    before = low[start - 1 : start]
    if name.strength is Strength.WHOLE and suffix:
        return False
    # "bypass", "monkey" and "design" are other words
    if name.strength in _SHORT and before.isalnum() and not _begins_word(text, start):
        return False
    if low.startswith(("token", "key"), start) and low[max(0, start - 13) : start].endswith(_NOT_BEFORE):
        return False
    if not suffix:
        return True
    inside = _INSIDE.get(name.words[0])
    if inside is not None and inside.match(suffix):
        return False
    first = suffix[0]
    rest = suffix
    if first in "sS" and (len(suffix) == 1 or not suffix[1].isalpha() or (suffix[1].isupper() and first == "s")):
        rest = suffix[1:]  # the plural
    elif first.isalpha() and not (first.isupper() and text[end - 1].islower()):
        # "tokenizer" and "cookiecutter" are other words; "passwords2" and "secretkey" are not
        return name.words[0] in ("password", "passwd", "secret") and not _ABOUT.fullmatch(suffix)
    if not rest:
        return True
    last = _CAMEL.findall(rest)
    return not (last and _ABOUT.fullmatch(last[-1])) and _ABOUT.fullmatch(rest.strip("_-. ")) is None


def _begins_word(text: str, start: int) -> bool:
    """Whether a word begins at ``start`` by its capital letter, as in ``dbPass``."""
    return text[start : start + 1].isupper() and text[start - 1 : start].islower()


_NAME = re.compile("|".join(re.escape(spelling) for spelling in sorted(NAME_OF, key=len, reverse=True)))
_SUFFIX = re.compile(r"[\w\-. ]{0,60}+\Z")


def is_plural(suffix: str) -> bool:
    """Whether the name before ``suffix`` is in the plural."""
    return suffix[:1] in ("s", "S")


def strength_of(key: str) -> Strength | None:
    """Return how sure it is that the value under ``key`` is a secret; None where ``key`` names none.

    ``key`` is a key of JSON, such as ``api_key``, ``clientSecret`` or ``X-Auth-Token``.
    """
    low = fold(key)
    place = 0
    found = None
    while (match := _NAME.search(low, place)) is not None:
        place = match.start() + 1
        suffix = _SUFFIX.match(key, match.end())
        if suffix is not None and is_name_at(key, low, match.start(), match.end(), suffix[0]):
            strength = NAME_OF[match[0]].strength
            if strength.is_sure:
                return Strength.COUNTED if is_plural(suffix[0]) else Strength.SURE
            found = strength
    return found
