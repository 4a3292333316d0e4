"""Recording, questions and commands connect to no host. Needs strace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import missing

pytestmark = pytest.mark.processes

PROGRAM = """
import subprocess, sys
import tooltrace as tt

tool = tt.trace_tool(name="t")(lambda n: n)
for n in range(20):
    tool(n)
assert tt.flush(None)
with tt.connect() as db:
    assert db.execute("SELECT count(*) FROM tool_calls").fetchall() == [(20,)]
tt.query("failure_rate").rows
for command in (["query", "failure_rate"], ["doctor"], ["report", "-o", "r.html"], ["export", "jsonl", "-o", "x.jsonl"]):
    subprocess.run([sys.executable, "-m", "tooltrace", *command], check=True, capture_output=True)
"""


def test_no_process_connects_to_a_host(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        missing("strace", "strace is not installed: apt-get install strace")
    log = tmp_path / "connections"
    known = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    environment = {**known, "TOOLTRACE_STORE": str(tmp_path / "t.duckdb"), "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [
        "strace",
        "-f",
        "-qq",
        "-o",
        str(log),
        "-e",
        "trace=connect,sendto,sendmsg",
        sys.executable,
        "-c",
        PROGRAM,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert [line for line in log.read_text().splitlines() if "AF_INET" in line] == []
