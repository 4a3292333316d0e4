"""The retention of a store: what is pruned at the first fold of a day, whichever process folds.

``configure(retention=…, keep_rows=…, max_size=…)`` writes the retention beside the journals, so that it is part of the store. The
process that folds applies it at most once in 24 hours; the time of a marker file tells when.
"""

from __future__ import annotations

import contextlib
import logging
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import orjson

from tooltrace.errors import ConfigError
from tooltrace.redact.plain_data import json_of
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.syncing import replace_file

FILE: Final = ".retention"
"""Name of the file with the retention, among the journals."""
MARKER: Final = ".pruned"
"""Name of the file whose time is that of the last prune by retention."""
EVERY_SECONDS: Final = 24 * 3600.0

_AGE: Final = re.compile(r"(\d+)\s*([dwy])")
_DAYS: Final = {"d": 1, "w": 7, "y": 365}
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?")
_FACTORS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}

_log = logging.getLogger("tooltrace")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunePolicy:
    """The limits of one prune."""

    before: datetime | None = None
    """Remove the content of the UTC days that ended at this time or earlier; None sets no limit by age."""
    rows_before: datetime | None = None
    """Delete the rows of calls that ended before this time, by UTC days; None keeps them."""
    max_bytes: int | None = None
    """Remove the content of the oldest days, then their rows, until the database file has at most this size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneReport:
    """The result of a prune, in numbers."""

    content_before: date | None
    """Content of the days before this one was removed; None where the policy sets no limit that is reached."""
    rows_before: date | None
    """Rows of the days before this one were deleted; None where the policy keeps them."""
    emptied: Mapping[str, int]
    """Rows that stay without their content, by table; only tables with such rows."""
    deleted: Mapping[str, int]
    """Deleted rows, by table; only tables with such rows."""
    bytes_before: int
    """Size of the database file."""
    bytes_after: int
    """Size of the new database file; an estimate where nothing was removed yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long a store keeps content and rows; None sets no limit."""

    days: int | None = None
    """Days for which content is kept."""
    row_days: int | None = None
    max_bytes: int | None = None

    def policy(self, now: datetime) -> PrunePolicy:
        """Return what to prune at ``now``."""

        def ago(days: int | None) -> datetime | None:
            return None if days is None else now - timedelta(days=days)

        return PrunePolicy(before=ago(self.days), rows_before=ago(self.row_days), max_bytes=self.max_bytes)


def parse_days(text: str) -> int:
    """Return the days of a text such as ``90d``, ``12w`` or ``1y``. Raises ConfigError."""
    found = _AGE.fullmatch(text.strip().lower()) if isinstance(text, str) else None
    if not found or not 0 < (days := int(found[1]) * _DAYS[found[2]]) <= 36_500:
        raise ConfigError(f"an age must be a number of days, weeks or years, such as 90d, 12w or 1y; got {text!r}")
    return days


def parse_size(text: str | int) -> int:
    """Return the bytes of a text such as ``500MB`` or ``2GB`` (1 GB is 10^9 bytes). Raises ConfigError."""
    found = _SIZE.fullmatch(str(text).strip().lower()) if isinstance(text, str | int) else None
    size = int(float(found[1]) * _FACTORS[found[2]]) if found else 0
    if size < 1:
        raise ConfigError(f"a size must be a number of bytes with a unit, such as 500MB or 2GB; got {text!r}")
    return size


def write_retention(paths: StorePaths, retention: Retention) -> None:
    """Make ``retention`` that of the store. Raises OSError where it cannot be written."""
    paths.journal.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(paths.journal / FILE, json_of(asdict(retention)))


def read_retention(paths: StorePaths) -> Retention | None:
    """Return the retention of the store; None where it has none, or the file cannot be read."""
    try:
        found: dict[str, Any] = orjson.loads((paths.journal / FILE).read_bytes())
        return Retention(**{name: None if value is None else int(value) for name, value in found.items()})
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def apply_when_due(paths: StorePaths) -> None:
    """Prune the store by its retention, unless that was done in the last 24 hours.

    The caller must hold the lock exclusively and have folded. A prune that fails is logged and tried again a day later.
    """
    retention = read_retention(paths)
    if retention is None or not _is_due(paths):
        return
    from tooltrace.store.upkeep.prune import prune_locked

    try:
        # first: a prune that fails or is killed must not run again at each fold
        (paths.journal / MARKER).touch(mode=0o600)
        prune_locked(paths, retention.policy(datetime.now(UTC)))
    except Exception as error:  # a fold must not fail because a prune does
        _log.warning("the store %s could not be pruned: %s", paths.database, error)


def _is_due(paths: StorePaths) -> bool:
    with contextlib.suppress(OSError):
        age = time.time() - (paths.journal / MARKER).stat().st_mtime
        # an age below 0: the clock was set back, and the marker may lie far in the future
        return not 0 <= age < EVERY_SECONDS
    return True
