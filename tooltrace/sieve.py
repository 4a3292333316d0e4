"""From snapshots to fields that may be kept: redacted first, bounded then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from tooltrace.capture import Snapshot, scrub
from tooltrace.record import Json
from tooltrace.redaction import Redaction

MARGIN = 4096
"""How far past the limit a long text is read before it is redacted and cut: longer than any secret."""


class Sieve:
    """One call's way through redaction and bounds; it remembers what was taken out."""

    __slots__ = ("clean", "limit", "redacted", "redactions", "sizes")

    def __init__(self, redactions: Sequence[Redaction], limit: int, clean: bool = False) -> None:
        self.redactions = redactions
        self.limit = limit
        self.clean = clean
        """True where it is known that there is nothing to redact."""
        self.redacted = False
        self.sizes: dict[str, int] = {}

    def json(self, field: str, snap: Snapshot) -> Json | None:
        """A snapshot as JSON text that may be kept; None where its redaction failed."""
        raw = snap if type(snap) is bytes else orjson.dumps(scrub(snap) if type(snap) is str else snap)
        if len(raw) <= self.limit and self.clean:
            return Json(raw.decode())
        data = orjson.loads(raw)
        long = len(raw) > self.limit
        data, dropped = self._redact(field, _precut(data, self.limit + MARGIN) if long else data)
        if dropped:
            return None
        if long:
            self.sizes[field] = len(raw)
            data = _prune(data, [self.limit])
        return Json(orjson.dumps(data).decode())

    def text(self, field: str, text: str | None) -> str | None:
        """A text that may be kept; None where its redaction failed."""
        if text is None:
            return None
        text = scrub(text)
        if len(text) <= self.limit and self.clean:
            return text
        long = len(text) > self.limit
        if long:
            self.sizes[field] = len(text.encode())
        safe, dropped = self._redact(field, _head(text, self.limit + MARGIN) if long else text)
        if dropped:
            return None
        return scrub(str(safe))[: self.limit] if long else scrub(str(safe))

    def _redact(self, field: str, value: Any) -> tuple[Any, bool]:
        """``value`` without secrets, and whether the whole field has to go."""
        if self.clean:
            return value, False
        safe = value
        for redaction in self.redactions:
            safe = redaction.value(safe)
            if redaction.hook is not None:
                try:
                    safe = orjson.loads(orjson.dumps(redaction.hook(field, safe)))
                except Exception:  # noqa: BLE001 - what cannot be redacted is not written
                    self.redacted = True
                    return None, True
        self.redacted = self.redacted or safe != value
        return safe, False


def _head(text: str, length: int) -> str:
    """The first ``length`` characters, ending between words, so that no secret is cut in two and missed."""
    if len(text) <= length:
        return text
    head = text[:length]
    return head.rsplit(None, 1)[0] if any(map(str.isspace, head)) else head


def _precut(value: Any, length: int) -> Any:
    """``value`` with no text longer than ``length``: what lies behind cannot be kept anyway."""
    if isinstance(value, str):
        return _head(value, length)
    if isinstance(value, dict):
        return {key[:length]: _precut(item, length) for key, item in value.items()}
    if isinstance(value, list):
        return [_precut(item, length) for item in value[:length]]
    return value


def _prune(value: Any, left: list[int]) -> Any:
    """``value`` cut to about ``left[0]`` bytes of JSON: the front of each text and list is kept."""
    if isinstance(value, str):
        keep = value[: max(left[0], 0)]
        left[0] -= len(keep) + 2
        return keep if keep == value else keep + "…"
    if isinstance(value, dict):
        return _prune_dict(value, left)
    if isinstance(value, list):
        return _prune_list(value, left)
    left[0] -= 8
    return value


def _prune_dict(value: dict[str, Any], left: list[int]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, item in value.items():
        if left[0] <= 0:
            out["…"] = f"{len(value) - len(out)} more"
            break
        left[0] -= len(key) + 4
        out[key] = _prune(item, left)
    return out


def _prune_list(value: list[Any], left: list[int]) -> list[Any]:
    out: list[Any] = []
    for item in value:
        if left[0] <= 0:
            out.append(f"… {len(value) - len(out)} more")
            break
        left[0] -= 1
        out.append(_prune(item, left))
    return out
