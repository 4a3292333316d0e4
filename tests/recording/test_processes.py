"""Forks, pools, exits, stalls and disks that take nothing: each call is in a journal, or counted as lost."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tests.conftest import records
from tests.programs import start_program
from tests.recording.stalled_redaction import StalledRedaction
from tooltrace.core.records import Loss, ToolCall
from tooltrace.faults import faults
from tooltrace.recording import config

Calls = Callable[[], list[ToolCall]]
ROOT = Path(tt.__file__).parent.parent


def program(
    tmp_path: Path, text: str, code: int = 0, *, store: str = "t.duckdb"
) -> tuple[Counter[str], subprocess.CompletedProcess[str]]:
    """Run a program that records into ``store``; return what it recorded, by tool.

    It is a new interpreter if its children are: they import the program again, from its file.
    """
    source = "import sys, os, threading, time, tooltrace as tt\n" + textwrap.dedent(text)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TOOLTRACE_STORE": str(tmp_path / "t.duckdb")}
    if {"'spawn'", "'forkserver'"} & set(re.findall(r"'\w+'", source.replace('"', "'"))):
        (tmp_path / "program.py").write_text(source)
        process = subprocess.Popen(
            [sys.executable, "program.py"], text=True, cwd=tmp_path, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
    else:
        process = start_program(source, modules=("tooltrace",), environment=environment, directory=tmp_path)
    done = subprocess.CompletedProcess("program", 0, *process.communicate())
    done.returncode = process.returncode
    assert done.returncode == code, done.stderr
    made = records(tmp_path / store)
    spans = [r.span_id for r in made if isinstance(r, ToolCall)]
    assert len(spans) == len(set(spans))
    return Counter(r.tool for r in made if isinstance(r, ToolCall)), done


TOOLS = """
@tt.trace_tool
def add(n=0): return n

@tt.trace_tool
def stream():
    yield 1
    yield 2

"""


@pytest.mark.processes
@pytest.mark.parametrize(
    ("text", "code", "expected"),
    [
        ("for i in range(500): add(i)", 0, {"add": 500}),
        ("@tt.trace_tool\ndef leaves(): sys.exit(3)\nadd(); leaves()", 3, {"add": 1, "leaves": 1}),
        ("@tt.trace_tool\ndef fails(): raise KeyError('x')\nadd(); fails()", 1, {"add": 1, "fails": 1}),
        ("import atexit\natexit.register(add)\natexit.register(add)", 0, {"add": 2}),
        ("import atexit\natexit.register(add)\nadd()\natexit.register(add)", 0, {"add": 3}),
        (
            "def work():\n    time.sleep(0.1)\n    for i in range(50): add(i)\nthreading.Thread(target=work).start()",
            0,
            {"add": 50},
        ),
        ("g = stream(); next(g); tt.configure(); tt.configure(); add(); g.close()", 0, {"add": 1, "stream": 1}),
        ("add(); tt.shutdown(); add(); add(); tt.shutdown()", 0, {"add": 3}),
        ("tt.configure(durability='call'); [add(i) for i in range(20)]; os._exit(0)", 0, {"add": 20}),
        ("tt.configure(durability='fsync'); [add(i) for i in range(5)]; os._exit(0)", 0, {"add": 5}),
        ("add(); tt.flush(); os._exit(0)", 0, {"add": 1}),
    ],
)
def test_ends_of_a_process(tmp_path: Path, text: str, code: int, expected: dict[str, int]) -> None:
    found, done = program(tmp_path, TOOLS + text, code)
    assert found == expected
    assert "tooltrace" not in "".join(line for line in done.stderr.splitlines() if "Error" in line)


@pytest.mark.processes
def test_an_open_generator_at_exit_is_silent(tmp_path: Path) -> None:
    _, done = program(tmp_path, TOOLS + "g = stream(); next(g)\n")
    assert done.stderr == ""
    _, done = program(
        tmp_path,
        """
        import asyncio
        @tt.trace_tool
        async def agen():
            yield 1
            yield 2
        async def main():
            global g
            g = agen()
            await anext(g)
        asyncio.run(main())
        """,
    )
    assert done.stderr == ""


@pytest.mark.processes
@pytest.mark.parametrize("warm", [False, True])
def test_a_forked_child_records_its_own_calls_alone(tmp_path: Path, warm: bool) -> None:
    found, _ = program(
        tmp_path,
        TOOLS
        + f"""
tt.configure()
if {warm}:
    for i in range(100): add(i)
pids = []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        for i in range(100): stream() and list(stream())
        sys.exit(0)
    pids.append(pid)
for pid in pids:
    assert os.waitpid(pid, 0)[1] == 0
add()
""",
    )
    assert found == {"add": 101 if warm else 1, "stream": 400}


@pytest.mark.processes
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(tmp_path: Path, method: str) -> None:
    found, _ = program(
        tmp_path,
        TOOLS
        + f"""
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
if __name__ == "__main__":
    add()
    context = multiprocessing.get_context({method!r})
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert list(pool.map(add, range(20))) == list(range(20))
    child = context.Process(target=add)
    child.start(); child.join()
    assert child.exitcode == 0
""",
    )
    assert found == {"add": 22}


@pytest.mark.processes
def test_a_lock_of_another_thread_at_the_fork_does_not_deadlock(tmp_path: Path) -> None:
    found, _ = program(
        tmp_path,
        TOOLS
        + """
from tooltrace.recording import config
from tooltrace import faults
tt.configure(); add()
recorder = config.get_recorder()
faults.faults.count("parents_own")
held, release = threading.Event(), threading.Event()
def hold():
    assert recorder.worker._acquire_permit(None)
    with recorder._calls._lock, recorder.worker._writer._journal._lock:
        held.set()
        release.wait()
    recorder.worker._permit.put(True)
threading.Thread(target=hold, daemon=True).start()
held.wait()
pid = os.fork()
if pid == 0:
    with tt.context(call_id="c"):
        stream() and list(stream())
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
release.set()
""",
    )
    assert found == {"add": 1, "stream": 1}
    losses = [r for r in records(tmp_path / "t.duckdb") if isinstance(r, Loss)]
    assert [(r.reason, r.count) for r in losses] == [("parents_own", 1)]


@pytest.mark.processes
def test_a_stream_that_ends_while_the_journal_is_being_written(tmp_path: Path) -> None:
    """As when the garbage collector runs inside the recorder: what holds a lock must not wait for itself."""
    found, _ = program(
        tmp_path,
        TOOLS
        + """
import faulthandler; faulthandler.dump_traceback_later(800, exit=True)
from tooltrace.recording import config
from tooltrace import faults as guard
tt.configure(durability="call"); add()
recorder = config.get_recorder()
for lock in (recorder.worker._writer._journal._lock, recorder._calls._lock):
    with lock:
        g = stream(); next(g); del g
""",
    )
    assert found == {"add": 1, "stream": 2}


# a queue that is full


@pytest.mark.parametrize("overflow", ["drop", "block"])
def test_a_full_queue_loses_the_newest_and_counts_them(store: Path, calls: Calls, overflow: Any) -> None:
    redact = StalledRedaction()
    tt.configure(store=store, queue_size=10, overflow=overflow, block_seconds=0.05, redact=redact)
    tool = tt.trace_tool(name="t")(lambda n: n)
    for n in range(200):
        assert tool(n) == n
    redact.release.set()
    rows = calls()
    tt.flush()
    lost = sum(r.count for r in records(store) if isinstance(r, Loss) and r.reason == "queue_full")
    assert lost > 0 and len(rows) + lost == 200
    kept = [json.loads(r.result or "") for r in rows]
    assert kept[:10] == list(range(10))


def test_a_blocking_queue_loses_nothing(store: Path, calls: Calls) -> None:
    tt.configure(store=store, queue_size=5, overflow="block", block_seconds=120)
    tool = tt.trace_tool(name="t")(lambda n: n)
    for n in range(2_000):
        tool(n)
    assert len(calls()) == 2_000


# a disk that takes nothing


@pytest.mark.parametrize("durability", ["batch", "call", "fsync"])
def test_a_journal_that_cannot_be_written_never_reaches_the_tool(
    tmp_path: Path, store: Path, durability: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "_warned", {})
    path = tmp_path / "blocked.duckdb"
    (tmp_path / "blocked.duckdb.journal").write_text("a file where the directory should be")
    tt.configure(store=path, durability=durability)
    tool = tt.trace_tool(name="t")(lambda n: n)
    assert [tool(n) for n in range(50)] == list(range(50))
    tt.flush()
    assert sum("cannot write its journal" in r.message for r in caplog.records) == 1
    (tmp_path / "blocked.duckdb.journal").unlink()
    assert tool(50) == 50
    tt.flush()
    rows = [r for r in records(path) if isinstance(r, ToolCall)]
    assert sorted(json.loads(r.result or "") for r in rows) == list(range(51))


@pytest.mark.processes
def test_a_deleted_working_directory_is_not_an_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(
            """
            import os, tempfile, tooltrace as tt
            where = tempfile.mkdtemp(); os.chdir(where); os.rmdir(where)
            assert tt.trace_tool(lambda: 5)() == 5
            """)],
        capture_output=True, text=True, check=False,
        env={k: v for k, v in os.environ.items() if not k.startswith("TOOLTRACE_")} | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_an_internal_fault_is_counted_logged_once_and_hidden_from_the_tool(
    store: Path, calls: Calls, lenient: None, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "_warned", {})
    broken = config.get_recorder()
    monkeypatch.setattr(broken._calls, "begin", lambda *_: 1 / 0)
    tool = tt.trace_tool(name="t")(lambda: 5)
    with tt.context(call_id="c"):
        assert [tool() for _ in range(3)] == [5, 5, 5]
    assert calls() == []
    losses = [(r.reason, r.count) for r in records(store) if isinstance(r, Loss)]
    assert losses == [("fault_begin", 3)]
    assert sum("failed to begin" in r.message for r in caplog.records) == 1


def test_a_log_processor_of_the_users_that_raises_loses_nothing(store: Path, calls: Calls, lenient: None) -> None:
    import structlog

    def bad(*_: Any) -> Any:
        raise RuntimeError

    structlog.configure(processors=[bad])
    try:
        tt.trace_tool(name="t")(lambda: 5)()
        assert len(calls()) == 1
    finally:
        structlog.reset_defaults()
    tt.flush()
    assert not [r for r in records(store) if isinstance(r, Loss)]


@pytest.mark.processes
@pytest.mark.parametrize("durability", ["batch", "call"])
def test_a_tool_that_forks_and_returns_twice_is_two_attempts(tmp_path: Path, durability: str) -> None:
    program(
        tmp_path,
        f"""
        tt.configure(store="t.duckdb", durability={durability!r})

        @tt.trace_tool
        def inner():
            return os.fork()

        @tt.trace_tool
        def outer():
            return inner()

        @tt.trace_tool
        def add():
            return 1

        with tt.context(call_id="c1"):
            pid = outer()
        add()
        if pid:
            assert os.waitpid(pid, 0)[1] == 0
        """,
    )
    found = [record for record in records(tmp_path / "t.duckdb") if isinstance(record, ToolCall)]
    by_tool = {tool: [call for call in found if call.tool == tool] for tool in ("inner", "outer", "add")}
    assert {tool: len(calls) for tool, calls in by_tool.items()} == {"inner": 2, "outer": 2, "add": 2}
    assert len({call.span_id for call in found}) == 6
    assert len({call.pid for call in by_tool["outer"]}) == 2
    assert {call.call_id for call in by_tool["outer"]} == {"c1"}
    assert sorted(call.attempt for call in by_tool["outer"]) == [1, 2]
