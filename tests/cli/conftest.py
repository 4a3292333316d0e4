"""A store with a small history, and the command run on it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.stores import create_empty_store, write_records
from tooltrace.cli import cli
from tooltrace.core.records import Outcome, Record, ToolCall
from tooltrace.redact.snapshot import Json
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal

NOW = datetime.now(UTC).replace(microsecond=0)
HOSTILE = "\x1b[31mred\x1b[0m \x1b]0;title\x07[bold]not bold[/bold] \x9b2J\u202eback\r\nnext"

Put = Callable[..., None]
Run = Callable[..., Result]


def made(number: int, **given: Any) -> ToolCall:
    known: dict[str, Any] = {
        "tool": "search", "call_id": f"call_{number}", "trace_id": f"{number:032x}", "span_id": f"{number:016x}",
        "started_at": NOW - timedelta(seconds=100 - number), "duration_ms": 10.0,
        "status": "success",
    }  # fmt: skip
    return ToolCall(**{**known, **given})


HISTORY: tuple[Record, ...] = (
    made(1, status="error", ending="raised", code="TIMEOUT", error_type="TimeoutError", error_message=HOSTILE,
         retryable=True, arguments=Json('{"query":"cats"}')),
    made(2, call_id="call_1", attempt=2, result=Json('{"rows":[' + ",".join(f'"{n:_>30}"' for n in range(40)) + "]}"),
         truncated=True, full_sizes=Json('{"result":70000}'), redacted=True, confidence=0.8,
         signals=Json('{"bm25":0.7}'), sources=Json('[{"type":"document","id":"doc-1"}]')),
    *(made(n) for n in range(3, 24)),
    made(24, tool="fetch", status=None, ending="cancelled"),
    Outcome(call_id="call_1", correct=False, labeler="human", reason="stale", labeled_at=NOW),
)  # fmt: skip


def read_terminal(terminal: int) -> str:
    """Everything that programs print on a terminal, until the last of them has closed it.

    A terminal holds 4 KB that are not read: a program that prints more would wait.
    """
    shown = b""
    while True:
        try:
            more = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        shown += more
    os.close(terminal)
    return shown.decode()


@pytest.fixture(name="made")
def made_fixture() -> Callable[..., ToolCall]:
    return made


@pytest.fixture
def where(tmp_path: Path) -> Path:
    return tmp_path / "history.duckdb"


@pytest.fixture
def put(where: Path) -> Put:
    """Append records to the store's journal, as another process would."""

    def put(*records: Record) -> None:
        journal = Journal(StorePaths.of(where).journal)
        journal.write(b"".join(encode(record) for record in records))
        journal.close()

    return put


@pytest.fixture(scope="session")
def folded_history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds ``HISTORY``. No test writes to it."""
    path = tmp_path_factory.mktemp("history") / "history.duckdb"
    write_records(StorePaths.of(path), *HISTORY)
    fold(create_empty_store(path))
    return path


@pytest.fixture
def history(where: Path, folded_history: Path) -> Path:
    """A copy of ``folded_history``: a fold costs more than most commands."""
    shutil.copytree(folded_history.parent, where.parent, dirs_exist_ok=True)
    return where


@pytest.fixture
def pending_history(where: Path, put: Put) -> Path:
    """A store whose journal holds ``HISTORY``; nothing is folded yet."""
    put(*HISTORY)
    return create_empty_store(where)


@pytest.fixture
def run(where: Path) -> Run:
    """``tooltrace …`` on the store ``where``."""

    def run(*arguments: str, env: Mapping[str, str] | None = None, **more: Any) -> Result:
        return CliRunner().invoke(cli, list(arguments), env={"TOOLTRACE_STORE": str(where), **(env or {})}, **more)

    return run
