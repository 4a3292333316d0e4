"""``tt.health()`` says what waits, what was lost and why; it may be called anywhere."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from dataclasses import FrozenInstanceError, asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

import tooltrace as tt
from tests.needs import missing
from tests.recording.stalled_redaction import StalledRedaction
from tests.recording.test_losses import full_disk, losses
from tooltrace.core.records import ToolCall
from tooltrace.faults import LossCounter, faults
from tooltrace.recording import config
from tooltrace.recording.worker import Worker
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.delivery_cursors import DestinationFiles
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal

ROOT = Path(tt.__file__).parent.parent


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the figures of the tests before, which are counted for the whole process."""
    faults.reset_after_fork()
    monkeypatch.setattr(config, "active_recorder", None)


def run(code: str, folder: Path, *wrapper: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in another process, which the command ``wrapper`` starts."""
    known = {"PYTHONPATH": str(ROOT), "TOOLTRACE_STORE": str(folder / "t.duckdb"), "TOOLTRACE_STRICT": ""}
    return subprocess.run(
        [*wrapper, sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, check=False, cwd=folder, env={**os.environ, **known, **environment},
    )  # fmt: skip


# the figures


def test_the_figures_of_a_recorder_at_rest(store: Path) -> None:
    tool = tt.trace_tool(name="t")(lambda n: n)
    for n in range(20):
        tool(n)
    assert tt.flush(None)
    health = tt.health()
    assert (health.pid, health.store) == (os.getpid(), str(store))
    assert (health.queued, health.queued_bytes, health.refused_by_disk, health.written) == (0, 0, 0, 20)
    assert (health.lost, health.last_error, health.deliveries) == ({}, None, ())
    assert health.last_flush is not None
    assert (health.last_flush.action, health.last_flush.complete, health.last_flush.reasons) == ("flush", True, ())
    assert health.complete
    journals = StorePaths.of(store).journals()
    assert health.journal_bytes == health.store_journal_bytes == sum(journals.values()) > 0


def test_the_store_counts_the_journals_of_all_processes(store: Path) -> None:
    tt.trace_tool(name="t")(lambda: 1)()
    assert tt.flush(None)
    other = Journal(StorePaths.of(store).journal)
    other.write(b"x" * 1000 + b"\n")
    health = tt.health()
    assert health.store_journal_bytes == health.journal_bytes + 1001
    other.close()


def test_without_a_recorder_there_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "active_recorder", None)
    health = tt.health()
    assert (health.thread, health.store, health.queued, health.written) == ("not started", None, 0, 0)
    assert config.active_recorder is None, "asking makes no recorder"


def test_a_health_is_a_value(store: Path) -> None:
    tt.trace_tool(name="t")(lambda: 1)()
    tt.flush(None)
    health = tt.health()
    with pytest.raises(FrozenInstanceError):
        health.queued = 3  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(health)) == health
    assert json.loads(msgspec.json.encode(health))["written"] == 1
    assert asdict(health)["last_flush"]["complete"] is True


def test_a_health_is_printed_readably(store: Path) -> None:
    tt.trace_tool(name="t")(lambda: 1)()
    tt.flush(None)
    faults.count("queue_full", 1234)
    lines = dict(line.split("  ", 1) for line in str(tt.health()).splitlines())
    assert lines["store"].strip() == str(store)
    assert lines["written"].strip() == "1 record"
    assert lines["lost"].strip() == "queue_full 1,234"
    assert lines["last flush"].strip().endswith("complete")


def test_queued_records_are_counted_while_a_redaction_does_not_return(store: Path) -> None:
    redact = StalledRedaction()
    tt.configure(store=store, redact=redact)
    tool = tt.trace_tool(name="t")(lambda n: n)
    for n in range(7):
        tool(n)
    assert redact.began.wait()
    assert not tt.flush(0.01)
    health = tt.health()
    assert (health.queued, health.thread, health.written) == (7, "writing", 0)
    assert health.queued_bytes > 0
    assert health.last_flush is not None
    assert health.last_flush.reasons == ("the queue was not written within 0.01 s: 7 records remain",)
    redact.release.set()
    assert tt.flush(None)
    assert (tt.health().queued, tt.health().written) == (0, 7)


def test_written_counts_the_process_not_the_configuration(store: Path) -> None:
    tool = tt.trace_tool(name="t")(lambda n: n)
    tool(1)
    before = tt.health().written + tt.health().queued
    tt.configure(store=store, durability="call")
    tool(2)
    assert tt.health().written == before + 1


@pytest.mark.parametrize("durability", ["batch", "call"])
def test_counts_of_losses_are_not_written_records(store: Path, durability: Any) -> None:
    tt.configure(store=store, durability=durability)
    written = tt.health().written
    faults.count("queue_full", 3)
    tt.trace_tool(name="t")(lambda: 1)()
    assert not tt.flush(None)
    assert losses(store) == {"queue_full": 3}
    assert tt.health().written == written + 1
    assert tt.health().lost == {"queue_full": 3}, "also after a journal has the count"


def test_lines_lost_with_a_removed_journal_do_not_count_as_written(store: Path) -> None:
    tool = tt.trace_tool(name="t")(lambda n: n)
    for n in range(5):
        tool(n)
    assert tt.flush(None)
    shutil.rmtree(StorePaths.of(store).journal)
    tool(5)
    assert not tt.flush(None)
    health = tt.health()
    assert (health.written, health.lost) == (1, {"journal_removed": 5})
    assert health.last_flush is not None
    assert health.last_flush.reasons == ("5 records lost since the flush before: journal_removed 5",)


def test_an_error_shows_its_class_and_not_its_text(store: Path, lenient: None) -> None:
    class Broken:
        def record(self) -> Any:
            raise ValueError("a secret")

    before = datetime.now(UTC)
    config.get_recorder().worker.put(Broken())
    assert not tt.flush(None)
    error = tt.health().last_error
    assert error is not None
    assert error.text == "failed to record a call: ValueError"
    assert before.timestamp() - 1 <= error.at.timestamp() <= datetime.now(UTC).timestamp()
    assert "a secret" not in str(tt.health())


# a flush that returned False


@pytest.mark.parametrize("durability", ["batch", "call", "fsync"])
def test_health_explains_a_flush_on_a_full_disk(store: Path, durability: Any) -> None:
    tt.configure(store=store, durability=durability)
    tool = tt.trace_tool(name="t")(lambda n: n)
    tool(0)
    assert tt.flush(None)
    with full_disk():
        for n in range(1, 10):
            tool(n)
        assert not tt.flush(None)
        health = tt.health()
        assert (health.queued, health.refused_by_disk, health.written) == (9, 9, 1)
        assert health.queued_bytes > 9 * 100
        assert health.last_flush is not None
        assert health.last_flush.reasons == (
            "the disk refuses 9 records, in memory until it accepts them: File too large",
        )
        assert health.last_error is not None
        assert health.last_error.text == f"cannot write the journal in {store}.journal: File too large"
    assert tt.flush(None)
    health = tt.health()
    assert (health.queued, health.refused_by_disk, health.written, health.lost) == (0, 0, 10, {})
    assert health.last_error is not None, "it says when the disk refused a write last"


def test_shutdown_returns_false_where_calls_are_given_up(store: Path) -> None:
    tool = tt.trace_tool(name="t")(lambda n: n)
    tool(0)
    assert tt.flush(None)
    with full_disk():
        for n in range(1, 6):
            tool(n)
        assert tt.shutdown(None) is False
        health = tt.health()
        assert (health.thread, health.queued, health.lost) == ("closed", 0, {"write_failed": 5})
        assert health.last_flush is not None
        assert health.last_flush.reasons == (
            "the disk refuses the counts of 5 lost records: File too large",
            "5 records lost since the flush before: write_failed 5",
        )
        assert tt.shutdown(None) is False, "the counts wait"
        health = tt.health()
        assert health.lost == {"write_failed": 5}, "the same records"
        assert health.last_flush is not None
        assert health.last_flush.reasons == ("the disk refuses the counts of 5 lost records: File too large",)
    assert tt.flush(None)
    assert losses(store) == {"write_failed": 5}


def test_shutdown_returns_true_where_everything_is_written(store: Path) -> None:
    tool = tt.trace_tool(name="t")(lambda n: n)
    for n in range(50):
        tool(n)
    assert tt.shutdown(None) is True
    assert tt.health().written == 50
    tool(50)
    assert (tt.health().thread, tt.health().written) == ("closed", 51)
    assert tt.flush(None)


def test_shutdown_returns_false_where_a_redaction_does_not_return(store: Path) -> None:
    redact = StalledRedaction()
    tt.configure(store=store, redact=redact)
    tool = tt.trace_tool(name="t")(lambda n: n)
    for n in range(4):
        tool(n)
    assert tt.shutdown(0.2) is False
    assert tt.health().lost == {"exit": 4}
    redact.release.set()


def test_a_flush_during_a_shutdown_that_gives_calls_up_ends(store: Path) -> None:
    """Without a limit: nothing but the end of the shutdown can answer it."""
    redact = StalledRedaction()
    tt.configure(store=store, redact=redact)
    worker = config.get_recorder().worker
    tt.trace_tool(name="t")(lambda: 1)()
    assert redact.began.wait()
    results: list[bool] = []
    flushing = threading.Thread(target=lambda: results.append(tt.flush(None)))
    flushing.start()
    while not worker._waits:
        threading.Event().wait(0.01)
    assert tt.shutdown(0.2) is False
    flushing.join()
    assert results == [False]
    redact.release.set()


def test_a_flush_waits_for_every_item_while_the_queue_moves(store: Path) -> None:
    """An item that leaves the queue while the flush reads its length must not let the flush end too early."""

    class Moving(list[Any]):
        def __len__(self) -> int:
            length = super().__len__()
            if length and not worker._waits:  # as the thread does between the two reads
                worker._dequeued += 1
                self.pop(0)
            return length

    worker = Worker(config.get_recorder().settings)
    worker._queue = Moving([1, 2, 3])  # type: ignore[assignment]
    worker._started, worker._tokens = True, __import__("queue").SimpleQueue()
    worker.wait_for_queue(0)
    assert worker._waits[0].position >= 3


def test_a_flush_of_a_redaction_does_not_hide_a_loss(store: Path) -> None:
    inner: list[bool] = []

    def redact(_: str, value: Any) -> Any:
        if not inner:
            inner.append(tt.flush(0))
        return value

    tt.configure(store=store, redact=redact)
    faults.count("queue_full")
    tt.trace_tool(name="t")(lambda n: n)(1)
    assert not tt.flush(None)
    assert inner == [False]
    assert tt.health().last_flush is not None
    assert "queue_full 1" in str(tt.health().last_flush)


# a real full disk

SMALL_DISK = """
import json, os, subprocess, sys
import tooltrace as tt
disk = sys.argv[1]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=777", "none", disk], check=True)
store = os.path.join(disk, "t.duckdb")
tt.configure(store=store, durability=sys.argv[2])

@tt.trace_tool(name="t")
def tool(n): return "x" * 500

tool(-1)
assert tt.flush(None), tt.health()
full = os.path.join(disk, "full")
try:
    with open(full, "wb", buffering=0) as file:
        while file.write(b"x" * 4096): pass
except OSError as error:
    print(error.strerror)
for n in range(300): tool(n)
print(tt.flush(None), tt.flush(None))
health = tt.health()
print(health.written + health.queued, health.queued > 200, health.refused_by_disk == health.queued)
print(health.last_flush.reasons[0].endswith("No space left on device"), health.last_error.text.endswith("No space left on device"))
"""
SPACE_AGAIN = """
os.unlink(full)
subprocess.run(["mount", "-o", "remount,size=16m", disk], check=True)
print(tt.flush(None), tt.health().written, tt.health().lost)
with tt.connect(store) as db:
    print(db.execute("SELECT count(*) FROM tool_calls").fetchone()[0], db.execute("SELECT count(*) FROM losses").fetchone()[0])
"""
GIVEN_UP = """
print(tt.shutdown(None), tt.health().written + tt.health().lost["write_failed"])
lost = tt.health().lost["write_failed"]
os.unlink(full)
subprocess.run(["mount", "-o", "remount,size=16m", disk], check=True)
tool(300)
print(tt.flush(None), tt.flush(None))
with tt.connect(store) as db:
    print(db.execute("SELECT count(*) FROM tool_calls").fetchone()[0] + lost)
    print(db.execute("SELECT reason FROM losses").fetchall(), db.execute("SELECT sum(count) = ? FROM losses", [lost]).fetchone()[0])
"""


def on_small_disk(code: str, folder: Path, durability: str) -> subprocess.CompletedProcess[str]:
    """Run a program that mounts a small disk of its own, in a namespace that ends with it."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-Urm", "true"], check=False).returncode:
        missing("unshare", "no disk can be mounted here: it takes Linux, util-linux and user namespaces")
    (folder / "disk").mkdir()
    arguments = ["unshare", "-Urm", sys.executable, "-c", textwrap.dedent(code), str(folder / "disk"), durability]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TOOLTRACE_STRICT": ""}
    return subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=folder, env=environment)


@pytest.mark.processes
@pytest.mark.parametrize("durability", ["batch", "call", "fsync"])
def test_a_flush_on_a_full_file_system_is_false_until_there_is_space(tmp_path: Path, durability: str) -> None:
    done = on_small_disk(SMALL_DISK + SPACE_AGAIN, tmp_path, durability)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "No space left on device",
        "False False",
        "301 True True",
        "True True",
        "True 301 {}",
        "301 0",
    ]


@pytest.mark.processes
def test_calls_given_up_on_a_full_file_system_are_in_losses_as_soon_as_there_is_space(tmp_path: Path) -> None:
    done = on_small_disk(SMALL_DISK + GIVEN_UP, tmp_path, "batch")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[4:] == [
        "False 301",
        "True True",
        "302",
        "[('write_failed',)] True",
    ]
    assert "the journal could not be written (No space left on device); no table has the counts" in done.stderr


@pytest.mark.processes
def test_the_log_line_of_the_exit_has_every_count_that_no_table_has(tmp_path: Path) -> None:
    done = run(
        """
        import resource, signal, tooltrace as tt
        from tooltrace.faults import faults
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        tool = tt.trace_tool(name="t")(lambda n: n)
        tool(0)
        assert tt.flush(None)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        for n in range(30): tool(n)
        faults.count("queue_full", 12)
        assert not tt.flush(None)
        """,
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert (
        "tooltrace lost 42 records (queue_full 12, write_failed 30): the journal could not be written (File too large); "
        "no table has the counts" in done.stderr
    )


# anywhere


def test_a_signal_handler_may_read_the_health_at_any_line(store: Path) -> None:
    """The handler interrupts calls, flushes and questions for the health itself."""
    seen: list[tt.Health] = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(tt.health()))
    tool = tt.trace_tool(name="t")(lambda n: n)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.002)
        n = 0
        while len(seen) < 100:
            tool(n)
            tt.health()
            n += 1
            if n % 50 == 0:
                tt.flush(None)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert tt.flush(None)
    assert tt.health().written == n


def test_an_offered_record_is_in_one_figure_at_each_line_of_its_way_to_the_journal(store: Path) -> None:
    tool = tt.trace_tool(name="t")(lambda n: n)
    tool(0)
    tt.shutdown(None)  # from here on, a call is written by its own thread
    before, offered, sums = sys.gettrace(), 1, set()
    functions = {
        "_dispatch_batch",
        "write",
        "_retain",
        "_write_waiting",
        "_forget_oldest",
        "_write_to_journal",
        "_append",
    }

    def trace(frame: Any, _event: str, _value: object) -> Any:
        name = Path(frame.f_code.co_filename).name
        if name not in ("worker.py", "writer.py", "journal.py") or frame.f_code.co_name not in functions:
            return None
        frame.f_trace_lines = True
        health = tt.health()
        sums.add(health.queued + health.written - offered)
        return trace

    try:
        sys.settrace(trace)
        for offered in range(2, 5):
            tool(offered)
    finally:
        sys.settrace(before)
    assert sums == {0, 1}, "at some line a record is in none of the figures"


def test_health_takes_no_lock(store: Path) -> None:
    """Another thread holds every lock of the recorder."""
    tt.trace_tool(name="t")(lambda: 1)()
    assert tt.flush(None)
    worker = config.get_recorder().worker
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        assert worker._acquire_permit(None)
        with worker._writer._journal._lock, config._lock.current:  # type: ignore[union-attr]
            held.set()
            release.wait()
        worker._permit.put(True)

    threading.Thread(target=hold).start()
    assert held.wait()
    asked: list[tt.Health] = []
    asking = threading.Thread(target=lambda: asked.append(tt.health()))
    asking.start()
    asking.join()
    release.set()
    assert asked
    assert asked[0].written == 1


@pytest.mark.processes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_begins_with_figures_of_its_own(tmp_path: Path) -> None:
    done = run(
        """
        import os, tooltrace as tt
        from tooltrace.faults import faults
        tool = tt.trace_tool(name="t")(lambda n: n)
        for n in range(5): tool(n)
        faults.count("queue_full", 2)
        assert not tt.flush(None)
        child = os.fork()
        if not child:
            health = tt.health()
            assert (health.pid, health.written, health.lost, health.last_flush) == (os.getpid(), 0, {}, None), health
            tool(1)
            assert tt.flush(None)
            assert tt.health().written == 1
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert (tt.health().written, tt.health().lost) == (5, {"queue_full": 2})
        """,
        tmp_path,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("broken", ["a cursor", "the folder", "the journals"])
def test_health_does_not_raise_for_files_that_cannot_be_read(store: Path, broken: str) -> None:
    tt.trace_tool(name="t")(lambda: 1)()
    assert tt.flush(None)
    paths = StorePaths.of(store)
    files = DestinationFiles.of(paths, "mine")
    files.create()
    if broken == "a cursor":
        files.cursor.write_text("{")
    elif broken == "the folder":
        shutil.rmtree(files.folder)
        files.folder.write_text("a file")
    else:
        for name in paths.journals():
            (paths.journal / name).write_bytes(b"\0" * 100)
    health = tt.health()
    # the thread may have noticed the truncated journal, whose record is lost
    assert health.written in ((0, 1) if broken == "the journals" else (1,))
    if broken == "a cursor":
        assert "cannot read the cursor" in str(health.deliveries[0].error)


# deliveries


def test_the_lag_of_a_destination(store: Path) -> None:
    paths = StorePaths.of(store)
    tool = tt.trace_tool(name="t")(lambda n: n)
    files = DestinationFiles.of(paths, "mine")
    cursor = files.create()
    assert [(lag.destination, lag.pending, lag.lag_seconds) for lag in tt.health().deliveries] == [("mine", 0, 0.0)]
    for n in range(3):
        tool(n)
    assert tt.flush(None)
    cursor.wait_because("token=sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD was refused")
    files.save(cursor)
    (lag,) = tt.health().deliveries
    assert (lag.pending, lag.pending_bytes) == (3, tt.health().journal_bytes)
    assert 0 <= lag.lag_seconds < 600
    assert lag.error is not None
    assert "sk-proj" not in lag.error
    assert lag.error_at is not None
    fold(paths)
    assert tt.health().deliveries[0].pending == 3, "in the database, and not delivered"


def test_an_imported_record_waits_no_longer_than_its_destination_exists(store: Path) -> None:
    paths = StorePaths.of(store)
    DestinationFiles.of(paths, "mine").create()
    journal = Journal(paths.journal)
    journal.write(
        encode(
            ToolCall(
                tool="t", call_id="c", trace_id="1" * 32, span_id="1" * 16, started_at=datetime(2020, 1, 1, tzinfo=UTC)
            )
        )
    )
    journal.close()
    (lag,) = tt.health().deliveries
    assert lag.pending == 1
    assert lag.lag_seconds < 600


# the counts


def test_totals_stay_exact_and_small_however_often_something_is_lost() -> None:
    counter = LossCounter()
    for number in range(5000):
        counter.count(f"r{number % 3}", 2)
    counter.restore({"r0": 7})
    assert sum(counter.totals().values()) == 10_000, "counts that come back are not counted twice"
    assert sum(counter.drain().values()) == 10_000
    assert counter.pending
    assert counter.reclaim() == {"r0": 7}
    assert not counter.pending
    assert sum(counter.totals().values()) == 10_000
    assert len(counter._history) < 2000
