"""Kills in each durability mode: nothing acknowledged is lost (``call``, ``fsync``), nothing acknowledged
before a flush is (``batch``), what is lost are the last calls, and nothing is invented or doubled. In every third run a
folding process is killed too. How long ``batch`` takes to write without a flush is measured by
``python -m benchmarks.promises``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tooltrace as tt

pytestmark = [pytest.mark.processes, pytest.mark.long]

PROGRAM = Path(__file__).with_name("kill_runs.py")


@pytest.mark.parametrize(
    ("durability", "runs"),
    [
        pytest.param("call", 3, marks=pytest.mark.end_to_end),
        *[(durability, 21) for durability in ("batch", "call", "fsync")],
        *[pytest.param(durability, 100, marks=pytest.mark.simulations) for durability in ("batch", "call", "fsync")],
    ],
)
def test_acknowledged_records_survive_a_kill(tmp_path: Path, durability: str, runs: int) -> None:
    store = tmp_path / "killed.duckdb"
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(store), durability, str(runs), "11"],
        capture_output=True,
        text=True,
        check=True,
    )
    killed = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(killed) == runs

    with tt.connect(store) as db:
        rows = [call_id for (call_id,) in db.execute("SELECT call_id FROM tool_calls").fetchall()]
        damaged = db.execute("SELECT coalesce(sum(count), 0) FROM losses WHERE reason = 'damaged_line'").fetchall()
    kept = set(rows)
    assert len(rows) == len(kept), "a call was doubled"
    assert kept <= {call_id for run in killed for call_id in run["begun"]}, "a call was invented"
    promised = 0
    for run in killed:
        begun: list[str] = run["begun"]
        survived = [call_id for call_id in begun if call_id in kept]
        assert survived == begun[: len(survived)], "a call was lost before one that was kept"
        sure = run["flushed"] if durability == "batch" else run["acknowledged"]
        promised += (least := begun.index(sure[-1]) + 1 if sure else 0)
        assert len(survived) >= least, "an acknowledged call was lost"
    assert promised > 10 * runs, "the runs were too short to show anything"
    assert damaged == [(0,)]
