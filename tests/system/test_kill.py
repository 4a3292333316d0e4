"""A hundred kills in each durability mode: nothing acknowledged is lost (``call``, ``fsync``), at most the last
100 ms are (``batch``), and nothing is invented or doubled. In every third run a folding process is killed too."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt

pytestmark = pytest.mark.alone

RUNS = 100
PROGRAM = Path(__file__).with_name("kill_runs.py")


def stalled(run: dict[str, Any]) -> float:
    """How long the machine let the whole process stand still, at most: the promise is of a process that runs."""
    times = [at for _, at in run["acknowledged"]] + [run["killed"]]
    return max((later - sooner for sooner, later in pairwise(times)), default=0.0)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("durability", ["batch", "call", "fsync"])
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path, durability: str) -> None:
    store = tmp_path / "killed.duckdb"
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(store), durability, str(RUNS), "11"],
        capture_output=True,
        text=True,
        check=True,
    )
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(runs) == RUNS

    with tt.connect(store) as db:
        rows = [call_id for (call_id,) in db.execute("SELECT call_id FROM tool_calls").fetchall()]
        damaged = db.execute("SELECT coalesce(sum(count), 0) FROM losses WHERE reason = 'damaged_line'").fetchall()
    begun = {call_id for run in runs for call_id in run["begun"]}
    promised = {
        call_id
        for run in runs
        for call_id, at in run["acknowledged"]
        if durability != "batch" or at < run["killed"] - 0.1 - stalled(run)
    }
    assert len(rows) == len(set(rows)), "a call was doubled"
    assert set(rows) <= begun, "a call was invented"
    assert not promised - set(rows), "an acknowledged call was lost"
    assert len(promised) > RUNS, "the runs were too short to show anything"
    assert damaged == [(0,)]
