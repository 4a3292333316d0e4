"""A disk that answers EIO: no traced call notices, no call is lost without a count, and no file is taken for damaged. Needs strace."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tests.delivery.shared import made
from tests.needs import missing
from tests.stores import write_records
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
RECORDING = """
import json, os, sys
import tooltrace as tt

tt.configure(store=sys.argv[1], durability=sys.argv[2])
tool = tt.trace_tool(name="t")(lambda n: n)
assert [tool(n) for n in range(60) if n % 9 or tt.flush(20) is not None] == list(range(60))
complete, health = tt.flush(20), tt.health()
os.writev(1, [json.dumps([complete, health.written, health.queued, sum(health.lost.values())]).encode()])
tt.shutdown()
"""


@pytest.fixture(autouse=True)
def strace() -> None:
    if shutil.which("strace") is None:
        missing("strace", "strace is not installed: apt-get install strace")


def run(
    calls: str, when: str, folder: Path, *command: str, of: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run Python with ``command``, in which ``calls`` to files in ``folder`` fail at the occurrences ``when``."""
    places = [part for path in of for part in ("-P", str(folder / path))]
    inject = f"inject={calls}:error=EIO:when={when}"
    return subprocess.run(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", *places, "-e", inject, sys.executable, *command],
        capture_output=True, text=True, check=False, cwd=ROOT, env={**os.environ, "TOOLTRACE_STRICT": ""},
    )  # fmt: skip


def stored(store: Path) -> tuple[int, int]:
    with tt.connect(store) as db:
        found: Any = db.execute("SELECT count(*), count(DISTINCT span_id) FROM tool_calls").fetchone()
    return found[0], found[1]


@pytest.mark.parametrize(
    ("calls", "when", "durability"),
    [
        ("write", "3+3", "batch"),
        ("fsync,fdatasync", "4+3", "fsync"),
        pytest.param("write", "3+3", "call"),
        pytest.param("write", "4+", "batch"),
        pytest.param("fsync,fdatasync", "4+", "fsync"),
    ],
)
def test_an_agent_records_what_the_disk_takes_and_counts_the_rest(
    tmp_path: Path, calls: str, when: str, durability: str
) -> None:
    store = tmp_path / "s.duckdb"
    done = run(calls, when, tmp_path, "-c", RECORDING, str(store), durability)
    assert done.returncode == 0, done.stderr
    complete, written, queued, lost = json.loads(done.stdout)
    assert written + queued + lost == 60
    assert complete is (queued == 0)
    assert not (complete and when.endswith("+")), "no later write succeeds"
    rows, calls_found = stored(store)
    assert rows == calls_found, "no call is stored twice"
    assert written <= rows <= 60
    assert "Traceback" not in done.stderr


FILES = ("", "s.duckdb", "s.duckdb.wal", "s.duckdb.journal")


@pytest.mark.parametrize(
    ("calls", "when"),
    [
        ("fsync,fdatasync", "1+"),
        ("fsync,fdatasync", "4+"),
        pytest.param("pwrite64,write", "1+"),
        pytest.param("unlink,unlinkat", "1+"),
        pytest.param("rename,renameat,renameat2", "1+"),
        pytest.param("pread64,read", "1+"),
    ],
)
def test_a_command_says_that_the_disk_fails_and_leaves_the_store_as_it_is(
    tmp_path: Path, calls: str, when: str
) -> None:
    paths = StorePaths.of(tmp_path / "s.duckdb")
    write_records(paths, *(made(number) for number in range(20)))
    fold(paths)
    write_records(paths, *(made(number) for number in range(20, 40)))
    target = tmp_path / "out.jsonl"
    done = run(
        calls, when, tmp_path, "-m", "tooltrace", "export", "jsonl", str(paths.database), "-o", str(target), of=FILES
    )
    assert "Traceback" not in done.stderr
    assert "damaged" not in done.stderr
    assert done.returncode == 0 or done.stderr.startswith("tooltrace"), done.stderr
    assert not list(tmp_path.glob("*damaged*")), "the disk failed, and the files were not at fault"
    assert stored(paths.database) == (40, 40)
