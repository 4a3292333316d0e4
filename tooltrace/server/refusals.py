"""A log of refused requests and connections, which an attacker cannot flood."""

from __future__ import annotations

import logging
import time
from typing import Final

INTERVAL_SECONDS: Final = 10.0
"""Seconds between two lines about one kind of refusal; the next line has the number of those between."""

_log = logging.getLogger("tooltrace.server")
_last: dict[str, float] = {}
_skipped: dict[str, int] = {}


def log_refusal(kind: str, text: str) -> None:
    """Log a refusal as a warning, at most once every ten seconds for each ``kind``. ``text`` must be printable."""
    now = time.monotonic()
    if now - _last.get(kind, -INTERVAL_SECONDS) < INTERVAL_SECONDS:
        _skipped[kind] = _skipped.get(kind, 0) + 1
        return
    _last[kind] = now
    skipped = _skipped.pop(kind, 0)
    _log.warning("%s%s", text, f" ({skipped} more like this before)" if skipped else "")
