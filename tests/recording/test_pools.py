"""Pools of processes end their workers without warning: what a worker's tool returned is in a journal by then."""

from __future__ import annotations

from pathlib import Path

import pytest

import tooltrace as tt
from tests.conftest import records
from tests.grids import covering
from tests.recording.test_processes import TOOLS, program
from tooltrace.core.records import Loss, Message, Outcome

pytestmark = pytest.mark.processes

METHODS = pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
POOLS = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
"""


@METHODS
def test_no_call_of_a_pool_is_lost(tmp_path: Path, method: str) -> None:
    """``Pool.__exit__`` sends SIGTERM to its workers."""
    repetitions = 10 if method == "fork" else 2
    found, done = program(
        tmp_path,
        TOOLS + POOLS + f"""
if __name__ == "__main__":
    for _ in range({repetitions}):
        with multiprocessing.get_context({method!r}).Pool(2) as pool:
            assert pool.map(add, range(40), chunksize=1) == list(range(40))
""",
    )  # fmt: skip
    assert found == {"add": 40 * repetitions}
    assert done.stderr == ""


@pytest.mark.parametrize(("method", "at_import"), covering(["fork", "spawn", "forkserver"], ["", "list(stream())"]))
def test_a_pool_records_into_the_store_that_its_program_configures(tmp_path: Path, method: str, at_import: str) -> None:
    """Also where the first call comes while the main module is imported, when a spawned child is none yet."""
    found, _ = program(
        tmp_path,
        TOOLS + f"tt.configure(store='mine.duckdb'); {at_import}" + POOLS + f"""
if __name__ == "__main__":
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        assert pool.map(add, range(40), chunksize=1) == list(range(40))
""",
        store="mine.duckdb",
    )  # fmt: skip
    assert found["add"] == 40


@METHODS
def test_no_call_of_an_executor_is_lost(tmp_path: Path, method: str) -> None:
    """Nor where its workers are killed as soon as the last result is there."""
    found, _ = program(
        tmp_path,
        TOOLS + POOLS + f"""
if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context({method!r})) as pool:
        assert list(pool.map(add, range(40))) == list(range(40))
        for worker in list(pool._processes.values()):
            worker.kill()
""",
    )  # fmt: skip
    assert found == {"add": 40}


@METHODS
def test_labels_messages_and_losses_of_a_pool_are_stored(tmp_path: Path, method: str) -> None:
    program(
        tmp_path,
        """
import multiprocessing
from tooltrace.faults import faults

@tt.trace_tool
def add(n=0): return tt.ToolResponse.success(str(n))

def work(n):
    faults.count("made_up")
    with tt.context(call_id=f"c{n}"):
        add(n).to_message(f"c{n}")
    tt.label(call_id=f"c{n}", correct=True)

if __name__ == "__main__":
    tt.configure()
    with multiprocessing.get_context(""" + repr(method) + """).Pool(2) as pool:
        pool.map(work, range(40), chunksize=1)
        pool.map(work, range(40, 42), chunksize=1)
""",
    )  # fmt: skip
    made = records(tmp_path / "t.duckdb")
    assert sum(isinstance(record, Outcome) for record in made) == 42
    assert sum(isinstance(record, Message) for record in made) == 42
    assert sum(record.count for record in made if isinstance(record, Loss) and record.reason == "made_up") == 42


@pytest.mark.parametrize(
    ("durability", "written", "method"),
    covering(
        [("'batch'", False), ("None", True), ("'call'", True), ("'fsync'", True)], ["fork", "spawn", "forkserver"]
    ),
)
def test_an_explicit_durability_applies_in_a_child(tmp_path: Path, durability: str, written: bool, method: str) -> None:
    """Whether the child's tool has been written when it returns: the recorder's thread is held up."""
    found, _ = program(
        tmp_path,
        TOOLS + f"""
import multiprocessing
from tooltrace.recording import worker
tt.configure(durability={durability})
def work():
    worker.Worker._run = lambda self: None
    add()
    os._exit(0)
if __name__ == "__main__":
    child = multiprocessing.get_context({method!r}).Process(target=work)
    child.start()
    child.join()
    add()
""",
    )  # fmt: skip
    assert found == {"add": 2 if written else 1}


def test_a_process_of_its_own_writes_in_batches(tmp_path: Path) -> None:
    """A process that is not a child of multiprocessing has the default, although it has loaded it."""
    found, _ = program(
        tmp_path,
        TOOLS + """
import multiprocessing
from tooltrace.recording import worker
worker.Worker._run = lambda self: None
add()
os._exit(0)
""",
    )  # fmt: skip
    assert found == {}


def test_a_child_of_a_child_and_a_thread_of_its_own(tmp_path: Path) -> None:
    found, _ = program(
        tmp_path,
        TOOLS + POOLS + """
def inner(n):
    thread = threading.Thread(target=add, args=(n,))
    thread.start(); thread.join()
    return n
def outer(n):
    add(n)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        return pool.submit(inner, n).result()
if __name__ == "__main__":
    add()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        assert list(pool.map(outer, range(10))) == list(range(10))
    add()
""",
    )  # fmt: skip
    assert found == {"add": 22}


SPAWNED = pytest.mark.parametrize("method", ["spawn", "forkserver"])


def columns(store: Path, sql: str) -> list[tuple[object, ...]]:
    with tt.connect(store) as db:
        return db.execute(sql).fetchall()


@SPAWNED
def test_a_spawned_child_records_with_the_settings_of_its_parent(tmp_path: Path, method: str) -> None:
    """Although ``configure`` is in a block that the child skips: the history does not split over two stores."""
    program(
        tmp_path,
        TOOLS + POOLS + f"""
@tt.trace_tool
def login(n, employee): return n
def ask(n): return len(tt.query("overview"))
if __name__ == "__main__":
    tt.configure(store="mine.duckdb", service="shop", redact=["employee"])
    context = multiprocessing.get_context({method!r})
    with context.Pool(1) as pool:
        pool.starmap(login, [(n, "ann") for n in range(5)])
        assert pool.apply(ask, (1,)) == 1
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        list(pool.map(add, range(5)))
""",
        store="mine.duckdb",
    )  # fmt: skip
    found = columns(
        tmp_path / "mine.duckdb",
        "SELECT tool, count(*), any_value(service), bool_or(arguments LIKE '%ann%') FROM tool_calls GROUP BY 1 ORDER BY 1",
    )
    assert found == [("add", 5, "shop", False), ("login", 5, "shop", False)]
    assert not (tmp_path / "tooltrace.duckdb.journal").exists()


@SPAWNED
def test_a_child_that_configures_itself_does_not_use_the_settings_of_its_parent(tmp_path: Path, method: str) -> None:
    program(
        tmp_path,
        TOOLS + POOLS + f"""
def start(): tt.configure(store="own.duckdb")
if __name__ == "__main__":
    tt.configure(store="parent.duckdb")
    with multiprocessing.get_context({method!r}).Pool(1, initializer=start) as pool:
        pool.map(add, range(5))
""",
        store="own.duckdb",
    )  # fmt: skip
    assert columns(tmp_path / "own.duckdb", "SELECT count(*), count(arguments) FROM tool_calls") == [(5, 5)]


REDACTIONS = {"function": "lambda field, value: value", "pattern": "tt.Redaction(patterns=['hunter[0-9]'])"}


@pytest.mark.parametrize(("method", "redact"), covering(["spawn", "forkserver"], [*REDACTIONS]))
def test_a_child_without_the_redaction_of_its_parent_records_no_content_and_warns_once(
    tmp_path: Path, method: str, redact: str
) -> None:
    _, done = program(
        tmp_path,
        TOOLS + POOLS + f"""
if __name__ == "__main__":
    tt.configure(store="mine.duckdb", redact={REDACTIONS[redact]})
    assert "hunter" not in str(dict(os.environ))
    with multiprocessing.get_context({method!r}).Pool(1) as pool:
        pool.map(add, range(5))
""",
        store="mine.duckdb",
    )  # fmt: skip
    sql = "SELECT count(*), count(arguments), count(result), count(text) FROM tool_calls"
    assert columns(tmp_path / "mine.duckdb", sql) == [(5, 0, 0, 0)]
    assert done.stderr.count("records neither arguments nor results") == 1


def test_no_credential_of_an_address_is_left_in_the_environment(tmp_path: Path) -> None:
    program(
        tmp_path,
        """
tt.configure(store="clickhouse://ann:hunter22@127.0.0.1:1/d")
assert "hunter22" not in str(dict(os.environ)), os.environ
""",
    )  # fmt: skip


def test_a_program_that_another_one_starts_uses_its_own_settings(tmp_path: Path) -> None:
    """Also in the children that it spawns: only children of the process that configured take over its settings."""
    (tmp_path / "other.py").write_text(
        "import multiprocessing, tooltrace as tt\n"
        "@tt.trace_tool\n"
        "def other(n): return n\n"
        "if __name__ == '__main__':\n"
        "    other(0)\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool: pool.map(other, range(3))\n"
    )
    program(
        tmp_path,
        """
import subprocess
tt.configure(store="mine.duckdb")
subprocess.run([sys.executable, "other.py"], check=True, env={**os.environ, "TOOLTRACE_STORE": "other.duckdb"})
""",
        store="mine.duckdb",
    )  # fmt: skip
    assert columns(tmp_path / "other.duckdb", "SELECT count(*) FROM tool_calls") == [(4,)]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the driver of Ray by /proc")
@pytest.mark.parametrize(("driver", "stores"), [("tt.configure(store='mine.duckdb')", "mine"), ("", "t")])
def test_a_worker_of_ray_records_into_the_store_of_its_driver(tmp_path: Path, driver: str, stores: str) -> None:
    """Simulated: Ray's raylet starts workers, which do not import the main module and are killed at the end.

    A program that the worker starts takes over nothing.
    """
    worker = """
import os, signal, subprocess, sys, tooltrace as tt
from tooltrace.recording.inheritance import inherited
@tt.trace_tool
def add(n=0): return n
for n in range(40): add(n)
child = "from tooltrace.recording.inheritance import inherited, parent_pid; assert (inherited(), parent_pid()) == (None, None)"
subprocess.run([sys.executable, "-c", child], check=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    raylet = f"""
import os, subprocess, sys
worker = subprocess.run([sys.executable, "-c", {worker!r}], env={{**os.environ, "RAY_RAYLET_PID": str(os.getpid())}})
assert worker.returncode == -9, worker.returncode
"""
    found, _ = program(
        tmp_path,
        f"{driver}\nimport subprocess\nsubprocess.run([sys.executable, '-c', {raylet!r}], check=True)",
        store=f"{stores}.duckdb",
    )
    assert found == {"add": 40}
