"""Conversion of snapshots to fields that may be stored: redacted first, then cut to the size limit as JSON data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any

import orjson

from tooltrace.faults import pass_on_signal
from tooltrace.redact.known_values import MAX_VALUES, removed_values
from tooltrace.redact.plain_data import json_of
from tooltrace.redact.redaction import Redaction
from tooltrace.redact.snapshot import Json, Snapshot, split_cut
from tooltrace.redact.texts import MARGIN, MAX_JSON, fix_unicode

_SCALAR = 8
"""Bytes that a number, a boolean or null counts."""
_MEASURED_DEPTH = 8
"""Depth up to which a container is measured before it is cut: each level is measured again inside the one around it."""


def _json_size(text: str) -> int:
    """Return the bytes of ``text`` as JSON."""
    if text.isascii() and text.isprintable():  # most texts: only two characters are escaped
        return len(text) + 2 + text.count('"') + text.count("\\")
    return len(json_of(text))


class Pruning:
    """One cut of JSON data. Reads the data only as far as it is kept."""

    def __init__(self, limit: int, head: Callable[[str], str] | None, *, counted: bool) -> None:
        """``limit``: about the bytes of JSON that are kept.

        ``head`` cuts a text to the limit, as names and lists are cut then; None where the leaves have been cut before.
        ``counted``: whether to write how many members are left out, which is unknown where the data was cut before.
        """
        self._limit = limit
        self._left = limit
        self._head = head
        self._counted = counted

    def prune(self, value: Any, depth: int = 0) -> Any:
        """Return ``value``, cut to the bytes that are left. Data that is kept whole is returned itself, not a copy."""
        kind = type(value)
        # the data is from orjson, so it has no subclasses
        if kind is str:
            return self._text(value if self._head is None else self._head(value))
        if kind is dict or kind is list:
            if depth < _MEASURED_DEPTH and (size := self._size(value)) < self._left:
                self._left -= size
                return value
            return self._dict(value, depth + 1) if kind is dict else self._list(value, depth + 1)
        self._left -= _SCALAR
        return value

    def _size(self, value: dict[str, Any] | list[Any]) -> int:
        """Return the bytes that ``value`` counts; where those are more than are left, any such number."""
        left = self._left
        if type(value) is dict:
            size = sum(map(len, value)) + 4 * len(value)
            items: Any = value.values()
        else:
            size = len(value)
            items = value
        for item in items:
            if size >= left:
                break
            kind = type(item)
            if kind is str:
                size += _json_size(item)
            elif kind is dict or kind is list:
                size += self._size(item)
            else:
                size += _SCALAR
        return size

    def _text(self, text: str) -> str:
        size = _json_size(text)
        # escapes and UTF-8 make JSON longer than the text: the part that fits is estimated in proportion
        front = text if size <= self._left else text[: max(self._left, 0) * len(text) // size]
        self._left -= size
        return front if front == text else front + "…"

    def _dict(self, value: dict[str, Any], depth: int) -> dict[str, Any]:
        if self._head is not None and max(map(len, value), default=0) > self._limit:
            value = {key[: self._limit]: item for key, item in value.items()}
        out: dict[str, Any] = {}
        for key, item in value.items():
            if self._left <= 0:
                out["…"] = f"{len(value) - len(out)} more" if self._counted else "more"
                break
            self._left -= len(key) + 4
            out[key] = self.prune(item, depth)
        return out

    def _list(self, value: list[Any], depth: int) -> list[Any]:
        if self._head is not None:
            value = value[: self._limit]
        out: list[Any] = []
        for item in value:
            if self._left <= 0:
                out.append(f"… {len(value) - len(out)} more" if self._counted else "… more")
                break
            self._left -= 1
            out.append(self.prune(item, depth))
        return out


MAX_PARSED_JSON = MAX_JSON
"""Maximum characters of a JSON text that is redacted by its keys; a longer one is redacted by patterns only."""


class Sanitizer:
    """The redaction and size limits for the fields of one call, with a record of what was removed."""

    __slots__ = ("clean", "cut", "limit", "parsed", "redacted", "redactions", "removed", "seen", "sizes")

    def __init__(self, redactions: Sequence[Redaction], limit: int, clean: bool = False) -> None:
        self.redactions = redactions
        self.limit = limit
        self.clean = clean
        """Whether the call is known to contain nothing to redact."""
        self.parsed: tuple[Snapshot, Any] = None, None
        """A snapshot that was parsed before, and its data, which no rule of a user has seen."""
        self.redacted = False
        self.removed: set[str] = set()
        """Texts that were removed and are secrets only, see :mod:`tooltrace.redact.known_values`."""
        self.seen: set[str] = set()
        """Names of the fields that this sanitizer has read."""
        self.sizes: dict[str, int] = {}
        """Full size in bytes of each field that this sanitizer cut."""
        self.cut = False
        """Whether a field was already cut by its snapshot, so that its full size is unknown."""

    @property
    def truncated(self) -> bool:
        """Whether any field was cut."""
        return self.cut or bool(self.sizes)

    def sanitize_json(self, field: str, snap: Snapshot) -> Json | None:
        """Return a snapshot as JSON text that may be stored; None where its redaction failed."""
        self.seen.add(field)
        raw = snap if type(snap) is bytes else json_of(fix_unicode(snap) if type(snap) is str else snap)
        raw, cut, full_size = split_cut(raw)
        self.cut = self.cut or cut
        if full_size is not None:
            self.sizes[field] = full_size
        if len(raw) <= self.limit and self.clean:
            return Json(raw.decode())
        data = self.parsed[1] if snap is self.parsed[0] else orjson.loads(raw)
        long = len(raw) > self.limit
        # of a long field, each text is cut to little more than the limit first, to bound the search; the exact cut comes
        # last, because a secret that is cut in two is not found
        if not self.clean:
            data, dropped = self._redact(field, self._truncate_leaves(data) if long else data)
            if dropped:
                return None
        if long:
            if not cut:
                self.sizes[field] = len(raw)
            data = Pruning(self.limit, self._head if self.clean else None, counted=not cut).prune(data)
        return Json(json_of(data).decode())

    def sanitize_text(self, field: str, text: str | None) -> str | None:
        """Return a text that may be stored; None where ``text`` is None or its redaction failed."""
        if text is None:
            return None
        self.seen.add(field)
        text = fix_unicode(text)
        if len(text) <= self.limit and self.clean:
            return text
        long = len(text) > self.limit
        if long:
            self.sizes[field] = len(text.encode())
        safe, dropped = self._redact(field, self._head(text) if long else text)
        if dropped:
            return None
        result = fix_unicode(safe if isinstance(safe, str) else json_of(safe).decode())
        return result[: self.limit] if long else result

    def sanitize_name(self, field: str, text: str) -> str:
        """Return a name or an id that may be stored. A user's function does not get it: the rules alone decide."""
        self.seen.add(field)
        text = fix_unicode(text)
        safe = self.apply_rules(text)
        if len(safe) > self.limit:
            self.sizes[field] = len(text.encode())
        return safe[: self.limit]

    def apply_rules(self, text: str) -> str:
        """Return a text, or the JSON of names, without secrets; neither a user's function nor the limit applies."""
        safe = text
        if not self.clean:
            for redaction in self.redactions:
                safe = redaction.redact_text(safe)
            self._note(text, safe)
        return safe

    def _redact(self, field: str, value: Any) -> tuple[Any, bool]:
        """Return ``value`` without secrets, and whether the whole field must be dropped."""
        if self.clean:
            return value, False
        safe = value
        try:
            for redaction in self.redactions:
                safe = redaction.redact_value(safe)
                # a copy, because the hook may change it in place; by way of JSON, because it may return any object
                if redaction.hook is not None:
                    safe = orjson.loads(json_of(redaction.hook(field, deepcopy(safe))))
        except BaseException as error:  # whatever a user's redaction raises, the unredacted field must not be stored
            pass_on_signal(error)
            safe = None
        self._note(value, safe)
        return safe, safe is None and value is not None

    def _note(self, before: Any, after: Any) -> None:
        """Note that ``after`` is what was left of ``before``."""
        if after is before or after == before:
            return
        self.redacted = True
        if len(self.removed) < MAX_VALUES:
            self.removed.update(islice(removed_values(before, after), MAX_VALUES))

    def _truncate_leaves(self, value: Any) -> Any:
        """Return ``value`` with each text cut to little more than the limit: the rest could not be stored anyway."""
        if isinstance(value, str):
            return self._head(value)
        if isinstance(value, dict):
            return {key[: self.limit]: self._truncate_leaves(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._truncate_leaves(item) for item in value[: self.limit]]
        return value

    def _head(self, text: str) -> str:
        """Return the front of a long ``text``, without secrets.

        The last MARGIN characters read are left out, because they may contain the first half of a secret. JSON of
        up to MAX_PARSED_JSON characters is read whole, for its keys.
        """
        if len(text) <= self.limit + MARGIN:
            return text
        parses_all = text[:1] in ("{", "[") and len(text) <= MAX_PARSED_JSON
        front = safe = text if parses_all else text[: self.limit + MARGIN]
        if not self.clean:
            for redaction in self.redactions:
                safe = redaction.redact_text(safe)
            self._note(front, safe)
        return safe if parses_all else safe[:-MARGIN]
