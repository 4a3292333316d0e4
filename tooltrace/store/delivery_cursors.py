"""How far each destination has been given what the journals hold. Loads no DuckDB.

A destination has a folder's worth of files beside the store, ``<store>.export/<name>.…``: its cursor, its lock, and the
records that it refused. While its cursor is there, a fold leaves the journals that it has not reached.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from tooltrace.errors import StoreError
from tooltrace.store.file_lock import Lock
from tooltrace.store.paths import StorePaths

MAX_RETAINED_BYTES: Final = 1 << 30
"""So much of the journals a destination can hold back at most; beyond it the oldest go, and are counted."""
_CURSOR: Final = ".cursor.json"
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


@dataclass(slots=True, kw_only=True)
class DeliveryCursor:
    """A destination's progress."""

    begun_at: datetime
    """What was recorded before is not its business."""
    journals: dict[str, int] | None = None
    """Journal's name, and the byte that is reached; a journal that is not here is new. None: not settled yet."""
    sending: dict[str, int] = field(default_factory=dict)
    """Where the batch under way ends, in each journal it is of."""
    taken: list[str] = field(default_factory=list)
    """The parts of the batch under way that were acknowledged."""
    memory: dict[str, Any] = field(default_factory=dict)
    """What the destination wants to remember."""
    early: list[str] = field(default_factory=list)
    """Spans that began before and were delivered all the same, having ended after: history leaves them out."""
    sent: int = 0
    """Records that were acknowledged."""
    refused: int = 0
    """Records that were refused."""
    sent_at: datetime | None = None
    error: str | None = None
    """Why it waits; None where it does not."""
    target: str | None = None
    """Where it sends to, in words."""


@dataclass(frozen=True, slots=True)
class DestinationFiles:
    """The files of one destination of one store."""

    paths: StorePaths
    name: str

    @classmethod
    def of(cls, store: str | os.PathLike[str] | StorePaths, name: str) -> DestinationFiles:
        """Raises StoreError for a name that cannot be a file's."""
        if not _NAME.fullmatch(name):
            raise StoreError(f"a destination's name has letters, digits, '_', '.' and '-', at most 64, got {name!r}")
        return cls(StorePaths.of(store), name)

    @property
    def folder(self) -> Path:
        """Of all destinations."""
        return folder_of(self.paths)

    @property
    def cursor(self) -> Path:
        return self.folder / f"{self.name}{_CURSOR}"

    @property
    def refused(self) -> Path:
        """Records that were set aside, as in a journal."""
        return self.folder / f"{self.name}.refused.jsonl"

    def lock(self) -> Lock:
        """Who has it exclusively delivers. Raises StoreError where nothing can be written beside the store."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"{self.folder} cannot be made ({error.strerror or error}); nothing is exported"
            ) from error
        return Lock(replace(self.paths, lock=self.folder / f"{self.name}.lock"))

    def load(self) -> DeliveryCursor | None:
        """The cursor; None where there is none. Raises StoreError for one that cannot be read."""
        try:
            return _cursor(self.cursor.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise StoreError(f"the cursor {self.cursor} cannot be read: {error}") from error

    def save(self, cursor: DeliveryCursor) -> None:
        """Replace the cursor, whole or not at all. Raises OSError."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = self.cursor.with_suffix(f".{os.getpid()}.tmp")
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(orjson.dumps(cursor, option=orjson.OPT_UTC_Z))
        temporary.replace(self.cursor)

    def create(self) -> DeliveryCursor:
        """A cursor that stands where the journals end now. What is written meanwhile is behind it."""
        cursor = DeliveryCursor(begun_at=datetime.now(UTC))
        self.save(cursor)  # from here on nothing is removed
        cursor.journals = {name: _last_line_end(self.paths.journal / name) for name in self.paths.journals()}
        self.save(cursor)
        return cursor

    def forget(self) -> bool:
        """Remove the cursor: nothing is held back any more. False where there was none."""
        try:
            self.cursor.unlink()
        except FileNotFoundError:
            return False
        return True

    def forget_unless_in_use(self) -> bool:
        """Remove the cursor where nobody delivers. False where somebody does. Raises StoreError, OSError."""
        if not self.cursor.exists():
            return True
        lock = self.lock()
        try:
            free = lock.try_exclusive()
            if free:
                self.forget()
            return free
        finally:
            lock.release()


def divide(paths: StorePaths, name: str, parts: Mapping[str, str]) -> bool:
    """Give each of ``parts`` a cursor of its own instead of the one that ``name`` has for all of them.

    ``parts``: each part, and the name of its new destination; one that has a cursor already keeps it. False where
    another process delivers to ``name`` at this moment. Raises StoreError, OSError.
    """
    former = DestinationFiles.of(paths, name)
    if not former.cursor.exists():
        return True
    lock = former.lock()
    try:
        if not lock.try_exclusive():
            return False
        cursor = former.load()
        for part, new in parts.items():
            files = DestinationFiles.of(paths, new)
            if cursor is not None and not files.cursor.exists():
                files.save(_share(cursor, part))
        former.forget()  # last: a kill before this leaves the cursor, and the next process goes on from here
    finally:
        lock.release()
    return True


def _share(cursor: DeliveryCursor, part: str) -> DeliveryCursor:
    """Return the progress of ``part``; of the batch under way that is all of it or nothing."""
    if part in cursor.taken:
        return replace(cursor, taken=[part], error=None, target=None)
    return replace(cursor, taken=[], sending={}, error=None, target=None)


def folder_of(paths: StorePaths) -> Path:
    """Where the destinations of a store keep their files."""
    return paths.database.with_name(f"{paths.database.name}.export")


def destinations(paths: StorePaths) -> list[DestinationFiles]:
    """Those that have a cursor, by name."""
    with contextlib.suppress(OSError):
        names = [entry.name for entry in os.scandir(folder_of(paths)) if entry.name.endswith(_CURSOR)]
        return [DestinationFiles(paths, name.removesuffix(_CURSOR)) for name in sorted(names)]
    return []


def pending_bytes(paths: StorePaths, cursor: DeliveryCursor, sizes: Mapping[str, int] | None = None) -> dict[str, int]:
    """Bytes of each journal that ``cursor`` has not reached."""
    known = cursor.journals or {}
    left = {name: size - known.get(name, 0) for name, size in (sizes or paths.journals()).items()}
    return {name: size for name, size in left.items() if size > 0}


def retained_journals(
    paths: StorePaths, *, limit: int = MAX_RETAINED_BYTES
) -> tuple[set[str], dict[str, dict[str, int]]]:
    """The journals that destinations still want, and those that each wants in vain, being too far behind.

    The second by destination: journal's name, and the byte from which it was not given it.
    """
    wanted: set[str] = set()
    lost: dict[str, dict[str, int]] = {}
    sizes = paths.journals()
    for files in destinations(paths):
        try:
            cursor = files.load()
        except StoreError:  # who delivers says so, and begins with all that is there
            cursor = DeliveryCursor(begun_at=datetime.now(UTC))
        if cursor is None:
            continue
        total = 0
        for name, size in sorted(pending_bytes(paths, cursor, sizes).items(), key=lambda item: -_age(paths, item[0])):
            total += size
            if total <= limit:
                wanted.add(name)
            else:
                lost.setdefault(files.name, {})[name] = (cursor.journals or {}).get(name, 0)
    return wanted, lost


def _cursor(data: bytes) -> DeliveryCursor:
    values = orjson.loads(data)
    moments: dict[str, Any] = {name: _moment(values[name]) for name in ("begun_at", "sent_at") if values.get(name)}
    known = {
        name: values[name]
        for name in DeliveryCursor.__slots__
        if name in values and name not in ("begun_at", "sent_at")
    }
    return DeliveryCursor(**known, **moments)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _age(paths: StorePaths, name: str) -> int:
    """Of the last line, in nanoseconds since the epoch."""
    try:
        return (paths.journal / name).stat().st_mtime_ns
    except OSError:
        return 0


def _last_line_end(path: Path) -> int:
    """The byte after the last whole line of a journal that may be written just now."""
    try:
        with path.open("rb") as file:
            at = file.seek(0, os.SEEK_END)
            while at > 0:
                start = max(0, at - 65536)
                file.seek(start)
                found = file.read(at - start).rfind(b"\n")
                if found >= 0:
                    return start + found + 1
                at = start
    except FileNotFoundError:
        pass
    return 0
