"""A journal takes whole lines or none, is its process's own, and never writes where nobody looks."""

from __future__ import annotations

import fcntl
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import decode, encode
from tooltrace.store.journal.writer import Journal


def lines_of(directory: Path) -> list[bytes]:
    return [line for path in sorted(directory.glob("*.jsonl")) for line in path.read_bytes().splitlines()]


def test_nothing_is_made_before_the_first_write(store: StorePaths) -> None:
    Journal(store.journal).close()
    assert not store.journal.exists()


def test_only_the_owner_may_read_it(store: StorePaths, write: Any, call: Any) -> None:
    path = write(call(1))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.journal.stat().st_mode) == 0o700


def test_an_open_journal_is_locked(store: StorePaths, call: Any) -> None:
    journal = Journal(store.journal)
    journal.write(encode(call(1)))
    assert journal.path is not None
    with journal.path.open("rb") as file:
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        journal.close()
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize("sync", [False, True])
def test_threads_write_complete_lines(store: StorePaths, call: Any, *, sync: bool) -> None:
    journal = Journal(store.journal, sync=sync)

    def work(worker: int) -> None:
        for number in range(50):
            journal.write(encode(call(worker * 1000 + number, text="x" * 500)))

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.close()
    assert len({decode(line).span_id for line in lines_of(store.journal)}) == 200  # type: ignore[union-attr]


def test_a_long_journal_continues_in_a_new_file(store: StorePaths, call: Any) -> None:
    journal = Journal(store.journal, segment_bytes=1000)
    for number in range(20):
        journal.write(encode(call(number)))
    journal.close()
    sizes = [path.stat().st_size for path in store.journal.glob("*.jsonl")]
    assert len(sizes) > 3
    assert max(sizes) < 2000
    assert len(lines_of(store.journal)) == 20


@pytest.mark.processes
def test_a_full_disk_leaves_no_torn_line(store: StorePaths, run: Callable[..., str]) -> None:
    output = run(
        """
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))
        journal = Journal(paths.journal)
        kept, number = [], 0
        while True:
            try:
                journal.write(encode(call(number, text="x" * 300)))
            except OSError:
                break
            kept.append(number); number += 1
        try:
            journal.write(encode(call(999, text="x" * 9000)))
        except OSError:
            print("refused", end=" ")
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        journal.write(encode(call(number)))
        print(len(kept) + 1)
        """
    )
    lines = lines_of(store.journal)
    assert output == f"refused {len(lines)}"
    assert [decode(line).call_id for line in lines if b'"c999"' in line] == []  # type: ignore[union-attr]
    assert len({decode(line).call_id for line in lines}) == len(lines) > 5  # type: ignore[union-attr]
    assert all(path.stat().st_size for path in store.journal.glob("*.jsonl"))


@pytest.mark.processes
def test_a_forked_child_writes_a_journal_of_its_own(store: StorePaths, run: Callable[..., str]) -> None:
    run(
        """
        journal = Journal(paths.journal)
        journal.write(encode(call(1)))
        mine = journal.path
        pid = os.fork()
        if pid == 0:
            journal.write(encode(call(2)))
            os._exit(0 if journal.path != mine else 2)
        assert os.waitpid(pid, 0)[1] == 0
        journal.write(encode(call(3)))
        assert journal.path == mine
        assert mine.read_bytes() == encode(call(1)) + encode(call(3))
        """
    )
    assert len(lines_of(store.journal)) == 3


@pytest.mark.processes
def test_a_forked_child_does_not_lock_its_parents_journal(store: StorePaths, run: Callable[..., str]) -> None:
    output = run(
        """
        journal = Journal(paths.journal)
        journal.write(encode(call(1)))
        here, there = os.pipe()
        if (pid := os.fork()) == 0:
            os.close(there)
            os.read(here, 1)
            os._exit(0)
        journal.close()
        print(fold(paths).removed)
        os.close(there)
        os.waitpid(pid, 0)
        """
    )
    assert output == "1"


@pytest.mark.processes
def test_recording_does_not_load_duckdb() -> None:
    code = "import sys, tooltrace.store.journal.writer, tooltrace.store.journal.line_format, tooltrace.store.files.paths, tooltrace.store.journal.line_scan\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}print('duckdb' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"
