"""``configure(fold="background")``: one process for each store folds ahead, unnoticed, and ends by itself."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold import background
from tooltrace.store.journal import fold_marker

pytestmark = pytest.mark.processes

Start = Callable[..., subprocess.Popen[str]]
PROGRAM = """
import os, sys
import tooltrace as tt
tt.configure(store=sys.argv[1], fold="background")
@tt.trace_tool
def work(n):
    return n
for n in range(int(sys.argv[2])):
    work("x" * 1000 + str(n))
assert tt.flush(None)
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def start(store: StorePaths) -> Iterator[Start]:
    """Start a program that records ``calls`` calls and waits for a line on its standard input."""
    started = []

    def start(calls: int = 1, program: str = PROGRAM, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(store.database), str(calls)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
    if (pid := background.running_pid(store)) is not None:
        os.kill(pid, signal.SIGKILL)


def folder_of(store: StorePaths) -> int:
    """The id of the background process, once it runs."""
    until(lambda: background.running_pid(store))
    pid = background.running_pid(store)
    assert pid is not None
    return pid


def descriptors_of(pid: int) -> set[str]:
    """Return the paths of the open files of a process; those of a look at the journals and of a fold are closed soon.

    Shared libraries are left out: libffi keeps its own file open since version 3.5, in the process that loads it.
    """
    found = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed after it was listed
            found.add(os.readlink(entry))
    return {path for path in found if ".so" not in Path(path).suffixes}


def children_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_one_process_folds_ahead_detached_and_ends_after_the_last_writer(
    store: StorePaths, start: Start, rows: Any
) -> None:
    calls = 3 * background.FOLD_BYTES // 2000
    first = start(calls, OPENAI_API_KEY="secret", TOOLTRACE_TOKEN="secret")
    pid = folder_of(store)
    until(lambda: store.database.exists() and fold_marker.unfolded_bytes(store) == 0)

    second = start(1)
    assert folder_of(store) == pid
    until(lambda: not children_of(first.pid) and not children_of(second.pid))
    assert os.getsid(pid) not in (os.getsid(0), os.getsid(first.pid))
    assert b"secret" not in Path(f"/proc/{pid}/environ").read_bytes()
    allowed = {"/dev/null", str(store.journal / ".folder"), str(store.journal / ".users")}
    until(lambda: {path for path in descriptors_of(pid) if "/.scratch-" not in path} <= allowed)

    first.communicate("\n")
    assert background.running_pid(store) == pid, "another process still records"
    second.communicate("\n")
    until(lambda: background.running_pid(store) is None)
    until(lambda: not Path(f"/proc/{pid}").exists())
    assert store.journals() == {}
    assert rows("SELECT count(*) FROM tool_calls") == [(calls + 1,)]


def test_a_signal_ends_it_and_the_program_records_on(store: StorePaths, start: Start, rows: Any) -> None:
    program = start(1)
    os.kill(folder_of(store), signal.SIGTERM)
    until(lambda: background.running_pid(store) is None)
    program.communicate("\n")
    assert program.returncode == 0
    assert rows("SELECT count(*) FROM tool_calls") == [(1,)]


def test_a_killed_program_ends_it_too(store: StorePaths, start: Start) -> None:
    program = start(1)
    folder_of(store)
    program.kill()
    until(lambda: background.running_pid(store) is None)


def test_a_forked_child_starts_none_and_keeps_the_one_of_its_parent(store: StorePaths, start: Start) -> None:
    program = start(
        1,
        PROGRAM.replace(
            "assert tt.flush",
            """
from tooltrace.store.fold import background
reading, writing = os.pipe()
if not os.fork():
    background.spawn = lambda paths: print("a child started one", flush=True)
    work(1)
    os.write(writing, b"x")
    sys.stdin.readline()
    os._exit(0)
os.read(reading, 1)
assert tt.flush""",
        ),
    )
    pid = folder_of(store)
    program.kill()
    program.wait()
    time.sleep(2 * background.POLL_SECONDS)  # two looks at the child, which still records
    assert background.running_pid(store) == pid
    assert program.stdin is not None
    program.stdin.write("\n")
    program.stdin.flush()
    until(lambda: background.running_pid(store) is None)
    assert program.stdout is not None
    assert program.stdout.read() == ""


def test_a_process_that_folds_on_query_starts_none(store: StorePaths, start: Start) -> None:
    start(1, PROGRAM.replace(', fold="background"', ""))
    assert not (store.journal / ".folder").exists()


def test_a_second_process_for_a_store_ends_at_once(store: StorePaths, start: Start) -> None:
    start(1)
    pid = folder_of(store)
    command = [sys.executable, "-m", "tooltrace.store.fold.background", str(store.database)]
    assert subprocess.run(command, check=False).returncode == 0
    assert background.running_pid(store) == pid


def test_the_server_folds_ahead_as_long_as_it_runs(store: StorePaths, write: Any, call: Any) -> None:
    write(call(1))
    server = subprocess.Popen(
        [sys.executable, "-m", "tooltrace", "serve", "--port", "0", "--store", str(store.database)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        folder_of(store)
        assert server.stdout is not None
        assert "Serving" in server.stdout.readline()
        server.send_signal(signal.SIGINT)
        assert server.wait() == 0
        until(lambda: background.running_pid(store) is None)
        assert store.database.exists()
    finally:
        server.kill()
        server.communicate()


def test_the_server_leaves_nothing_beside_a_store_that_does_not_exist(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "tooltrace", "serve", "missing.duckdb", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    try:
        assert server.stdout is not None
        address = re.search(r"http://\S+", server.stdout.readline())
        assert address is not None
        assert urllib.request.urlopen(address[0]).status == 200
        server.send_signal(signal.SIGINT)
        assert server.wait() == 0
    finally:
        server.kill()
        server.communicate()
    assert list(tmp_path.iterdir()) == []


def test_the_server_refuses_a_text_file(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("hello")
    command = [sys.executable, "-m", "tooltrace", "serve", "note.txt", "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "note.txt is a text file, not a tooltrace store" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]
