"""The patterns before they were searched by their literals, as they were: what they masked must stay masked."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import orjson

Redact = Callable[[str, Any], Any]
"""A user's own redaction: the field's name ("arguments", "result", "text", …) and its value as JSON data,
to the value that may be kept."""

MASK = "[redacted]"

_SECRET_KEY = re.compile(
    r"passw(?:or)?d|passphrase|(?:^|_)pass$|secret(?!ar|ion|ive)|api_?key|account_?key|access_?key|private_?key|signing_?key|encryption_?key"
    r"|authorization|credential|cookie|connection_?string"
    r"|(?<!page_)(?<!page)(?<!continuation_)(?<!continuation)token$|^(?:pwd|auth|jwt|ssn|cvv|card_?number|credit_?card)$"
)
_SEPARATOR = re.compile(r"[\s.\-_]+|(?<=[a-z])(?=[A-Z])")

_NAMED = (
    r"(?i:passw(?:or)?d|passphrase|\bpwd|_pass(?=\s?=)|secret(?!ar|ion|ive)[\w-]{0,40}|api[_-]?key|account[_-]?key"
    r"|access[_-]?key(?:[_-]?id)?|private[_-]?key"
    r"|(?<!page_)(?<!page-)(?<!page)(?<!continuation_)(?<!continuation)token)"
)
_IS = r"\\*+[\"']?+\s{0,8}+[:=]\s{0,8}+"
_BEARER = r"[A-Za-z0-9._~+/\-]"


def _basic(match: re.Match[str]) -> str:
    """HTTP's ``Basic`` is followed by base64 of ``user:password``; in prose it is not."""
    try:
        credentials = base64.b64decode(match[2] + "==", altchars=b"-_" if set("-_") & set(match[2]) else None)
    except ValueError:
        return match[0]
    return f"{match[1]} {MASK}" if b":" in credentials else match[0]


Pattern = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]
"""A pattern and its replacement."""


@cache
def known_patterns() -> tuple[Pattern, ...]:
    """The looks of secrets; compiled when the first text may hold one, which `import` need not wait for."""
    return (
        (re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)", re.DOTALL), MASK),
        (re.compile(r"(://[^\s/:@\"']*):[^\s/\"']+@"), rf"\1:{MASK}@"),
        (re.compile(rf"((?i:authorization|cookie))({_IS}\\*+[\"']?+)(?!\[redacted\])[^\"'\\\r\n]{{3,}}"), rf"\1\2{MASK}"),
        (re.compile(r"(://)[A-Za-z0-9_\-]{16,}(?=@)"), rf"\1{MASK}"),
        (re.compile(r"((?<!\w)--?(?:password|passwd|pass|token|secret|api-?key)[ =])(?!\[redacted\])[^\s\"'\\]{3,}"), rf"\1{MASK}"),
        (re.compile(r"((?<!\w)(?:-u|--user)[ =][^\s:\"'\\]{1,200}:)[^\s\"'\\]{3,}"), rf"\1{MASK}"),
        (re.compile(r"(<(?i:password|passwd|secret|token|api_?key)>)(?!\[redacted\])[^<]{1,2000}"), rf"\1{MASK}"),
        (re.compile(r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_\-]{5,2000}\.[A-Za-z0-9_\-]{5,}(?:\.[A-Za-z0-9_\-]*)?"), MASK),
        (re.compile(rf"\b((?i:bearer))\s+(?={_BEARER}{{0,400}}[0-9]|{_BEARER}{{1,400}}[A-Z])[A-Za-z0-9._~+/=\-]{{8,}}"), rf"\1 {MASK}"),
        (re.compile(r"\b((?i:basic))\s+([A-Za-z0-9+/_\-]{4,})=*"), _basic),
        (re.compile(r"(?<![A-Za-z0-9])(?:sk|pk|rk)[-_][A-Za-z0-9_\-]{16,}"), MASK),
        (re.compile(r"(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|xapp-|whsec_|GOCSPX-|pypi-|dop_v1_|SG\.|ya29\.)"
                    r"[A-Za-z0-9_\-.]{10,}"), MASK),
        (re.compile(r"(?<![A-Za-z0-9])(?:hf_|npm_)[A-Za-z0-9]{16,}"), MASK),
        (re.compile(r"(?<![A-Za-z0-9])AIza[0-9A-Za-z_\-]{30,}"), MASK),
        (re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"), MASK),
        (re.compile(rf"((?i:credentials?|secrets?){_IS})\{{[^{{}}]*\}}?"), rf'\1"{MASK}"'),
        (re.compile(rf"({_NAMED})({_IS})\"(?!\[redacted\])(?:[^\"\\]|\\.)+\"?", re.DOTALL), rf'\1\2"{MASK}"'),
        (re.compile(rf"({_NAMED})({_IS})'(?!\[redacted\])(?:[^'\\]|\\.)+'?", re.DOTALL), rf"\1\2'{MASK}'"),
        (re.compile(rf"({_NAMED})({_IS}\\+[\"'])(?!\[redacted\])[^\"'\\]+"), rf"\1\2{MASK}"),
        (re.compile(rf"({_NAMED})({_IS})(?!\[redacted\])(?:[^\s\"'\\&,;}}\]]|\\(?![nrtu\"'\\])){{3,}}"), rf"\1\2{MASK}"),
    )  # fmt: skip


_EMAIL = r"[A-Za-z0-9._%+\-]{1,64}@[A-Za-z0-9\-]{1,63}(?:\.[A-Za-z0-9\-]{1,63}){0,8}\.[A-Za-z]{2,24}\b"


def _may_hold_secret(text: str) -> bool:
    """Whether ``text`` holds a trace of anything that the patterns and key names can find, or an escape that
    can hide one. Written out, it costs a microsecond or two where the patterns cost fifty."""
    low = text.lower()
    return (
        "secret" in low or "token" in low or "credential" in low or "cookie" in low or "bearer" in low
        or "basic" in low or "pwd" in low or "jwt" in low or "ssn" in low or "cvv" in low or "card" in low
        or ("pass" in low and ("passw" in low or "passp" in low or "_pass" in low or '"pass"' in low or 'pass\\"' in low))
        or ("auth" in low and ("authorization" in low or '"auth"' in low or 'auth\\"' in low))
        or ("key" in low and ("api" in low or "acc" in low or "priv" in low or "sign" in low or "encr" in low))
        or ("_" in low and (
            "sk_" in low or "pk_" in low or "rk_" in low or "ghp_" in low or "gho_" in low or "ghu_" in low
            or "ghs_" in low or "ghr_" in low or "b_pat_" in low or "hf_" in low or "npm_" in low or "v1_" in low or "whsec_" in low or "whsec_" in low
        ))
        or ("-" in low and (
            "sk-" in low or "pk-" in low or "rk-" in low or "glpat-" in low or "xox" in low or "pypi-" in low or "xapp-" in low or "gocspx-" in low
            or "-u " in low or "--user" in low or "-----BEGIN" in text
        ))
        or "SG." in text or "ya29." in text or "eyJ" in text or "AIza" in text
        or "IA" in text or "AROA" in text or "AIDA" in text or "ACCA" in text
        or ("@" in low and "://" in low) or ("connection" in low and "string" in low)
        or "\\u" in low
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Redaction:
    """Rules for what to remove from a call.

    ``keys`` and ``patterns`` add to those known; ``emails`` removes e-mail addresses too; ``hook`` is
    called last, with each field's name and value.
    """

    keys: Iterable[str] = ()
    patterns: Iterable[str | re.Pattern[str]] = ()
    emails: bool = False
    hook: Redact | None = None
    _keys: frozenset[str] = field(init=False, repr=False)
    _more: tuple[Pattern, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        own = tuple((re.compile(pattern), MASK) for pattern in self.patterns)
        emails = ((re.compile(_EMAIL), MASK),) if self.emails else ()
        object.__setattr__(self, "_keys", frozenset(_normal(key) for key in self.keys))
        object.__setattr__(self, "_more", (*emails, *own))

    def clean(self, text: str) -> bool:
        """True where it is certain that nothing in ``text`` needs redaction."""
        if self.hook is not None or self._keys or self._more:
            return False
        return not _may_hold_secret(text)

    def text(self, text: str) -> str:
        """``text`` without secrets. Where it is JSON, by key as well."""
        if text[:1].isspace() or text[:1] in ("{", "["):
            try:
                data = orjson.loads(text)
                safe = self.value(data)
                return text if safe == data else orjson.dumps(safe).decode()
            except (TypeError, ValueError, RecursionError):  # no JSON, or too deep
                return self._masked(text)
        return self._masked(text)

    def value(self, value: Any) -> Any:
        """JSON data without secrets, at any depth."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            if "value" in value and self._names_secret(value):
                value = {**value, "value": MASK}
            return {self._masked(key): self._entry(key, item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return value

    def _names_secret(self, pair: dict[str, Any]) -> bool:
        """A header or a form field as an object of its own: ``{"name": "password", "value": …}``."""
        named = pair.get("name", pair.get("key"))
        return isinstance(named, str) and bool(pair["value"]) and self.secret_key(named)

    def secret_key(self, key: str) -> bool:
        """Whether ``key`` names something secret: ``api_key``, ``clientSecret``, ``X-Auth-Token``."""
        normal = _normal(key)
        return _SECRET_KEY.search(normal) is not None or normal in self._keys

    def _entry(self, key: str, item: Any) -> Any:
        if item is None or isinstance(item, bool) or item == "" or not self.secret_key(key):
            return self.value(item)
        return MASK

    def _masked(self, text: str) -> str:
        for pattern, mask in (*known_patterns(), *self._more):
            text = pattern.sub(mask, text)
        return text


def _normal(key: str) -> str:
    return _SEPARATOR.sub("_", key).lower()


def as_redaction(redact: Redaction | Redact | Iterable[str] | None) -> Redaction:
    """Return the redaction for an argument of ``redact=``: a :class:`Redaction`, a callable, or further key names."""
    if redact is None:
        return Redaction()
    if isinstance(redact, Redaction):
        return redact
    if callable(redact):
        return Redaction(hook=redact)
    return Redaction(keys=(redact,) if isinstance(redact, str) else tuple(redact))
