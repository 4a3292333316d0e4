"""Readers wait for a bounded time, learn who has the store, and have their turn between the steps of a fold."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tooltrace.errors import ConfigError, StoreBusy, StoreError
from tooltrace.store.files import file_lock
from tooltrace.store.files.file_lock import Lock
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold import fold as fold_module
from tooltrace.store.fold.fold import Folding, FoldProgress, fold
from tooltrace.store.journal import fold_marker, line_scan
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.read import reader as reader_module
from tooltrace.store.read.reader import open_reader

Rows = Callable[[str], list[tuple[Any, ...]]]
Child = Callable[..., subprocess.Popen[str]]
COUNT = "SELECT count(*), count(DISTINCT span_id) FROM tool_calls"
HOLD = """
from tooltrace.store.files.file_lock import Lock
lock = Lock(paths)
assert lock.exclusive(120)
print("held", flush=True)
time.sleep(600)
"""
TURNSTILE = """
import fcntl
fcntl.flock(os.open(paths.journal, os.O_RDONLY), fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def wait() -> Iterator[Callable[[float], None]]:
    """Set the seconds that readers wait."""
    yield file_lock.set_wait
    file_lock.set_wait(None)


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each step of a fold move about 4 KiB."""
    monkeypatch.setattr(line_scan.batches, "__kwdefaults__", {"limit": 4096})
    monkeypatch.setattr(fold_module, "MAX_STEP_BYTES", 4096)


def stopped(process: subprocess.Popen[str]) -> subprocess.Popen[str]:
    """``process``, stopped as soon as it holds its lock."""
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    process.send_signal(signal.SIGSTOP)
    return process


@pytest.mark.processes
def test_a_reader_names_the_holder_of_the_store_after_a_second_and_fails_at_its_limit(
    store: StorePaths, write: Any, call: Any, child: Child, wait: Any, caplog: pytest.LogCaptureFixture
) -> None:
    write(call(1))
    fold(store)
    holder = stopped(child(HOLD))
    wait(file_lock.NOTICE_SECONDS + 0.3)
    with (
        caplog.at_level(logging.WARNING, "tooltrace"),
        pytest.raises(StoreBusy, match=rf"process {holder.pid} \(folding journals\)") as caught,
        open_reader(store),
    ):
        pass
    assert (caught.value.pid, caught.value.activity) == (holder.pid, "folding journals")
    assert isinstance(caught.value, StoreError)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 1
    assert f"process {holder.pid} (folding journals)" in messages[0]


@pytest.mark.processes
def test_the_journals_alone_are_read_without_a_wait(
    store: StorePaths, write: Any, call: Any, child: Child, wait: Any
) -> None:
    write(call(1))
    fold(store)
    write(call(2), call(2))
    stopped(child(HOLD))
    wait(600)
    with open_reader(store, journals_only=True) as db:
        assert db.sql("SELECT call_id FROM tool_calls").fetchall() == [("c2",)]


@pytest.mark.processes
def test_a_stopped_fold_that_waits_does_not_stop_readers(
    store: StorePaths, write: Any, call: Any, child: Child, rows: Rows, wait: Any
) -> None:
    write(call(1))
    fold(store)
    stopped(child(TURNSTILE))
    wait(0.1)
    assert rows(COUNT) == [(1, 1)]


@pytest.mark.processes
def test_a_process_that_no_longer_exists_is_not_named(store: StorePaths, write: Any, call: Any, child: Child) -> None:
    write(call(1))
    gone = child(HOLD)
    assert gone.stdout is not None
    assert gone.stdout.readline() == "held\n"
    gone.kill()
    gone.communicate()
    assert store.lock.read_text().split() == [str(gone.pid), "folding", "journals"]
    with store.lock.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        lock = Lock(store)
        with pytest.raises(StoreBusy, match="in use by another process,") as caught:
            lock.shared(0)
        lock.release()
    assert caught.value.pid is None
    fold(store, wait=0)


@pytest.mark.parametrize("text", ["", "garbage", "99999999999999999999 x", "-1 reading", "\0" * 50, "٣ reading"])
def test_any_text_in_the_lock_file_is_harmless(store: StorePaths, write: Any, call: Any, text: str) -> None:
    write(call(1))
    store.lock.write_text(text)
    lock = Lock(store)
    assert lock.holder() == (None, None)
    lock.release()


@pytest.mark.parametrize("value", ["ten", "-1", "nan", "inf"])
def test_a_bad_limit_in_the_environment_is_named(
    store: StorePaths, write: Any, call: Any, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    write(call(1))
    monkeypatch.setenv("TOOLTRACE_WAIT", value)
    with pytest.raises(ConfigError, match=rf"TOOLTRACE_WAIT.*'{value}'"), open_reader(store):
        pass


@pytest.mark.usefixtures("small_steps")
def test_a_reader_has_its_turn_after_each_step_and_sees_everything(store: StorePaths, write: Any, call: Any) -> None:
    write(*map(call, range(100)))
    seen = []

    def read(progress: FoldProgress) -> None:
        lock = Lock(store)
        lock.shared(0)  # raises StoreBusy where the fold still has the lock
        lock.release()
        with open_reader(store, missing_ok=True) as db:
            seen.append((progress.done, tuple(db.sql(COUNT).fetchall())))

    report = fold(store, progress=read)
    assert len(seen) > 1
    assert {counts for _, counts in seen} == {((100, 100),)}
    assert report.rows <= 100


def test_a_step_ends_soon_where_a_reader_waits(
    store: StorePaths, write: Any, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_scan.batches, "__kwdefaults__", {"limit": 4096})
    monkeypatch.setattr(fold_module, "WAITED_SECONDS", 0)
    write(*map(call, range(300)))
    had = threading.Event()

    def read() -> None:
        lock = Lock(store)
        lock.shared(120)
        had.set()
        lock.release()

    reader = threading.Thread(target=read)
    is_enough = Folding._is_enough

    def is_enough_with_a_waiting_reader(folding: Folding, since: float, read: int) -> bool:
        if not reader.is_alive() and not had.is_set():
            reader.start()
            while not folding._lock.has_waiters():
                pass
        return is_enough(folding, since, read)

    monkeypatch.setattr(Folding, "_is_enough", is_enough_with_a_waiting_reader)
    lock = Lock(store)
    with closing(Folding(store, lock)) as folding:
        first = folding.step(None)
        assert first is not None
        assert 0 < first.rows < 300
        assert not folding.complete
        assert had.wait(), "the reader did not get the lock after the step"
    lock.release()
    reader.join()


@pytest.mark.long
@pytest.mark.usefixtures("small_steps")
def test_a_reader_gets_the_lock_while_a_fold_goes_on(store: StorePaths, write: Any, call: Any) -> None:
    write(*map(call, range(400)))
    seen: list[bool] = []
    reader_lock = Lock(store)
    reader = threading.Thread(target=lambda: (reader_lock.shared(120), seen.append(True), reader_lock.release()))

    def start(progress: FoldProgress) -> None:
        had.append(bool(seen))
        if len(had) == 1:
            reader.start()

    had: list[bool] = []
    fold(store, progress=start)
    reader.join()
    assert had[-1], "the fold took the lock again before the reader in every step"


@pytest.mark.long
@pytest.mark.usefixtures("small_steps")
def test_two_readers_of_a_large_backlog_share_its_fold(
    store: StorePaths, write: Any, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_module, "WAIT_BYTES", 4096)
    for limit in ("FOLD_WAIT_SECONDS", "OTHERS_SECONDS"):  # a busy machine takes longer for a step
        monkeypatch.setattr(reader_module, limit, 3600)
    write(*map(call, range(300)))
    seen: list[Any] = []

    def read() -> None:
        with open_reader(store) as db:
            seen.extend(db.sql(COUNT).fetchall())

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert seen == [(300, 300)] * 2
    assert fold_marker.unfolded_bytes(store) <= 4096


@pytest.mark.parametrize("wait_bytes", [100, 1 << 20])
def test_a_reader_ends_though_others_write_faster_than_it_folds(
    store: StorePaths, write: Any, call: Any, monkeypatch: pytest.MonkeyPatch, wait_bytes: int
) -> None:
    monkeypatch.setattr(reader_module, "WAIT_BYTES", wait_bytes)
    write(*map(call, range(10)))
    written = [10]
    step = Folding.step

    def step_and_write(folding: Folding, wait: float | None) -> Any:
        report = step(folding, wait)
        write(*map(call, range(written[0], written[0] + 20)))
        written[0] += 20
        return report

    monkeypatch.setattr(Folding, "step", step_and_write)
    with open_reader(store) as db:
        assert db.sql(COUNT).fetchall() == [(10, 10)], "it reads what was written before it began"
    monkeypatch.undo()
    with open_reader(store) as db:
        assert db.sql(COUNT).fetchall() == [(written[0],) * 2], "the next one reads the rest"


def test_a_reader_that_cannot_fold_reads_the_journals_as_they_were_when_it_began(
    store: StorePaths, write: Any, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(store.journal)
    journal.write(b"".join(encode(call(n)) for n in range(10)))
    monkeypatch.setattr(reader_module.background, "is_running", lambda _paths: True)
    shared = Lock.shared

    def shared_after_more_was_written(lock: Lock, wait: float | None = None) -> None:
        journal.write(b"".join(encode(call(n)) for n in range(10, 20)))
        shared(lock, wait)

    monkeypatch.setattr(Lock, "shared", shared_after_more_was_written)
    with open_reader(store) as db:
        assert db.sql(COUNT).fetchall() == [(10, 10)]
    monkeypatch.undo()
    journal.close()
    with open_reader(store) as db:
        assert db.sql(COUNT).fetchall() == [(20, 20)]


@pytest.mark.processes
@pytest.mark.usefixtures("small_steps")
def test_steps_before_a_kill_stay_folded(
    store: StorePaths, write: Any, call: Any, run: Callable[..., str], rows: Rows
) -> None:
    write(*map(call, range(200)))
    before = fold_marker.unfolded_bytes(store)
    run(
        """
        from tooltrace.store.fold import fold as module
        from tooltrace.store.journal import line_scan
        line_scan.batches.__kwdefaults__["limit"] = module.MAX_STEP_BYTES = 4096
        steps = []
        def die(progress):
            steps.append(progress)
            if len(steps) == 3:
                os.kill(os.getpid(), signal.SIGKILL)
        fold(paths, progress=die)
        """,
        code_expected=-9,
    )
    assert 0 < fold_marker.unfolded_bytes(store) < before
    assert fold(store).rows < 200
    assert rows(COUNT) == [(200, 200)]


def test_lines_that_another_fold_inserted_meanwhile_are_not_inserted_again(
    store: StorePaths, write: Any, call: Any, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(call(1), call(2))
    with path.open("ab") as file:
        file.write(b'{"crc":"torn')
    lock = Lock(store)
    exclusive = lock.exclusive
    others: list[object] = []

    def exclusive_after_another_fold(wait: float | None) -> bool:
        if not others:
            others.append(None)
            fold(store)
            write(call(3))
        return exclusive(wait)

    monkeypatch.setattr(lock, "exclusive", exclusive_after_another_fold)
    with closing(Folding(store, lock)) as folding:
        step = folding.step(None)
        assert step is not None
        assert (step.rows, step.losses, folding.complete) == (1, 0, True)
    lock.release()
    assert rows(COUNT) == [(3, 3)]
    assert rows("SELECT reason FROM losses") == [("torn_line",)]


def test_a_line_longer_than_a_piece_is_folded(store: StorePaths, write: Any, call: Any, rows: Rows) -> None:
    write(call(1), call(2, text="x" * (2 * line_scan.PIECE_BYTES)), call(3))
    assert fold(store).rows == 3
    assert rows("SELECT length(text) FROM tool_calls WHERE call_id = 'c2'") == [(2 * line_scan.PIECE_BYTES,)]


def test_temporary_files_in_use_are_not_removed_by_another_fold(store: StorePaths, call: Any) -> None:
    journal = Journal(store.journal)
    journal.write(encode(call(1)))
    used, left = store.journal / ".lines-used.tmp", store.journal / ".lines-left.tmp"
    left.touch()
    with used.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        fold(store)
        assert used.exists()
    assert not left.exists()
    journal.close()


@pytest.mark.processes
@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak memory from /proc")
def test_the_memory_of_a_fold_does_not_grow_with_the_backlog(
    store: StorePaths, write: Any, call: Any, run: Callable[..., str]
) -> None:
    for first in range(0, 150_000, 10_000):
        write(*(call(number, text="some text of a result " * 10) for number in range(first, first + 10_000)))
    folded, peak = run(
        """
        import re
        rows = fold(paths).rows
        # not ru_maxrss, which includes the memory of the process that started this one
        print(rows, int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) // 1024)
        """
    ).split()
    assert int(folded) == 150_000
    assert int(peak) <= 256, f"{peak} MiB for {os.path.getsize(store.database)} bytes"
