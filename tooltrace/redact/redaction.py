"""Removal of secrets from a call's data before the first byte is written.

Secrets are found by key (``{"password": …}``) and by the form of a value (API keys, bearer tokens, JWT, private
keys, passwords in URLs), at any depth, including JSON inside strings. A field that cannot be redacted is dropped,
never written raw.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from operator import is_not
from typing import Any, NamedTuple

import orjson

from tooltrace.errors import ConfigError
from tooltrace.redact.secret_hints import MASK, Hints, hints, hints_among

MAX_SHORT_KEY_LENGTH = 128

Redact = Callable[[str, Any], Any]
"""A user's own redaction function.

Accepts the field's name ("arguments", "result", "text", …) and its value as JSON data; returns the value to store."""

_SECRET_KEY = re.compile(
    r"passw(?:or)?d|passphrase|(?:^|_)pass$|secret(?!ar|ion|ive)|api_?key|account_?key|access_?key|private_?key|signing_?key|encryption_?key"
    r"|authorization|credential|cookie|connection_?string"
    r"|(?<!page_)(?<!page)(?<!continuation_)(?<!continuation)token$|^(?:pwd|auth|jwt|ssn|cvv|card_?number|credit_?card)$"
)
_SEPARATOR = re.compile(r"[\s.\-_]+|(?<=[a-z])(?=[A-Z])")

_EMAIL = r"[A-Za-z0-9._%+\-]{1,64}@[A-Za-z0-9\-]{1,63}(?:\.[A-Za-z0-9\-]{1,63}){0,8}\.[A-Za-z]{2,24}\b"


@dataclass(frozen=True, slots=True)
class Redaction:
    """The rules for what to remove from a call.

    ``keys`` and ``patterns`` add to the built-in ones; ``emails`` also removes e-mail addresses; ``hook`` is
    called last, with each field's name and value.
    """

    keys: Iterable[str] = ()
    patterns: Iterable[str | re.Pattern[str]] = ()
    emails: bool = False
    hook: Redact | None = None
    _keys: frozenset[str] = field(init=False, repr=False)
    _patterns: tuple[re.Pattern[str], ...] = field(init=False, repr=False)
    _custom: bool = field(init=False, repr=False)
    """Whether there are keys or patterns in addition to the built-in ones."""

    def __post_init__(self) -> None:
        emails = (re.compile(_EMAIL),) if self.emails else ()
        if isinstance(self.keys, str):  # its letters are not keys
            object.__setattr__(self, "keys", (self.keys,))
        if isinstance(self.patterns, str | re.Pattern):
            object.__setattr__(self, "patterns", (self.patterns,))
        for name in ("keys", "patterns"):
            if not isinstance(getattr(self, name), Iterable):
                raise ConfigError(f"{name} must be texts, got {getattr(self, name)!r}")
        object.__setattr__(self, "_keys", frozenset(_normal(key) for key in self.keys))
        object.__setattr__(self, "_patterns", (*emails, *(re.compile(pattern) for pattern in self.patterns)))
        object.__setattr__(self, "_custom", bool(self._keys or self._patterns))

    @property
    def normal_keys(self) -> frozenset[str]:
        """The further keys, as they are compared."""
        return self._keys

    def may_skip(self, text: str) -> bool:
        """Whether ``text`` certainly contains nothing that needs redaction."""
        if self.hook is not None or self._custom:
            return False
        return hints(text, json=True) == ()

    def redact_text(self, text: str) -> str:
        """Return ``text`` without secrets. JSON text is also redacted by key."""
        json = _like_json(text)
        present = hints(text, json=json)
        if present == () and not self._custom:
            return text
        return self._text(text, present) if json else self._mask_custom(_masked(text, present))

    def redact_value(self, value: Any) -> Any:
        """Return JSON data without secrets at any depth; ``value`` itself where it contains none."""
        if isinstance(value, str):
            return self.redact_text(value)
        if not isinstance(value, (dict, list)):
            return value
        try:
            present = hints(orjson.dumps(value), json=True)
        except (TypeError, RecursionError):  # a lone surrogate, or nested too deeply: the hints are unknown
            present = None
        return value if present == () and not self._custom else self._value(value, present)

    def is_secret_key(self, key: str) -> bool:
        """Whether ``key`` names a secret, such as ``api_key``, ``clientSecret`` or ``X-Auth-Token``."""
        known = _key(key)
        return known.secret or known.normal in self._keys

    # In the methods below, ``present`` are the hints of the whole field that a value is part of; None if unknown.
    # A value without secrets is returned as the same object, so that callers detect changes by identity.

    def _value(self, value: Any, present: Hints | None) -> Any:
        if isinstance(value, str):
            part = hints(value, json=True) if present is None else hints_among(present, value)
            return value if part == () and not self._custom else self._text(value, part)
        if isinstance(value, dict):
            return self._dict(value, present)
        if isinstance(value, list):
            safe = [self._value(item, present) if isinstance(item, (str, dict, list)) else item for item in value]
            return safe if any(map(is_not, safe, value)) else value
        return value

    def _dict(self, value: dict[str, Any], present: Hints | None) -> dict[str, Any]:
        items = value
        # a header or a form field, whose key is the value of another member
        if "value" in value and self._is_secret_name(value):
            items = {**value, "value": MASK}
        safe: dict[str, Any] = {}
        same = items is value
        for key, item in items.items():
            known = _key(key)
            safe_key, secret = known.safe, known.secret
            if self._custom:
                safe_key, secret = self._mask_custom(safe_key), secret or known.normal in self._keys
            # nothing, and yes or no, are not secrets: ``{"password": null}`` says that none was given
            if secret and item is not None and item != "" and not isinstance(item, bool):
                safe_item: Any = MASK
            else:
                safe_item = self._value(item, present) if isinstance(item, (str, dict, list)) else item
            same = same and safe_item is item and safe_key == key
            safe[safe_key] = safe_item
        return value if same else safe

    def _text(self, text: str, present: Hints | None) -> str:
        if _like_json(text):
            try:
                data = orjson.loads(text)
                safe = self._value(data, present)
                # where nothing was removed, the text keeps its own spaces and order
                return text if safe is data or safe == data else orjson.dumps(safe).decode()
            except (TypeError, ValueError, RecursionError):  # not JSON, or nested too deeply
                pass
        if present is None:
            present = hints(text, json=False) or ()
        return self._mask_custom(_masked(text, present))

    def _is_secret_name(self, pair: dict[str, Any]) -> bool:
        """Whether ``pair`` is a secret header or form field, such as ``{"name": "password", "value": …}``."""
        named = pair.get("name", pair.get("key"))
        return isinstance(named, str) and bool(pair["value"]) and self.is_secret_key(named)

    def _mask_custom(self, text: str) -> str:
        for pattern in self._patterns:
            text = pattern.sub(MASK, text)
        return text


def _masked(text: str, present: Hints | None) -> str:
    return _mask()(text, present) if present else text


@cache
def _mask() -> Callable[[str, Hints], str]:
    from tooltrace.redact.secret_patterns import masked  # imported here to keep `import tooltrace` fast

    return masked


def _like_json(text: str) -> bool:
    """Whether ``text`` may be a JSON object or array, or a string after white space."""
    first = text[:1]
    if first.isspace():
        first = text[:64].lstrip()[:1]
        return first in ("{", "[", '"', "")  # "": more white space than that
    return first in ("{", "[")


class _KeyProperties(NamedTuple):
    """The properties of a JSON key that redaction needs."""

    safe: str
    """The name, with secrets of a known form masked."""
    normal: str
    secret: bool
    """Whether the name is that of a secret."""


def _key(name: str) -> _KeyProperties:
    return _short_key(name) if len(name) <= MAX_SHORT_KEY_LENGTH else _read_key(name)


def _read_key(name: str) -> _KeyProperties:
    normal = _normal(name)
    return _KeyProperties(_masked(name, hints(name, json=False)), normal, _SECRET_KEY.search(normal) is not None)


_short_key = lru_cache(maxsize=4096)(_read_key)
"""A cache of key properties, because JSON repeats its keys. Long names are not cached, to bound the memory."""


def _normal(key: str) -> str:
    return _SEPARATOR.sub("_", key).lower()


def as_redaction(redact: Redaction | Redact | Iterable[str] | None) -> Redaction:
    """Return the Redaction for a ``redact=`` argument.

    The argument is a :class:`Redaction`, a callable, further key names, or None for the built-in rules.
    """
    if redact is None:
        return Redaction()
    if isinstance(redact, Redaction):
        return redact
    if callable(redact):
        return Redaction(hook=redact)
    keys = (redact,) if isinstance(redact, str) else tuple(redact) if isinstance(redact, Iterable) else (redact,)
    if not all(isinstance(key, str) for key in keys):
        raise ConfigError(
            f"redact must be a Redaction, a function (field, value) -> value, or names of keys, got {redact!r}; nothing was changed"
        )
    return Redaction(keys=keys)
