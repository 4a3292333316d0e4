"""A long fold is announced on standard error, in a terminal by a bar."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.conftest import read_terminal
from tooltrace.cli import cli, options
from tooltrace.core.records import ToolCall
from tooltrace.store.files.file_lock import Lock
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.fold_marker import unfolded_bytes
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal


def backlog(folder: Path) -> Path:
    """A store whose only call is not folded yet."""
    store = folder / "s.duckdb"
    call = ToolCall(
        tool="t",
        call_id="c",
        trace_id="0" * 32,
        span_id="1" * 16,
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        status="success",
    )
    journal = Journal(StorePaths.of(store).journal)
    journal.write(encode(call))
    journal.close()
    return store


@pytest.mark.parametrize(("limit", "is_shown"), [(10, True), (10_000_000, False)])
def test_only_a_long_backlog_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, is_shown: bool
) -> None:
    monkeypatch.setattr(options, "LONG_BYTES", limit)
    store = backlog(tmp_path)
    done = CliRunner().invoke(cli, ["query", "failure_rate", "--format", "csv", "--store", str(store)])
    assert done.exit_code == 0
    assert ("pending journal records" in done.stderr) is is_shown
    assert "pending" not in done.stdout


@pytest.mark.processes
def test_a_terminal_shows_a_bar_and_the_result_goes_elsewhere(tmp_path: Path) -> None:
    store = backlog(tmp_path)
    program = (
        "import sys; from tooltrace.cli import cli, options; options.LONG_BYTES = 10; "
        f"cli(['query', 'failure_rate', '--format', 'csv', '--store', {str(store)!r}])"
    )
    terminal, stderr = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    ) as process:
        os.close(stderr)
        shown = read_terminal(terminal)
        out, _ = process.communicate()
    assert process.returncode == 0, shown
    assert "Folding journals" in shown
    assert out.startswith("tool,")
    assert unfolded_bytes(StorePaths.of(store)) == 0


def test_the_doctor_looks_without_folding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "LONG_BYTES", 10)
    store = backlog(tmp_path)
    CliRunner().invoke(cli, ["doctor", "--store", str(store)])
    assert not store.exists()


def test_the_journals_alone_are_read_while_another_process_has_the_store(tmp_path: Path) -> None:
    store = backlog(tmp_path)
    lock = Lock(StorePaths.of(store))
    assert lock.try_exclusive()
    command = ["query", "failure_rate", "--since", "all", "--format", "csv", "--store", str(store)]
    try:
        refused = CliRunner(env={"TOOLTRACE_WAIT": "0"}).invoke(cli, command)
        assert refused.exit_code == 1
        assert str(os.getpid()) in refused.stderr or "this process (folding journals)" in refused.stderr
        done = CliRunner(env={"TOOLTRACE_WAIT": "0"}).invoke(cli, [*command, "--journals-only"])
        sql = CliRunner().invoke(
            cli, ["sql", "SELECT tool FROM calls", "--journals-only", "--format", "csv", "--store", str(store)]
        )
    finally:
        lock.release()
    assert done.stdout.splitlines()[1].startswith("t,1,")
    assert sql.stdout == "tool\nt\n"
