"""Temporary files: private, in a folder of the store and the process, and gone with the process."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tooltrace as tt
from tests.stores import create_new_stores
from tooltrace.cli import cli
from tooltrace.exporters.atomic_file import AtomicFile
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.scratch import outside_folder, remove_leftovers
from tooltrace.store.fold.fold import fold
from tooltrace.store.read.reader import open_reader
from tooltrace.store.upkeep.backup import backup, compact, restore
from tooltrace.store.upkeep.doctor import examine, mend
from tooltrace.store.upkeep.forget import Selection, forget
from tooltrace.store.upkeep.merge import merge

SPILL = """
import sys
from tooltrace.store.read.reader import open_reader
with open_reader(sys.argv[1]) as con:
    con.execute("SET memory_limit = '40MB'")
    con.execute("SET threads = 1")
    con.execute("CREATE TABLE memory.main.large AS SELECT hash(i) AS a, repeat('x', 40) || i AS b FROM range(1_000_000) AS n(i)")
    print("written", flush=True)
    input()
"""


@pytest.fixture
def filled(store: StorePaths, write: Any, call: Any) -> StorePaths:
    write(*map(call, range(3)))
    fold(store)
    return store


def spilling(store: StorePaths) -> subprocess.Popen[str]:
    """Return a process whose query has written temporary files, and which waits for a line."""
    command = [sys.executable, "-c", SPILL, str(store.database)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    return process


def spilled(store: StorePaths) -> list[Path]:
    return [path for path in store.journal.glob(".scratch-*/*") if path.stat().st_size]


@pytest.mark.processes
def test_what_a_killed_reader_left_is_listed_and_removed(filled: StorePaths) -> None:
    with spilling(filled) as killed:
        assert spilled(filled)
        killed.kill()
    assert spilled(filled)
    assert len(examine(filled).leftovers) == 1
    assert "removed 1 temporary files" in mend(filled).done
    assert not spilled(filled)


@pytest.mark.processes
def test_forgetting_removes_what_a_killed_reader_left(filled: StorePaths) -> None:
    with spilling(filled) as killed:
        killed.kill()
    assert forget(filled, Selection(call_id="c1")).remaining == []
    assert not spilled(filled)


@pytest.mark.processes
def test_a_process_removes_its_files_when_it_ends(filled: StorePaths) -> None:
    with spilling(filled) as reader:
        (folder,) = {path.parent for path in spilled(filled)}
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        remove_leftovers(filled.journal, "")
        assert spilled(filled), "a living process has them"
        reader.communicate("\n")
    assert not folder.exists()


@pytest.mark.processes
def test_what_a_killed_export_left_goes_with_the_next_one_and_with_forgetting(
    filled: StorePaths, tmp_path: Path
) -> None:
    target = tmp_path / "out" / "calls.jsonl"
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom tooltrace.exporters.atomic_file import AtomicFile\n"
        "AtomicFile(Path(sys.argv[1])).write(b'x' * 100_000)\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program, str(target)], check=False)
    assert list(target.parent.glob(".calls.jsonl-*.tmp"))
    running = AtomicFile(tmp_path / "out" / "other.jsonl")
    file = AtomicFile(target)
    file.write(b"complete")
    file.publish()
    assert [path.name for path in target.parent.iterdir() if not path.name.startswith(".other")] == ["calls.jsonl"]
    running.write(b"unharmed")
    running.publish()
    assert stat.S_IMODE(running.path.stat().st_mode) == 0o600


@pytest.mark.processes
def test_a_killed_download_leaves_its_file_where_forgetting_and_the_next_process_find_it(
    filled: StorePaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    program = (
        "import asyncio, os, signal, sys\nfrom pathlib import Path\nfrom tooltrace.store.sandbox import Sandbox\n"
        "from tooltrace.store.files.scratch import outside_folder\n"
        "(outside_folder('result').path / 'rows').write_bytes(b'x')\n"
        "async def killed(self, sql, file, *rest):\n"
        "    Path(file).write_bytes(b'x')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "Sandbox._run = killed\nasyncio.run(Sandbox(sys.argv[1]).write('SELECT 1', 'csv'))"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program, str(filled.database)], env=environment, check=False)
    assert len(list(tmp_path.rglob("result.csv"))) == 1
    assert list(tmp_path.glob(".tooltrace-result-*/rows"))
    with outside_folder("result") as folder:
        assert list(tmp_path.glob(".tooltrace-result-*")) == [folder.path]
    forget(filled, Selection(call_id="c1"))
    assert not list(tmp_path.rglob("result.csv"))


@pytest.fixture
def modes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """The widest permissions that any file below the test's folder had at any moment, for files that others could read."""
    create_new_stores(monkeypatch)  # the tests' copies of an empty store are readable until their permissions are set
    seen: dict[str, int] = {}
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            with suppress(FileNotFoundError):  # files come and go
                look(tmp_path)

    def look(folder: Path) -> None:
        with os.scandir(folder) as entries:
            for entry in list(entries):
                mode = stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode)
                if entry.is_dir() and mode & 0o077:
                    look(Path(entry))
                elif entry.is_file() and mode & 0o077:
                    seen[entry.name] = mode

    before = os.umask(0o022)
    watcher = threading.Thread(target=watch)
    tmp_path.chmod(0o755)
    watcher.start()
    yield seen
    done.set()
    watcher.join()
    os.umask(before)


@pytest.mark.long
@pytest.mark.parametrize("rounds", [1, pytest.param(5, marks=pytest.mark.simulations)])
def test_no_file_is_ever_readable_for_others(
    filled: StorePaths, write: Any, call: Any, tmp_path: Path, modes: dict[str, int], rounds: int
) -> None:
    tt.configure(store=filled.database)
    for number in range(rounds):
        write(call(10 + number, text="x" * 10_000))
        fold(filled)
        compact(filled)
        forget(filled, Selection(call_id=f"c1{number}"))
        backup(filled, tmp_path / "copy.duckdb", force=True)
        restore(tmp_path / "copy.duckdb", filled, force=True)
        merge([filled.database], tmp_path / "merged.duckdb")
        tt.label(call_id="c1", correct=True)
        with open_reader(filled.database) as con:
            con.execute("SELECT count(*) FROM tool_calls").fetchall()
    for command in ("export csv", "export jsonl", "export parquet", "export otlp-json", "report", "sql SELECT(1)"):
        file = tmp_path / f"{command.replace(' ', '-')}.md"
        done = CliRunner().invoke(cli, [*command.split(), "-o", str(file), "--store", str(filled.database)])
        assert done.exit_code == 0, done.output
        assert file.exists()
    assert modes == {}
