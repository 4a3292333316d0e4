"""The file paths of a store."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StorePaths:
    """The paths of one store: absolute, with symbolic links resolved, so that one database has one lock."""

    database: Path
    """The DuckDB file. Only DuckDB may open it."""
    journal: Path
    """The directory of the journals."""
    lock: Path
    """The file that folds lock exclusively, and readers lock shared, by ``flock``."""

    @classmethod
    def of(cls, path: str | os.PathLike[str] | StorePaths) -> StorePaths:
        """Return the paths of the store whose database is ``path``, whether the store exists or not."""
        if isinstance(path, StorePaths):
            return path
        database = Path(os.path.realpath(path))
        return cls(
            database=database,
            journal=database.with_name(f"{database.name}.journal"),
            lock=database.with_name(f"{database.name}.lock"),
        )

    @property
    def wal(self) -> Path:
        """DuckDB's write-ahead log, which exists only during a fold or after a fold was killed."""
        return self.database.with_name(f"{self.database.name}.wal")

    def journals(self) -> dict[str, int]:
        """Return the size in bytes of each journal file by its name, sorted by name; empty where there is none."""
        sizes: dict[str, int] = {}
        try:
            with os.scandir(self.journal) as entries:
                for entry in entries:
                    if entry.name.endswith(".jsonl"):
                        _add_size(sizes, entry)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return {}
        return dict(sorted(sizes.items()))


def _add_size(sizes: dict[str, int], entry: os.DirEntry[str]) -> None:
    try:
        if entry.is_file(follow_symlinks=False):
            sizes[entry.name] = entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:  # a fold removed the journal since it was listed
        pass
