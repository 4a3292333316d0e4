"""Made transcripts of coding agents, and the records that are read from them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tooltrace.core.records import Loss, Record, Span, ToolCall
from tooltrace.ingest.files import ImportResult, import_file
from tooltrace.recording.settings import Settings

LONG_AGO = time.time() - 7 * 24 * 3600
"""A session whose file was changed then is over."""


class Imported:
    """Replacement of the journal writer that keeps the records."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.result = ImportResult(Path())

    def add(self, record: Record) -> None:
        self.records.append(record)

    def write(self) -> None:
        """Nothing to write."""

    @property
    def calls(self) -> list[ToolCall]:
        return [record for record in self.records if isinstance(record, ToolCall)]

    @property
    def spans(self) -> list[Span]:
        return [record for record in self.records if isinstance(record, Span)]

    @property
    def losses(self) -> dict[str | None, int]:
        return {record.detail: record.count for record in self.records if isinstance(record, Loss)}


def write_lines(path: Path, lines: Iterable[Any], *, open_: bool = False) -> Path:
    """Write ``lines``; ``open_``: as the transcript of a session that may go on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    if not open_:
        os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def imported(path: Path, start: int = 0) -> Imported:
    """Return the records of the file at ``path``, whose format is recognised."""
    found = Imported()
    found.result = import_file(path, Settings(store=None), found, start=start)  # type: ignore[arg-type]
    return found


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Imported]:
    """The records of a file with these lines."""

    def read(*lines: Any, open_: bool = False, name: str = "session.jsonl") -> Imported:
        return imported(write_lines(tmp_path / name, lines, open_=open_))

    return read
