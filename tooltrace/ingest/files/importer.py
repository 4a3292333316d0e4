"""Import of a file into the journal of a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from tooltrace.core.records import Loss, ToolCall
from tooltrace.errors import UnreadableFile
from tooltrace.ingest.files import (
    csv,
    hello_agents,
    jsonl,
    messages,
    mlflow,
    otlp_json,
    parquet,
    phoenix,
    table,
    transcripts,
)
from tooltrace.ingest.files.reader import Format, SkippedLine, TraceFile
from tooltrace.recording.settings import Settings
from tooltrace.recording.writer import Writer

FORMATS: Final[tuple[Format, ...]] = (
    # Our own formats are recognised by one exact beginning; Phoenix and MLflow by words anywhere in the examined
    # part.
    jsonl.FORMAT,
    otlp_json.FORMAT,
    hello_agents.FORMAT,
    mlflow.FORMAT,
    phoenix.FORMAT,
    *transcripts.FORMATS,
    messages.FORMAT,
    parquet.FORMAT,
    csv.FORMAT,
)
"""All formats; the first that recognises a file reads it."""
ACCEPTED: Final = (
    "exports of tooltrace (jsonl, csv, parquet, otlp-json), OTLP as JSON, traces of Phoenix, MLflow and HelloAgents, "
    "transcripts of Claude Code and Codex, "
    "JSON with chat messages of OpenAI or Anthropic, and any CSV file with --columns tool=…,at=…"
)
"""What can be imported, in words."""
BATCH = 512
"""Records written at once."""
ENDINGS = (".json", ".jsonl", ".csv", ".parquet", ".gz", ".zst")
"""Name endings of the files that are imported from a folder."""


@dataclass(slots=True)
class ImportResult:
    """Counts of the imported records and skipped lines of one file."""

    path: Path
    format: str | None = None
    """Name of the format; None if the file is empty."""
    calls: int = 0
    others: int = 0
    """Number of records that are not calls: outcomes, spans, messages …"""
    skipped: int = 0
    examples: list[SkippedLine] = field(default_factory=list)
    """The first skipped lines."""
    unknown: Counter[str] = field(default_factory=Counter)
    """Numbers of lines and parts of lines that the format's reader does not know, by what and of which version."""
    waiting: int = 0
    """Number of calls that were left out, because they may still get a result."""
    position: int = 0
    """Bytes of the decompressed file that were read."""

    def skip(self, line: SkippedLine, shown: int = 10) -> None:
        """Count a skipped line, and keep the first ``shown`` as examples."""
        self.skipped += 1
        if self.skipped <= shown:
            self.examples.append(line)


def import_file(
    path: Path,
    settings: Settings,
    writer: Writer,
    *,
    columns: Mapping[str, str] | None = None,
    form: Format | None = None,
    advance: Callable[[int], None] = lambda _: None,
    start: int = 0,
) -> ImportResult:
    """Write the records of the file at ``path`` with ``writer``. Raises UnreadableFile.

    ``columns``: read a CSV file of another program, in which these columns hold these fields; BadParameter where it lacks one.
    ``form``: the format of the file, where it is known.
    ``advance`` receives the number of bytes read since its last call. ``start``: bytes of a transcript whose records were imported before.
    """
    imported = ImportResult(path)
    with TraceFile(path, imported.skip, advance, start) as source:
        if not source.head.strip():
            return imported
        found = form or (format_of(source) if columns is None else _table(columns))
        imported.format = found.name
        for record in found.read(source, settings):
            writer.add(record)
            if isinstance(record, ToolCall):
                imported.calls += 1
            elif isinstance(record, Loss) and record.reason == transcripts.UNKNOWN:
                imported.unknown[record.detail or record.reason] += record.count
            else:
                imported.others += 1
            if (imported.calls + imported.others) % BATCH == 0:
                writer.write()
        imported.waiting, imported.position = source.waiting, source.position
    writer.write()
    return imported


def format_of(source: TraceFile) -> Format:
    """Return the format of an open file. Raises UnreadableFile."""
    found = next((each for each in FORMATS if each.knows(source.head)), None)
    if found is None:
        header = table.header_of(source.head)
        columns = f"; its columns are {', '.join(header[1])}" if header else ""
        raise UnreadableFile(f"{source.path}: unknown format{columns}; accepted are {ACCEPTED}")
    return found


def _table(columns: Mapping[str, str]) -> Format:
    return Format(table.NAME, lambda _: True, partial(table.read, columns=columns))


def files_of(path: Path) -> list[Path]:
    """Return the files to import for ``path``: itself, or the files of a folder, such as an export to Parquet.

    Raises UnreadableFile for a folder without importable files, and for a pipe or a device.
    """
    if not path.is_dir():
        if path.exists() and not path.is_file():  # reading a pipe could wait for ever
            raise UnreadableFile(f"{path} is neither a file nor a folder: write its content to a file, and import that")
        return [path]
    found = sorted(file for file in path.rglob("*") if _is_wanted(file, path))
    if not found:
        raise UnreadableFile(f"{path}: the folder has no file that ends in {', '.join(ENDINGS)}")
    return found


def _is_wanted(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return file.name.endswith(ENDINGS) and not hidden and file.is_file()
