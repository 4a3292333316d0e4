"""Files of queries that exceed their memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tooltrace.store.connection import connect

EXCEED = """
from tooltrace.store.connection import connect
con = connect()
con.execute("SET memory_limit = '40MB'")
con.execute("SET threads = 1")
con.execute("CREATE TABLE large AS SELECT hash(i) AS a, repeat('x', 40) || i AS b FROM range(1_000_000) AS numbers(i)")
print("written", flush=True)
"""


def started(folder: Path, then: str) -> subprocess.Popen[str]:
    """Return a process whose query has written temporary files, which continues with ``then``."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    command = [sys.executable, "-c", EXCEED + then]
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    return process


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*.tmp"))


def test_files_of_a_killed_process_are_removed_by_the_next_one_and_those_of_others_stay(tmp_path: Path) -> None:
    running, killed = (started(tmp_path, "input()") for _ in range(2))
    with running, killed:
        killed.kill()
        killed.wait()
        left = files(tmp_path)
        started(tmp_path, "").communicate()
        kept = files(tmp_path)
        assert any(f"_{killed.pid}_" in name for name in left)
        assert kept == [name for name in left if f"_{running.pid}_" in name] != []
        running.communicate("\n")
    assert files(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs the permissions of POSIX")
def test_nobody_else_may_read_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    connect().close()
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs the permissions of POSIX")
def test_a_link_under_the_name_of_the_directory_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / f"tooltrace-{os.getuid()}").symlink_to(elsewhere)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    con = connect()
    (used,) = con.execute("SELECT current_setting('temp_directory')").fetchone() or ("",)
    con.close()
    assert Path(used).parent == tmp_path
    assert Path(used).name not in ("elsewhere", f"tooltrace-{os.getuid()}")
