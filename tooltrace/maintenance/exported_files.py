"""Rewriting of exported files: records are removed, or replaced by redacted ones, in the formats that exports write."""

from __future__ import annotations

import itertools
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tooltrace.core.records import Record
from tooltrace.errors import ExportError, StoreError, UnreadableFile
from tooltrace.exporters import csv, parquet
from tooltrace.exporters.csv import CsvTable
from tooltrace.exporters.jsonl import JsonLines
from tooltrace.exporters.otlp_json import OtlpJson
from tooltrace.exporters.parquet import ParquetTable
from tooltrace.exporters.protocol import AtomicDestination
from tooltrace.ingest.files.importer import format_of
from tooltrace.ingest.files.reader import SkippedLine, TraceFile
from tooltrace.recording.settings import Settings
from tooltrace.redact.redaction import Redaction
from tooltrace.store.erase import erasure, tombstones
from tooltrace.store.erase.blanking import Change
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold_step import fold_locked
from tooltrace.store.upkeep.backup import copy_tombstones
from tooltrace.store.upkeep.exclusive import existing, locked
from tooltrace.store.upkeep.exports import BACKUP, ExportedFile
from tooltrace.store.upkeep.redact_stored import change_of, redact_stored

BATCH: Final = 512
"""Records written at once."""

_FILES: Final[dict[str, Callable[[Path], list[Path]]]] = {
    "jsonl": lambda path: [path],
    "otlp-json": lambda path: [path],
    "csv": csv.files_of,
    "parquet": parquet.files_of,
}
"""For each format, the function that returns the files of an export."""

_WRITERS: Final[dict[str, Callable[[Path, type[Record]], AtomicDestination]]] = {
    "jsonl": lambda path, _kind: JsonLines(path),
    "otlp-json": lambda path, _kind: OtlpJson(path),
    "csv": CsvTable,
    "parquet": ParquetTable,
}
"""For each format, the destination that replaces one file; files of tables have records of one type."""


@dataclass(slots=True, kw_only=True)
class ExportsReport:
    """The result of a rewriting of exported files."""

    changed: dict[str, int] = field(default_factory=dict)
    """Number of records that were removed or redacted, by file; in a backup, the number of rows or values."""
    remaining: list[str] = field(default_factory=list)
    """One sentence for each file that may still have them."""


def forget_in_exports(paths: StorePaths, exports: Iterable[ExportedFile], *, wait: float | None) -> ExportsReport:
    """Remove from ``exports`` every record that was ever forgotten in the store ``paths``.

    Each file is replaced in one step, or is named in the report. ``wait``: seconds to wait for readers of a backup.
    """
    found = tombstones.load(paths)
    is_forgotten = found.matcher()

    def forget_in_backup(file: Path) -> int:
        copy = existing(file)
        lock = locked(copy, wait, "forgetting")
        try:
            fold_locked(copy)
            copy_tombstones(paths, copy)
            erased = erasure.complete(copy)
        finally:
            lock.release()
        return sum(erased.rows.values()) if erased else 0

    return _rewrite_all(exports, lambda record: None if is_forgotten(record) else record, forget_in_backup)


def redact_exports(exports: Iterable[ExportedFile], redaction: Redaction, *, wait: float | None) -> ExportsReport:
    """Replace in ``exports`` the secrets that ``redaction`` finds; as ``forget_in_exports``."""

    def redact_backup(file: Path) -> int:
        return sum(redact_stored(file, redaction, wait=wait).values.values())

    return _rewrite_all(exports, change_of(redaction), redact_backup)


def _rewrite_all(
    exports: Iterable[ExportedFile], change: Change, change_backup: Callable[[Path], int]
) -> ExportsReport:
    report = ExportsReport()
    for export in exports:
        if export.format not in _FILES and export.format != BACKUP:
            report.remaining.append(
                f"{export.path} may still have the records: files of the destination {export.format!r} cannot be "
                "rewritten; delete it and export again"
            )
            continue
        files = [export.path] if export.format == BACKUP else _FILES[export.format](export.path)
        for file in files:
            try:
                count = change_backup(file) if export.format == BACKUP else _rewrite(file, export.format, change)
            except (ExportError, StoreError, UnreadableFile, OSError) as error:
                report.remaining.append(f"{file} may still have the records: {error}; delete it and export again")
            else:
                if count:
                    report.changed[str(file)] = count
    return report


def _rewrite(path: Path, form: str, change: Change) -> int:
    """Apply ``change`` to the records of one file; return the number of changed records. Zero leaves the file as it is.

    Raises UnreadableFile for a file with anything that its format does not have, ExportError and OSError.
    """
    mode = stat.S_IMODE(path.stat().st_mode)
    with TraceFile(path, _refuse) as source:
        if not source.head.strip():
            return 0
        found = format_of(source)
        if found.name != form:
            raise UnreadableFile(f"it is a file of the format {found.name}, where an export had written {form}")
        records = found.read(source, Settings(store=None))
        # The first record tells the type of a table's file, which its writer must know.
        first = next(records, None)
        if first is None:
            return 0
        destination = _WRITERS[form](path, type(first))
        count = 0
        try:
            for batch in _batches(itertools.chain([first], records)):
                changed = [(record, change(record)) for record in batch]
                count += sum(new is not record for record, new in changed)
                destination.send([new for _, new in changed if new is not None])
        except BaseException:
            destination.abandon()
            raise
    if not count:
        destination.abandon()
        return 0
    destination.close()
    # The new file replaces the old one, and must not be readable by more people.
    path.chmod(mode)
    return count


def _refuse(line: SkippedLine) -> None:
    raise UnreadableFile(f"line {line.line} cannot be read ({line.reason})")


def _batches(records: Iterator[Record]) -> Iterator[tuple[Record, ...]]:
    while batch := tuple(itertools.islice(records, BATCH)):
        yield batch
