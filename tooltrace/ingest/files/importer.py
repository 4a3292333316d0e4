"""From a file into the journal of a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tooltrace.core.records import ToolCall
from tooltrace.ingest.files.compression import UnreadableFile
from tooltrace.ingest.files.detect import format_of, formats
from tooltrace.ingest.files.reader import SkippedLine, TraceFile
from tooltrace.recording.settings import Settings
from tooltrace.recording.writer import Writer

BATCH = 512
"""Records that are written at once."""
ENDINGS = (".json", ".jsonl", ".csv", ".parquet", ".gz", ".zst")
"""Of the files that are read where a folder is named."""


@dataclass(slots=True)
class ImportResult:
    """What came of one file."""

    path: Path
    format: str | None = None
    """None where the file is empty."""
    calls: int = 0
    others: int = 0
    """Records that are no calls: outcomes, spans, messages …"""
    skipped: int = 0
    examples: list[SkippedLine] = field(default_factory=list)
    """The first lines that were skipped."""

    def skip(self, line: SkippedLine, shown: int = 10) -> None:
        """Count the line, and keep it while there are few."""
        self.skipped += 1
        if self.skipped <= shown:
            self.examples.append(line)


def import_file(
    path: Path, settings: Settings, writer: Writer, *, advance: Callable[[int], None] = lambda _: None
) -> ImportResult:
    """Give the records of the file at ``path`` to ``writer``; ``advance`` is told of the bytes read.

    Raises UnreadableFile.
    """
    imported = ImportResult(path)
    with TraceFile(path, imported.skip, advance) as source:
        if not source.head.strip():
            return imported
        found = format_of(source.head)
        if found is None:
            names = ", ".join(each.name for each in formats())
            raise UnreadableFile(f"{path}: no known format; known are: {names}")
        imported.format = found.name
        for record in found.read(source, settings):
            writer.add(record)
            if isinstance(record, ToolCall):
                imported.calls += 1
            else:
                imported.others += 1
            if (imported.calls + imported.others) % BATCH == 0:
                writer.write()
    writer.write()
    return imported


def files_of(path: Path) -> list[Path]:
    """The files to read where somebody names ``path``: itself, or what a folder holds, such as an export to Parquet.

    Raises UnreadableFile for a folder with no file that could be one.
    """
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if _is_wanted(file, path))
    if not found:
        raise UnreadableFile(f"{path}: a folder with no file that ends in {', '.join(ENDINGS)}")
    return found


def _is_wanted(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return file.name.endswith(ENDINGS) and not hidden and file.is_file()
