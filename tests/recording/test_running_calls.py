"""A call that runs for long is in the journal before its end; a short one costs nothing there."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tests.conftest import records
from tests.programs import start_program
from tests.waiting import until
from tooltrace.core.records import Begun, ToolCall
from tooltrace.errors import ConfigError

SOON = 0.01


def begun(store: Path) -> list[Begun]:
    return [record for record in records(store) if isinstance(record, Begun)]


@pytest.fixture
def hold() -> Callable[..., Any]:
    """A tool that runs until its argument is set."""

    @tt.trace_tool(name="hold")
    def hold(release: threading.Event, api_key: str = "") -> str:
        release.wait()
        return "done"

    return hold


def started(hold: Callable[..., Any], *arguments: Any, **context: Any) -> tuple[threading.Event, threading.Thread]:
    release = threading.Event()

    def run() -> None:
        with tt.context(**context):
            hold(release, *arguments)

    thread = threading.Thread(target=run)
    thread.start()
    return release, thread


def test_a_long_call_is_written_as_begun_with_what_its_end_has_too(store: Path, hold: Callable[..., Any]) -> None:
    tt.configure(store=store, begun_after=SOON, service="shop", release="3")
    release, thread = started(hold, "hunter2-of-bob", call_id="c1", conversation_id="chat", agent="planner")
    (found,) = until(lambda: begun(store))
    release.set()
    thread.join()
    tt.flush(None)
    (call,) = [record for record in records(store) if isinstance(record, ToolCall)]
    names = Begun.__struct_fields__
    assert {name: getattr(found, name) for name in names} == {name: getattr(call, name) for name in names}
    assert "hunter2" not in repr(found)


def test_each_call_that_runs_is_written_once_and_short_ones_never(store: Path, hold: Callable[..., Any]) -> None:
    tt.configure(store=store, begun_after=SOON)
    running = [started(hold, call_id=f"c{number}") for number in range(3)]
    until(lambda: len(begun(store)) == 3)
    more = started(hold, call_id="later")  # begins while nothing new is watched
    until(lambda: len(begun(store)) == 4)
    for release, thread in [*running, more]:
        release.set()
        thread.join()
    tt.configure(store=store, begun_after=3600)
    for _ in range(50):
        hold(release)
    tt.flush(None)
    assert sorted(found.call_id for found in begun(store)) == ["c0", "c1", "c2", "later"]


def test_settings_of_begun_after(store: Path, hold: Callable[..., Any]) -> None:
    done = threading.Event()
    done.set()
    tt.configure(store=store, begun_after=None)
    hold(done)
    tt.configure(store=store, begun_after=0, capture="metadata")
    hold(done)
    tt.flush(None)
    (found,) = begun(store)
    assert found.arguments is None
    with pytest.raises(ConfigError, match="begun_after must be a number of seconds of at least 0, got -1"):
        tt.configure(begun_after=-1)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("options", "kills"),
    [
        (f"begun_after={SOON}", "while not any(b'begun' in file.read_bytes() for file in journal.glob('*.jsonl')): time.sleep(0.01)\n    "),
        ("begun_after=0, durability='call'", ""),
    ],
)  # fmt: skip
def test_the_call_that_kills_its_process_is_lost_and_has_its_arguments(
    tmp_path: Path, options: str, kills: str
) -> None:
    store = tmp_path / "t.duckdb"
    program = f"""
import os, pathlib, signal, sys, time, tooltrace as tt
tt.configure(store=sys.argv[1], {options})
journal = pathlib.Path(sys.argv[1] + ".journal")
@tt.trace_tool
def fine(): return 1
@tt.trace_tool
def load(path):
    {kills}os.kill(os.getpid(), signal.SIGKILL)
fine()
tt.flush()
load("/data/all.csv")
"""
    process = start_program(program, str(store), modules=("tooltrace",), environment=dict(os.environ))
    _, errors = process.communicate()
    assert process.returncode == -9, errors
    with tt.connect(store) as con:
        found = con.execute(
            "SELECT tool, ending, status, duration_ms, arguments FROM tool_calls ORDER BY tool"
        ).fetchall()
        assert [row[:3] for row in found] == [("fine", "returned", "success"), ("load", "lost", None)]
        assert found[1][3:] == (None, '{"path":"/data/all.csv"}')
        assert con.execute("SELECT tool FROM facts WHERE cut_off").fetchall() == [("load",)]


@pytest.mark.processes
def test_a_forked_child_does_not_write_its_parents_calls(tmp_path: Path) -> None:
    store = tmp_path / "t.duckdb"
    program = f"""
import os, pathlib, sys, time, tooltrace as tt
tt.configure(store=sys.argv[1], begun_after={SOON})
journal = pathlib.Path(sys.argv[1] + ".journal")
def wait(word):
    while not any(word in file.read_bytes() for file in journal.glob("*.jsonl")): time.sleep(0.01)
@tt.trace_tool
def child():
    wait(b'"child"')
@tt.trace_tool
def parent():
    pid = os.fork()
    if pid == 0:
        child()
        tt.flush()
        os._exit(0)
    os.waitpid(pid, 0)
    wait(b'"parent"')
parent()
"""
    process = start_program(program, str(store), modules=("tooltrace",), environment=dict(os.environ))
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    found = begun(store)
    assert sorted(record.tool for record in found) == ["child", "parent"]
    assert len({record.pid for record in found}) == 2


def test_a_secret_of_one_argument_is_removed_from_the_others_before_the_end(store: Path) -> None:
    tt.configure(store=store, begun_after=SOON)

    @tt.trace_tool(name="login")
    def login(password: str, command: str, release: threading.Event) -> None:
        release.wait()

    release = threading.Event()
    thread = threading.Thread(target=login, args=("hx7!Qp-92zzK#k1", "use hx7!Qp-92zzK#k1 now", release))
    thread.start()
    until(lambda: begun(store))
    raw = b"".join(path.read_bytes() for path in store.parent.rglob("*") if path.is_file())
    release.set()
    thread.join()
    assert b"[redacted] now" in raw
    assert b"hx7!Qp-92zzK#k1" not in raw


def test_a_running_call_is_forgotten_by_a_condition_too(store: Path, hold: Callable[..., Any]) -> None:
    tt.configure(store=store, begun_after=SOON)
    release, thread = started(hold, "", conversation_id="chat", call_id="c1")
    until(lambda: begun(store))
    report = tt.forget(where="tool = 'hold'", store=store)
    release.set()
    thread.join()
    tt.flush(None)
    assert report.remaining == []
    with tt.connect(store) as db:
        assert db.sql("SELECT count(*) FROM begun").fetchall() == [(0,)]
        assert db.sql("SELECT count(*) FROM tool_calls").fetchall() == [(0,)]
