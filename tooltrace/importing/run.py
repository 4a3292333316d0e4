"""From a file into the journal of a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tooltrace.importing.formats import format_of, known
from tooltrace.importing.source import Skipped, Source, UnreadableFile
from tooltrace.settings import Settings
from tooltrace.writer import Writer

BATCH = 512
"""Calls that are written at once."""


@dataclass(slots=True)
class Imported:
    """What came of one file."""

    path: Path
    format: str | None = None
    """None where the file is empty."""
    calls: int = 0
    skipped: int = 0
    examples: list[Skipped] = field(default_factory=list)
    """The first lines that were skipped."""

    def skip(self, line: Skipped, shown: int = 10) -> None:
        """Count the line, and keep it while there are few."""
        self.skipped += 1
        if self.skipped <= shown:
            self.examples.append(line)


def import_file(
    path: Path, settings: Settings, writer: Writer, *, advance: Callable[[int], None] = lambda _: None
) -> Imported:
    """Give the calls of the file at ``path`` to ``writer``; ``advance`` is told of the bytes read.

    Raises UnreadableFile.
    """
    imported = Imported(path)
    with Source(path, imported.skip, advance) as source:
        if not source.head.strip():
            return imported
        found = format_of(source.head)
        if found is None:
            names = ", ".join(each.name for each in known())
            raise UnreadableFile(f"{path}: no known format; known are: {names}")
        imported.format = found.name
        for call in found.read(source, settings):
            writer.add(call)
            imported.calls += 1
            if imported.calls % BATCH == 0:
                writer.write()
    writer.write()
    return imported
