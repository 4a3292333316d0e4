"""Which transcripts a store has, and how far: a file beside the store, so that an import reads only what was added.

It saves time and nothing else: every record has an id of its own, so what is read again is stored once. Without the file,
or where the store has fewer calls than after the last import, everything is read again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

from tooltrace.ingest.transcripts.discovery import TranscriptFile
from tooltrace.store.files.paths import StorePaths

_SUFFIX: Final = ".transcripts"


class ImportedFile(msgspec.Struct, frozen=True):
    """How far one transcript is imported."""

    size: int
    changed_ns: int
    position: int
    """Bytes of its content that were read."""
    waiting: int
    """Calls that had no result yet."""


class _State(msgspec.Struct):
    calls: int = 0
    """Calls in the store after the last import."""
    files: dict[str, ImportedFile] = msgspec.field(default_factory=dict)


class ImportedFiles:
    """The transcripts that the store at ``store`` has. ``calls``: the calls in it now."""

    def __init__(self, store: Path, calls: int) -> None:
        database = StorePaths.of(store).database
        self._path = database.with_name(f"{database.name}{_SUFFIX}")
        try:
            state = msgspec.json.decode(self._path.read_bytes(), type=_State)
        except (OSError, ValueError):  # msgspec's errors are ValueErrors
            state = _State()
        self._state = state if state.calls <= calls else _State()

    def start_of(self, file: TranscriptFile, *, is_over: bool) -> int | None:
        """Return the bytes of ``file`` that are imported; None where nothing is left. ``is_over``: it will not change again."""
        known = self._state.files.get(str(file.path))
        if known is None or known.size > file.size:
            return 0
        if (known.size, known.changed_ns) == (file.size, file.changed_ns) and not (known.waiting and is_over):
            return None
        return known.position

    def note(self, file: TranscriptFile, position: int, waiting: int) -> None:
        """Note that ``file`` is imported up to ``position``."""
        self._state.files[str(file.path)] = ImportedFile(file.size, file.changed_ns, position, waiting)

    def save(self, calls: int) -> None:
        """Write the file. ``calls``: the calls in the store now. Raises OSError."""
        self._state.calls = calls
        partial = self._path.with_name(f"{self._path.name}.{os.getpid()}.tmp")
        fd = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "wb") as out:
            out.write(msgspec.json.encode(self._state))
        partial.replace(self._path)
