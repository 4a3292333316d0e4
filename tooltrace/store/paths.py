"""Where the parts of a store lie."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StorePaths:
    """The places of one store: absolute, symbolic links resolved, so that one database has one lock."""

    database: Path
    """The DuckDB file. DuckDB alone may open it."""
    journal: Path
    """Directory of the journals."""
    lock: Path
    """File that folds (exclusively) and readers (shared) hold a ``flock`` on."""

    @classmethod
    def of(cls, path: str | os.PathLike[str] | StorePaths) -> StorePaths:
        """The places of the store whose database is ``path``, whether it exists or not."""
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
        """DuckDB's write-ahead log: there only while a fold runs, or after one was killed."""
        return self.database.with_name(f"{self.database.name}.wal")

    def journals(self) -> dict[str, int]:
        """Size in bytes of each journal file, by its name, oldest name first; empty where there is none."""
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
    except FileNotFoundError:  # folded and removed since it was listed
        pass
