"""What every test of the recorder starts from: a store of its own, and faults that are raised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tooltrace as tt
from tooltrace import guard, runtime
from tooltrace.guard import faults
from tooltrace.record import Record, ToolCall
from tooltrace.store.lines import decode
from tooltrace.store.paths import StorePaths

Calls = Callable[[], list[ToolCall]]


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A fault of the recorder fails the test; nothing is written beside the test's own files."""
    monkeypatch.setattr(guard, "strict", True)
    monkeypatch.setenv("TOOLTRACE_STORE", str(tmp_path / "unconfigured.duckdb"))


@pytest.fixture
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in production: a fault of the recorder is counted and kept to itself."""
    monkeypatch.setattr(guard, "strict", False)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    """A fresh store that the process records into."""
    path = tmp_path / "t.duckdb"
    before = runtime._recorder
    faults.take()
    tt.configure(store=path)
    yield path
    tt.shutdown()
    with runtime._lock:
        runtime._recorder = before


def records(store: Path) -> list[Record]:
    """Every record in the journals of ``store``, in the order of writing within each."""
    files = sorted(StorePaths.of(store).journal.glob("*.jsonl"), key=lambda file: file.stat().st_mtime_ns)
    return [decode(line) for file in files for line in file.read_bytes().splitlines(keepends=True)]


@pytest.fixture
def calls(store: Path) -> Calls:
    """The calls recorded so far, in the order in which they began."""

    def read() -> list[ToolCall]:
        assert tt.flush(20), "the recorder's thread did not answer"
        found = [record for record in records(store) if isinstance(record, ToolCall)]
        return sorted(found, key=lambda call: call.started_at)

    return read
