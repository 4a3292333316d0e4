"""Lines as HelloAgents' logger writes them, and the calls that are read from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tooltrace.core.records import ToolCall
from tooltrace.ingest.files import ImportResult, import_file
from tooltrace.recording.settings import Settings

Event = Callable[..., dict[str, Any]]
Read = Callable[..., list[ToolCall]]


class CallList:
    """Replacement of the journal writer that collects the records."""

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []

    def add(self, call: ToolCall) -> None:
        self.calls.append(call)

    def write(self) -> None:
        """Nothing to write."""


def event(kind: str, second: float = 0.0, step: Any = 1, session: Any = "s-1", **payload: Any) -> dict[str, Any]:
    """One line; ``second`` of a minute in UTC."""
    ts = f"2026-02-21T10:30:{second:09.6f}+00:00"
    return {"ts": ts, "session_id": session, "step": step, "event": kind, "payload": payload}


@pytest.fixture(name="event")
def event_fixture() -> Event:
    return event


@pytest.fixture
def trace(tmp_path: Path) -> Callable[[Iterable[Any]], Path]:
    """A file of these lines; a text or bytes are a line as they are."""

    def write(lines: Iterable[Any], name: str = "trace-s-1.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(b"".join(_line(line) + b"\n" for line in lines))
        return path

    return write


def _line(line: Any) -> bytes:
    if isinstance(line, bytes):
        return line
    return (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)).encode()


@pytest.fixture
def read(trace: Callable[[Iterable[Any]], Path]) -> Read:
    """The calls of these lines."""

    def read(*lines: Any, settings: Settings | None = None) -> list[ToolCall]:
        kept = CallList()
        read.outcome = import_file(trace(lines), settings or Settings(store=None), kept)
        return kept.calls

    read.outcome = ImportResult(Path())  # type: ignore[attr-defined]
    return read
