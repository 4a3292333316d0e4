"""The progress of each destination through the journals. Does not load DuckDB.

A destination has files in a folder beside the store, ``<store>.export/<name>.…``: its cursor, its lock, and the
records that it refused. While the cursor exists, a fold does not remove journals that the cursor has not reached.
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
from tooltrace.redact.redaction import Redaction
from tooltrace.store.files.file_lock import Lock
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.syncing import make_synced, replace_file, sync_directory

MAX_RETAINED_BYTES: Final = 1 << 30
"""Maximum journal bytes retained for a lagging destination; older journals are removed and counted as losses."""
_CURSOR: Final = ".cursor.json"
_TIMES: Final = ("begun_at", "sent_at", "error_at")
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


@dataclass(slots=True, kw_only=True)
class DeliveryCursor:
    """The progress of one destination."""

    begun_at: datetime
    """Time when the export began; earlier records are not delivered."""
    journals: dict[str, int] | None = None
    """Byte offset reached in each journal, by its name; a journal without an entry is new.

    None until the offsets to start from are known."""
    sending: dict[str, int] = field(default_factory=dict)
    """End offset of the batch being sent, in each of its journals."""
    taken: list[str] = field(default_factory=list)
    """The parts of the batch being sent that were acknowledged."""
    memory: dict[str, Any] = field(default_factory=dict)
    """State that the destination stores between batches."""
    early: list[str] = field(default_factory=list)
    """Ids of spans that started before ``begun_at`` but were delivered, because they ended after it.

    An export of the history leaves these spans out."""
    sent: int = 0
    """Number of records that were acknowledged."""
    refused: int = 0
    """Number of records that were refused."""
    sent_at: datetime | None = None
    error: str | None = None
    """The reason why delivery waits, redacted; None where it does not wait."""
    error_at: datetime | None = None
    """Time when delivery began to wait for this reason."""
    target: str | None = None
    """A readable description of where the destination sends to."""

    def wait_because(self, reason: str) -> bool:
        """Set ``error`` to ``reason``, without secrets of a known form; return False where it stays the same."""
        text = Redaction().redact_text(reason)[:500]
        changed = text != self.error
        if changed:
            self.error, self.error_at = text, datetime.now(UTC)
        return changed


@dataclass(frozen=True, slots=True)
class DestinationFiles:
    """The files of one destination of one store."""

    paths: StorePaths
    name: str

    @classmethod
    def of(cls, store: str | os.PathLike[str] | StorePaths, name: str) -> DestinationFiles:
        """Return the files of destination ``name``. Raises StoreError for a name that cannot be a file name."""
        if not _NAME.fullmatch(name):
            raise StoreError(
                f"the name of a destination must be up to 64 letters, digits, '_', '.' and '-'; got {name!r}"
            )
        return cls(StorePaths.of(store), name)

    @property
    def folder(self) -> Path:
        """The folder with the files of all destinations."""
        return folder_of(self.paths)

    @property
    def cursor(self) -> Path:
        return self.folder / f"{self.name}{_CURSOR}"

    @property
    def refused(self) -> Path:
        """The file of refused records, in the format of a journal."""
        return self.folder / f"{self.name}.refused.jsonl"

    def lock(self) -> Lock:
        """Return the destination's lock; the process that has it exclusively delivers.

        Raises StoreError where the folder beside the store cannot be created.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot create the folder {self.folder} for the export: {error.strerror or error}"
            ) from error
        return Lock(replace(self.paths, lock=self.folder / f"{self.name}.lock"), activity="delivering")

    def load(self) -> DeliveryCursor | None:
        """Return the cursor; None where there is none. Raises StoreError for a cursor that cannot be read."""
        try:
            return _cursor(self.cursor.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise StoreError(f"cannot read the cursor {self.cursor}: {error}") from error

    def save(self, cursor: DeliveryCursor) -> None:
        """Replace the cursor file atomically. Raises OSError."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self.cursor, orjson.dumps(cursor, option=orjson.OPT_UTC_Z))  # noqa: TID251 - a flat struct of ours

    def create(self) -> DeliveryCursor:
        """Return a new, saved cursor at the current end of the journals.

        Lines that are written in the meantime lie beyond the cursor and will be delivered.
        """
        make_synced(self.folder)
        cursor = DeliveryCursor(begun_at=datetime.now(UTC))
        # from here on folds retain the journals, so none is removed while the offsets are read
        self.save(cursor)
        cursor.journals = {name: _last_line_end(self.paths.journal / name) for name in self.paths.journals()}
        self.save(cursor)
        sync_directory(self.folder)  # a later cursor would begin after the records that wait now
        return cursor

    def forget(self) -> bool:
        """Remove the cursor, so that folds no longer retain journals for it. Return False where there was none."""
        try:
            self.cursor.unlink()
        except FileNotFoundError:
            return False
        return True

    def forget_unless_in_use(self) -> bool:
        """Remove the cursor unless a process delivers; return False where one does. Raises StoreError, OSError."""
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


def folder_of(paths: StorePaths) -> Path:
    """Return the folder with the files of a store's destinations."""
    return paths.database.with_name(f"{paths.database.name}.export")


def destinations(paths: StorePaths) -> list[DestinationFiles]:
    """Return the files of all destinations that have a cursor, sorted by name."""
    with contextlib.suppress(OSError):
        names = [entry.name for entry in os.scandir(folder_of(paths)) if entry.name.endswith(_CURSOR)]
        return [DestinationFiles(paths, name.removesuffix(_CURSOR)) for name in sorted(names)]
    return []


def pending_bytes(paths: StorePaths, cursor: DeliveryCursor, sizes: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return the number of bytes in each journal that ``cursor`` has not reached."""
    known = cursor.journals or {}
    left = {name: size - known.get(name, 0) for name, size in (sizes or paths.journals()).items()}
    return {name: size for name, size in left.items() if size > 0}


def retained_journals(
    paths: StorePaths, *, limit: int = MAX_RETAINED_BYTES
) -> tuple[set[str], dict[str, dict[str, int]]]:
    """Return the journals that destinations still need, and those that destinations too far behind lose.

    The second value has, by destination, each journal's name and the byte offset from which it was not delivered.
    ``limit``: maximum bytes retained for one destination, newest journals first.
    """
    retained: set[str] = set()
    lost: dict[str, dict[str, int]] = {}
    sizes = paths.journals()
    for files in destinations(paths):
        try:
            cursor = files.load()
        except StoreError:  # the delivering process reports this, and starts again with everything that is there
            cursor = DeliveryCursor(begun_at=datetime.now(UTC))
        if cursor is None:
            continue
        total = 0
        for name, size in sorted(pending_bytes(paths, cursor, sizes).items(), key=lambda item: -_age(paths, item[0])):
            total += size
            if total <= limit:
                retained.add(name)
            else:
                lost.setdefault(files.name, {})[name] = (cursor.journals or {}).get(name, 0)
    return retained, lost


def _cursor(data: bytes) -> DeliveryCursor:
    values = orjson.loads(data)
    times: dict[str, Any] = {
        name: datetime.fromisoformat(values[name]).astimezone(UTC) for name in _TIMES if values.get(name)
    }
    known = {name: values[name] for name in DeliveryCursor.__slots__ if name in values and name not in _TIMES}
    return DeliveryCursor(**known, **times)


def _age(paths: StorePaths, name: str) -> int:
    """Return the time of the journal's last write in nanoseconds since the epoch; 0 where it is unknown."""
    try:
        return (paths.journal / name).stat().st_mtime_ns
    except OSError:
        return 0


def _last_line_end(path: Path) -> int:
    """Return the offset after the last whole line of a journal that another process may be writing."""
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
