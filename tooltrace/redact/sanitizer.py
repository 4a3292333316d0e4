"""Conversion of snapshots to fields that may be stored: redacted first, then cut to the size limit."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from itertools import islice
from typing import Any

import orjson

from tooltrace.faults import pass_on_signal
from tooltrace.redact.known_values import MAX_VALUES, removed_values
from tooltrace.redact.plain_data import json_of
from tooltrace.redact.pruning import Pruning
from tooltrace.redact.redaction import Redaction
from tooltrace.redact.snapshot import Json, Snapshot, split_cut
from tooltrace.redact.texts import MARGIN, MAX_JSON, fix_unicode

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
