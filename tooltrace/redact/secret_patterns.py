"""Masking of texts that look like secrets, in time linear in the length of the text.

A pattern runs only if the hints show that it can match, and only at the positions of its literal. The patterns run
in order, each on the text that the earlier ones have masked. docs/explanation/redaction.md gives the reasons.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from tooltrace.redact.secret_hints import MASK, Hint, Hints, fold

Places = Callable[[str, str, Iterable[Hint]], list[int]]
"""A function that returns the positions where a match may begin, in ascending order.

Its arguments are a text, the text in lower case, and its hints."""

# the quantifiers ``*+``, ``++``, ``{…}+`` and the group ``(?>…)`` give no character back: a text is read once
_NOT_REDACTED = r"(?!\[redacted\])"
_AT_WORD_START = r"(?<![A-Za-z0-9])"
_IS = r"\\*+[\"']?+\s{0,8}+[:=]\s{0,8}+"
_SECRETS = r"secret(?!ar|ion|ive)[\w-]{0,40}+"
_NAMES: tuple[tuple[Hint, str], ...] = (
    ("pass", r"pass(?:w(?:or)?d|phrase|(?<=_pass)(?=\s?=))"),
    ("pwd", r"pwd(?<!\wpwd)"),
    ("secret", _SECRETS),
    ("key", r"api[_-]?key"),
    ("key", r"account[_-]?key"),
    ("key", r"access[_-]?key(?:[_-]?id)?"),
    ("key", r"private[_-]?key"),
    # not the token of a page or a continuation; the character before "token" is looked at first, as it decides most
    (
        "token",
        r"token(?>(?<![_\-en]token)|(?<!page[_-]token)(?<!pagetoken)(?<!continuation_token)(?<!continuationtoken))",
    ),
)
"""The names that a secret value follows, in lower case, with the hint of each. Each begins with its literal, which `re`
finds as fast as ``str.find``, and looks behind only then."""
_QUOTES = ('"', "'", "\\")
"""First characters of values that have patterns of their own."""
_BEARER = r"[A-Za-z0-9._~+/\-]"
_JWT = r"[A-Za-z0-9_\-]"
_JWT_HEAD = 2000
"""Maximum characters of the first part of a JSON web token."""


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source)


@dataclass(frozen=True)
class SecretPattern:
    """A pattern for one form of secret. The text of group 1 stays; ``mask`` replaces the rest of the match."""

    hints: tuple[Hint, ...]
    """Hints of the pattern: a text that contains none of them has no match."""
    source: str
    mask: str = MASK
    places: Places | None = None
    """Positions to try; None where ``source`` begins with a literal, which `re` finds as fast as ``str.find``."""
    is_secret: Callable[[re.Match[str]], bool] | None = None
    """A further test of whether a match is a secret; None where every match is one."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.source)

    def masked(self, text: str, low: str, present: Iterable[Hint]) -> str:
        """Return ``text`` with each match replaced by the mask; ``low`` is ``text`` in lower case."""
        if self.places is None:
            if self.pattern.search(text) is None:
                return text  # a search takes a fraction of what ``re.sub`` takes to prepare
            return self.pattern.sub(rf"\1{self.mask}" if self.pattern.groups else self.mask, text)
        return self.masked_at(self.places(text, low, present), text)

    def masked_at(self, places: Iterable[int], text: str) -> str:
        """Return the result of ``re.sub``, with matches that begin at ``places`` only."""
        pieces: list[str] = []
        done = read = 0
        for place in places:
            match = self.pattern.match(text, place) if place >= read else None
            if match is None:
                continue
            read = match.end()
            if self.is_secret is None or self.is_secret(match):
                pieces += (text[done : match.end(1) if self.pattern.groups else place], self.mask)
                done = read
        return "".join(pieces) + text[done:] if pieces else text


def _folded(*literals: tuple[Hint, str]) -> Places:
    """Return a search for each lower-case literal in a text that contains its hint."""
    return lambda _, low, present: _all_places(literals, low, present)


def _exact(*literals: tuple[Hint, str], back: int = 0) -> Places:
    """Return a case-sensitive search for each literal; a match begins ``back`` characters before it."""
    return lambda text, _, present: [place - back for place in _all_places(literals, text, present)]


def _all_places(literals: Iterable[tuple[Hint, str]], text: str, present: Iterable[Hint]) -> list[int]:
    sources = [source for hint, source in literals if hint in present]
    places = [match.start() for source in sources for match in _compiled(source).finditer(text)]
    return places if len(sources) == 1 else sorted(places)


def _web_tokens(text: str, _: str, __: Iterable[Hint]) -> list[int]:
    """Return the positions of ``eyJ`` in runs of token characters that end with a dot.

    A run that does not end with a dot is read once, not once for each ``eyJ`` in it: that would be quadratic.
    """
    places = []
    for run in _compiled(rf"eyJ{_JWT}*+(?=(\.{_JWT}{{5}})?)").finditer(text):
        if run[1] is None:
            continue
        place = text.find("eyJ", max(run.start(), run.end() - _JWT_HEAD - 3), run.end())
        while place >= 0:
            places.append(place)
            place = text.find("eyJ", place + 1, run.end())
    return places


def _is_basic(match: re.Match[str]) -> bool:
    """Whether the word after ``Basic`` is base64 of ``user:password``, as in HTTP, and not prose."""
    word = match[2]
    if len(word) % 4 == 1:
        return False  # not a possible length of base64
    if "-" in word or "_" in word:
        word = word.replace("-", "+").replace("_", "/")
    try:
        # b64decode ignores padding beyond what the word needs
        return b":" in base64.b64decode(word + "==")
    except ValueError:
        return False


@cache
def _patterns() -> tuple[SecretPattern, ...]:
    """Return the patterns of secrets with a form of their own, in the order in which they run."""
    words = ("pass", "token", "secret", "key")
    end = r"-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    vendor = r"gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|xapp-|whsec_|GOCSPX-|pypi-|dop_v1_|SG\.|ya29\."
    return (
        SecretPattern(("-----BEGIN ",), rf"-----BEGIN [A-Z ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----[^-]*+(?:(?!{end})-[^-]*+)*+(?:{end})?"),
        SecretPattern(("@",), r"(://[^\s/:@\"']*+):[^\s/\"']+@", f":{MASK}@"),
        SecretPattern(("authorization", "cookie"), rf"((?i:authorization|cookie){_IS}\\*+[\"']?+){_NOT_REDACTED}[^\"'\\\r\n]{{3,}}",
             places=_folded(("authorization", f"authorization{_IS}"), ("cookie", f"cookie{_IS}"))),
        SecretPattern(("@",), r"(://)[A-Za-z0-9_\-]{16,}+(?=@)"),
        SecretPattern(words, rf"(-(?<!\w-)-?(?:password|passwd|pass|token|secret|api-?key)[ =]){_NOT_REDACTED}[^\s\"'\\]{{3,}}"),
        SecretPattern(("-u",), r"(-(?<!\w-)(?:u|-user)[ =][^\s:\"'\\]{1,200}+:)[^\s\"'\\]{3,}"),
        SecretPattern(words, rf"(<(?i:password|passwd|secret|token|api_?key)>){_NOT_REDACTED}[^<]{{1,2000}}"),
        SecretPattern(("eyJ",), rf"{_AT_WORD_START}eyJ{_JWT}{{5,{_JWT_HEAD}}}+\.{_JWT}{{5,}}+(?:\.{_JWT}*)?", places=_web_tokens),
        SecretPattern(("bearer",), rf"\b((?i:bearer))\s++(?={_BEARER}{{0,400}}[0-9]|{_BEARER}{{1,400}}[A-Z])[A-Za-z0-9._~+/=\-]{{8,}}",
             f" {MASK}", _folded(("bearer", r"bearer\s"))),
        SecretPattern(("basic",), r"\b((?i:basic))\s++([A-Za-z0-9+/_\-]{4,})=*", f" {MASK}", _folded(("basic", r"basic\s")), _is_basic),
        SecretPattern(("k",), rf"{_AT_WORD_START}(?:sk|pk|rk)[-_][A-Za-z0-9_\-]{{16,}}",
             places=_exact(("k", r"k[-_](?<=[spr]k[-_])(?=[A-Za-z0-9_\-]{16})"), back=1)),
        SecretPattern(("gh", "github_pat_", "glpat-", "x", "whsec_", "G", "pypi-", "dop_v1_", "ya29."),
             rf"{_AT_WORD_START}(?:{vendor})[A-Za-z0-9_\-.]{{10,}}",
             places=_exact(("gh", r"gh[pousr]_"), ("github_pat_", r"github_pat_"), ("glpat-", r"glpat-"),
                           ("x", r"x(?:ox[abeprs]|app)-"), ("whsec_", r"whsec_"), ("G", r"GOCSPX-"), ("G", r"SG\."),
                           ("pypi-", r"pypi-"), ("dop_v1_", r"dop_v1_"), ("ya29.", r"ya29\."))),
        SecretPattern(("hf_", "npm_"), rf"{_AT_WORD_START}(?:hf_|npm_)[A-Za-z0-9]{{16,}}", places=_exact(("hf_", r"hf_"), ("npm_", r"npm_"))),
        SecretPattern(("A",), r"AIza(?<![A-Za-z0-9]AIza)[0-9A-Za-z_\-]{30,}"),
        SecretPattern(("A",), r"A(?:KIA|SIA|ROA|IDA|BIA|CCA)(?<![A-Za-z0-9]....)[A-Z0-9]{16}(?![A-Za-z0-9])"),
        SecretPattern(("credential", "secret"), rf"((?i:credentials?|secrets?){_IS})\{{[^{{}}]*+\}}?", f'"{MASK}"',
             _folded(("credential", rf"credentials?{_IS}\{{"), ("secret", rf"secrets?{_IS}\{{"))),
    )  # fmt: skip


class _Value(NamedTuple):
    """The pattern of a value that follows a secret name. The text of group 1 stays; ``mask`` replaces the rest."""

    first: str
    """The first character of the value; "" is any other than the characters of the other patterns."""
    pattern: re.Pattern[str]
    mask: str = MASK


@cache
def _value_patterns() -> tuple[_Value, ...]:
    char, slash = r"[^\s\"'\\&,;}\]]", r"\\(?![nrtu\"'\\])"
    return (
        _Value('"', re.compile(rf"(?s:()\"{_NOT_REDACTED}(?:[^\"\\]++|\\.)++\"?)"), f'"{MASK}"'),
        _Value("'", re.compile(rf"(?s:()'{_NOT_REDACTED}(?:[^'\\]++|\\.)++'?)"), f"'{MASK}'"),
        _Value("\\", re.compile(rf"(\\+[\"']){_NOT_REDACTED}[^\"'\\]+")),
        _Value("", re.compile(rf"(){_NOT_REDACTED}(?:{char}{{3}}|(?=(?:{char}|{slash}){{3}}))(?:{char}++|{slash})*+")),
    )


@lru_cache(maxsize=256)
def _to_run(present: Hints) -> tuple[tuple[SecretPattern, ...], tuple[re.Pattern[str], ...]]:
    """Return the patterns that can match in a text with the hints ``present``, and the names that it can contain."""
    return (
        tuple([pattern for pattern in _patterns() if not set(present).isdisjoint(pattern.hints)]),
        tuple([re.compile(source + _IS) for hint, source in _NAMES if hint in present]),
    )


def masked(text: str, present: Hints) -> str:
    """Return ``text`` with every secret of a known form masked; ``present`` are the hints that ``text`` may contain."""
    patterns, names = _to_run(present)
    low = fold(text)
    for pattern in patterns:
        before, text = text, pattern.masked(text, low, present)
        # positions are searched in ``low`` and used in ``text``
        if text is not before and text != before:
            low = fold(text)
    return _masked_values(names, text, low) if names else text


def _masked_values(names: Iterable[re.Pattern[str]], text: str, low: str) -> str:
    """Return ``text`` with the value of each name masked: quoted ones first, which may contain names."""
    places = _values(names, text, low)
    for first, pattern, mask in _value_patterns():
        if found := places.get(first):
            before, text = text, _masked_after(found, text, pattern, mask)
            # masking has moved the positions; it cannot add a name
            if text is not before and first:
                places = _values(names, text, fold(text))
    return text


def _values(names: Iterable[re.Pattern[str]], text: str, low: str) -> dict[str, list[tuple[int, int]]]:
    """Return the positions of the names that have a value, and of the values, by the first character of the value."""
    bare: list[tuple[int, int]] = []
    by_first = {"": bare}
    for name in names:
        for match in name.finditer(low):
            span = match.span()
            first = text[span[1] : span[1] + 1]
            if first not in _QUOTES:
                bare.append(span)
                continue
            by_first.setdefault(first, []).append(span)
            if first == "\\":  # it begins either an escaped quoted value or a bare one
                bare.append(span)
    return by_first


def _masked_after(found: list[tuple[int, int]], text: str, pattern: re.Pattern[str], mask: str) -> str:
    """Return ``text`` with each value of ``found`` that matches ``pattern`` replaced by ``mask``."""
    found.sort()
    match_at = pattern.match
    pieces: list[str] = []
    done = 0
    for name, value in found:
        if name >= done and (match := match_at(text, value)) is not None:
            pieces += (text[done : match.end(1)], mask)
            done = match.end()
    return "".join(pieces) + text[done:] if pieces else text
