"""Redactions that raise or hang, disks that are full, exits with a full queue: each call is written, or counted."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from asyncio import CancelledError
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

import tooltrace as tt
from tests.conftest import records
from tests.grids import covering
from tests.recording.stalled_redaction import StalledRedaction
from tooltrace.core.records import Loss, ToolCall
from tooltrace.errors import UnwrittenCalls
from tooltrace.recording import config
from tooltrace.recording.settings import Settings
from tooltrace.recording.worker import BATCH, Worker
from tooltrace.recording.worker_state import QueueWait

Calls = Callable[[], list[ToolCall]]
ROOT = Path(tt.__file__).parent.parent


class Stop(BaseException):
    """No subclass of Exception."""


def losses(store: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for record in records(store):
        if isinstance(record, Loss):
            found[record.reason] += record.count
    return found


def run(tmp_path: Path, text: str, **limits: Any) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "program.py"
    file.write_text("import os, resource, sys, threading, time, tooltrace as tt\n" + textwrap.dedent(text))
    return subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TOOLTRACE_STORE": str(tmp_path / "t.duckdb")}, **limits,
    )  # fmt: skip


# a redaction that raises a BaseException


@pytest.mark.parametrize(
    ("kind", "durability"), covering([SystemExit, CancelledError, GeneratorExit, Stop, ValueError], ["batch", "call"])
)
def test_a_redaction_that_raises_anything_loses_its_field_alone(
    store: Path, calls: Calls, lenient: None, kind: type[BaseException], durability: Any
) -> None:
    def redact(field: str, value: Any) -> Any:
        if value == {"n": 3}:
            raise kind
        return value

    tt.configure(store=store, redact=redact, durability=durability)
    tool = tt.trace_tool(name="t")(lambda n: n)
    assert [tool(n) for n in range(2 * BATCH)] == list(range(2 * BATCH))
    rows = calls()
    assert len(rows) == 2 * BATCH
    assert [row.result for row in rows if row.arguments is None] == ["3"]
    assert not losses(store)


@pytest.mark.parametrize("kind", [SystemExit, CancelledError, Stop])
def test_the_thread_survives_exceptions_while_a_record_is_built(
    store: Path, calls: Calls, lenient: None, kind: type[BaseException]
) -> None:
    """As where a class of the user's raises it while the rules look at it."""
    from tooltrace.recording import config

    class Broken:
        def record(self) -> Any:
            raise kind

    tool = tt.trace_tool(name="t")(lambda n: n)
    for n in range(1_000):
        tool(n)
        if n % 10 == 0:
            config.get_recorder().worker.put(Broken())
    assert len(calls()) == 1_000
    assert losses(store) == {"fault_record": 100}


# a flush that tells the truth


@contextmanager
def full_disk(size: int = 0) -> Iterator[None]:
    """No file of this process grows beyond ``size`` bytes: write(2) fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("durability", ["batch", "call", "fsync"])
def test_a_flush_returns_false_while_the_disk_is_full(store: Path, durability: Any) -> None:
    tt.configure(store=store, durability=durability)
    tool = tt.trace_tool(name="t")(lambda n: n)
    tool(0)
    assert tt.flush(None)
    with full_disk():
        for n in range(1, 50):
            assert tool(n) == n
        assert not tt.flush(None)
        assert not tt.flush(None)
    assert tt.flush(None)
    rows = [record for record in records(store) if isinstance(record, ToolCall)]
    assert sorted(json.loads(row.result or "") for row in rows) == list(range(50))


def test_losses_of_a_full_disk_are_counted_in_the_next_journal(store: Path) -> None:
    tool = tt.trace_tool(name="t")(lambda n: n)
    tool(0)
    assert tt.flush(None)
    with full_disk():
        for n in range(1, 50):
            tool(n)
        tt.shutdown(0.5)
        assert not tt.flush(None)
    tt.configure(store=store)
    tool(50)
    tt.flush(None)
    assert losses(store) == {"write_failed": 49}
    assert tt.flush(None)


def test_a_flush_is_false_once_after_calls_were_lost(store: Path) -> None:
    release = threading.Event()

    def redact(_: str, value: Any) -> Any:
        release.wait()
        return value

    tt.configure(store=store, queue_size=10, overflow="drop", redact=redact)
    tool = tt.trace_tool(name="t")(lambda n: n)
    for n in range(100):
        tool(n)
    release.set()
    assert not tt.flush(None)
    assert losses(store)["queue_full"] > 0
    assert tt.flush(None)


@pytest.mark.parametrize("durability", ["batch", "call"])
def test_no_flush_of_the_recorders_own_hides_a_loss_from_the_applications(store: Path, durability: Any) -> None:
    from tooltrace.faults import faults

    tt.configure(store=store, durability=durability)
    tool = tt.trace_tool(name="t")(lambda n: n)
    faults.count("queue_full")
    tool(1)
    tool(2)
    assert not tt.flush(None)
    assert tt.flush(None)


# a question waits for what ended before it


@pytest.mark.long
def test_a_question_waits_for_a_queue_that_moves(store: Path) -> None:
    began = threading.Event()

    def redact(_: str, value: Any) -> Any:
        began.wait()
        return value

    tt.configure(store=store, redact=redact)
    tool = tt.trace_tool(name="t")(lambda: "x" * 60_000)
    for _ in range(300):
        tool()
    threading.Timer(0.2, began.set).start()
    assert tt.query("failure_rate").rows[0][1] == 300


def test_a_query_reports_missing_records_of_a_full_disk(store: Path) -> None:
    tool = tt.trace_tool(name="t")(lambda: 1)
    tool()
    assert tt.query("recent").rows
    with full_disk():
        for _ in range(7):
            tool()
        with pytest.warns(UnwrittenCalls, match="7 calls not written yet"):
            tt.connect()
    assert len(tt.query("recent")) == 8


def test_a_query_reports_missing_records_of_a_blocked_redaction(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def redact(_: str, value: Any) -> Any:
        release.wait()
        return value

    monkeypatch.setattr(config, "STALL_SECONDS", 0.2)
    tt.configure(store=store, redact=redact)
    tool = tt.trace_tool(name="t")(lambda: 1)
    for _ in range(5):
        tool()
    with pytest.warns(UnwrittenCalls, match="5 calls not written yet"):
        tt.connect()
    release.set()


# the end of a process


SLOW = """
@tt.trace_tool
def tool(n): return n

def redact(field, value):
    {body}
    return value

tt.configure(redact=redact, queue_size=50_000)
for n in range(12_002): tool(n)
sys.stderr.flush()
"""


@pytest.mark.processes
def test_unwritten_records_are_counted_at_exit(tmp_path: Path) -> None:
    """The programs run at once, because each waits for two seconds at its end."""
    bodies = ["time.sleep(0.007)", "threading.Event().wait()", "raise SystemExit(3)", "[n for n in range(200_000)]"]
    folders = [tmp_path / str(number) for number in range(len(bodies))]
    for folder in folders:
        folder.mkdir()
    with ThreadPoolExecutor() as pool:
        ended = list(pool.map(run, folders, [SLOW.format(body=body) for body in bodies]))
    for body, folder, done in zip(bodies, folders, ended, strict=True):
        assert done.returncode == 0, (body, done.stderr)
        found = sum(isinstance(record, ToolCall) for record in records(folder / "t.duckdb"))
        lost = losses(folder / "t.duckdb")
        assert found + sum(lost.values()) == 12_002, body
        if not body.startswith("raise"):
            assert lost["exit"] > 0, body
            assert "not written when the process ended" in done.stderr, body


def test_a_call_that_was_counted_as_lost_is_not_written_later(store: Path, lenient: None) -> None:
    redaction = StalledRedaction()
    tt.configure(store=store, redact=redaction)
    tool = tt.trace_tool(name="t")(lambda n: n)
    for number in range(5):
        tool(number)
    assert redaction.began.wait()
    worker = config.get_recorder().worker
    assert not tt.shutdown(0.05)
    redaction.release.set()
    while not worker._ended:  # it writes until then
        time.sleep(0.01)
    assert [record for record in records(store) if isinstance(record, ToolCall)] == []
    assert losses(store) == {"exit": 5}


@pytest.mark.processes
def test_calls_lost_to_a_full_disk_are_counted_at_exit(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        tt.configure(durability="call")
        tool = tt.trace_tool(name="t")(lambda n: n)
        tool(0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        for n in range(2_000): tool(n)
        assert not tt.flush(None)
        """,
    )
    assert done.returncode == 0, done.stderr
    assert "lost 2,000 records" in done.stderr


@pytest.mark.parametrize("durability", ["batch", "call", "fsync"])
@pytest.mark.parametrize("attack", ["remove the folder", "remove the file", "truncate"])
def test_calls_of_a_removed_or_truncated_journal_are_counted(
    store: Path, calls: Calls, durability: Any, attack: str
) -> None:
    tt.configure(store=store, durability=durability)

    @tt.trace_tool
    def tool(n: int) -> int:
        return n

    for n in range(3):
        tool(n)
    assert tt.flush()
    folder = store.with_name(f"{store.name}.journal")
    for path in folder.glob("*.jsonl"):
        if attack == "truncate":
            os.truncate(path, 0)
        else:
            path.unlink()
    if attack == "remove the folder":
        folder.rmdir()
    tool(3)
    if durability != "batch":
        lines = b"".join(path.read_bytes() for path in folder.glob("*.jsonl"))
        assert b'"kind":"call"' in lines, "an acknowledged call is in a file that readers find"
    assert not tt.flush()
    assert losses(store) == {"journal_truncated" if attack == "truncate" else "journal_removed": 3}
    assert len(calls()) == 1


def test_a_flush_that_begins_while_another_is_answered_gets_a_write_of_its_own(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk may have room by then, and the records that wait must be tried again before it is answered."""
    worker = Worker(Settings(store=store))
    early, late = QueueWait(0, SimpleQueue()), QueueWait(0, SimpleQueue())
    worker._waits.append(early)

    def flush_losses() -> dict[str, int]:
        if late not in worker._waits:
            worker._waits.append(late)
        return {}

    monkeypatch.setattr(worker._writer, "flush_losses", flush_losses)
    worker._reply()
    assert early.reply.get_nowait()
    assert late.reply.empty()
    worker._reply()
    assert late.reply.get_nowait()
