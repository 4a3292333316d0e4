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
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import orjson

from tooltrace.errors import ConfigError
from tooltrace.redact.plain_data import json_of
from tooltrace.redact.texts import MASK

if TYPE_CHECKING:
    from tooltrace.redact.secret_names import Strength

MAX_SHORT_KEY_LENGTH = 128

_Text = TypeVar("_Text", str, str | None)

Redact = Callable[[str, Any], Any]
"""A user's own redaction function.

Accepts the field's name ("arguments", "result", "text", …) and its value as JSON data; returns the value to store."""

_SEPARATOR = re.compile(r"[\s.\-_]+|(?<=[a-z])(?=[A-Z])")
_NAME_MEMBERS, _VALUE_MEMBERS = (
    [spelling for word in words for spelling in (word, word.capitalize(), word.upper())]
    for words in (("name", "key"), ("value",))
)
"""The members of an object that is a pair: ``{"Name": "password", "Value": …}``."""
_LEAST = 6
"""The least characters of a text with a secret, such as ``pwd=ab``."""

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
    def has_own_rules(self) -> bool:
        """Whether there are keys or patterns in addition to the built-in ones."""
        return self._custom

    @property
    def normal_keys(self) -> frozenset[str]:
        """The further keys, as they are compared."""
        return self._keys

    def may_skip(self, text: str) -> bool:
        """Whether ``text`` certainly contains nothing that needs redaction."""
        if self.hook is not None or self._custom:
            return False
        return not _search().may_have_secret(text)

    def redact_text(self, text: str) -> str:
        """Return ``text`` without secrets. JSON text is also redacted by key."""
        if not _like_json(text):
            return self._masked(text)
        return self._json_text(text) if self._custom or _search().may_have_secret(text) else text

    def redact_value(self, value: Any) -> Any:
        """Return JSON data without secrets at any depth; ``value`` itself where it contains none."""
        if isinstance(value, str):
            return self.redact_text(value)
        if not isinstance(value, (dict, list)):
            return value
        try:
            # most data has no secret, and is not walked
            if not self._custom and not _search().may_have_secret(json_of(value).decode()):
                return value
        except (TypeError, ValueError, RecursionError):  # a lone surrogate, or nested too deeply
            pass
        return self._value(value)

    def is_secret_key(self, key: str) -> bool:
        """Whether ``key`` names a secret, such as ``api_key``, ``clientSecret`` or ``X-Auth-Token``."""
        known = _key(key)
        return (known.strength is not None and known.strength.is_sure) or known.normal in self._keys

    # A value without secrets is returned as the same object, so that callers detect changes by identity.

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return value if len(value) < _LEAST and not self._custom else self.redact_text(value)
        if isinstance(value, dict):
            return self._dict(value)
        if isinstance(value, list):
            return self._list(value)
        return value

    def _list(self, value: list[Any]) -> list[Any]:
        safe = [self._value(item) if isinstance(item, (str, dict, list)) else item for item in value]
        for place, name in enumerate(value[:-1]):
            # an option and its value, or a pair: ["--password", …], ["x-api-key", …]
            if isinstance(name, str) and (name.startswith("-") or (place == 0 and len(value) == 2)):
                item = value[place + 1]
                if isinstance(item, str) and not item.startswith("-") and self._is_secret(name, item):
                    safe[place + 1] = MASK
        return safe if any(map(is_not, safe, value)) else value

    def _dict(self, value: dict[str, Any]) -> dict[str, Any]:
        items = value
        # a header or a form field, whose key is the value of another member
        for member in _VALUE_MEMBERS:
            if member in value and self._is_pair(value, value[member]):
                items = {**value, member: MASK}
        safe: dict[str, Any] = {}
        same = items is value
        for key, item in items.items():
            safe_key = _key(key).safe
            if self._custom:
                safe_key = self._mask_custom(safe_key)
            if self._is_secret(key, item):
                safe_item: Any = MASK
            else:
                safe_item = self._value(item) if isinstance(item, (str, dict, list)) else item
            same = same and safe_item is item and safe_key == key
            safe[safe_key] = safe_item
        return value if same else safe

    def _is_pair(self, pair: dict[str, Any], value: Any) -> bool:
        """Whether ``pair`` is a secret header or form field, such as ``{"name": "password", "value": …}``."""
        named = [pair[member] for member in _NAME_MEMBERS if member in pair]
        return bool(named) and isinstance(named[0], str) and self._is_secret(named[0], value)

    def _is_secret(self, name: str, value: Any) -> bool:
        """Whether ``value`` is a secret because of its ``name``."""
        # nothing, and yes or no, are not secrets: ``{"password": null}`` says that none was given
        if value is None or value == "" or isinstance(value, bool):
            return False
        known = _key(name)
        if known.normal in self._keys:
            return True
        return known.strength is not None and _search().is_secret_value(known.strength, value)

    def _json_text(self, text: str) -> str:
        try:
            data = orjson.loads(text)
            safe = self._value(data)
            # where nothing was removed, the text keeps its own spaces and order
            return text if safe is data or safe == data else json_of(safe).decode()
        except (TypeError, ValueError, RecursionError):  # not JSON, or nested too deeply
            return self._masked(text)

    def _masked(self, text: str) -> str:
        return self._mask_custom(_search().masked(text))

    def _mask_custom(self, text: str) -> str:
        for pattern in self._patterns:
            text = pattern.sub(MASK, text)
        return text


_MAY_HAVE_SECRET = re.compile(r"[\d:=@-]|\S{20}")
"""What each secret has. Most names and descriptions are plain words, and need no search while a program is imported."""


def redact_name(text: _Text, redaction: Redaction | None = None) -> _Text:
    """Return a name, a version or a description without secrets, for what spans and logs have from the start."""
    if text is None or ((redaction is None or not redaction.has_own_rules) and _MAY_HAVE_SECRET.search(text) is None):
        return text
    return (redaction or Redaction()).redact_text(text)


def load_rules() -> None:
    """Load the rules for secrets: a call may end while the interpreter shuts down, when nothing can be imported."""
    _search()


@cache
def _search() -> Any:
    from tooltrace.redact import secret_search  # imported here to keep `import tooltrace` fast

    return secret_search


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
    strength: Strength | None
    """How sure it is that its value is a secret; None where it names none."""


def _key(name: str) -> _KeyProperties:
    return _short_key(name) if len(name) <= MAX_SHORT_KEY_LENGTH else _read_key(name)


def _read_key(name: str) -> _KeyProperties:
    normal = _normal(name)
    search = _search()
    return _KeyProperties(search.masked(name), normal, search.strength_of(name))


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
