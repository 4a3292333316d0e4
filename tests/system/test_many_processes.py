"""Processes of four threads write while two others read: no lock error, every acknowledged call is there
exactly once, and the readers come to see all that was acknowledged while the writers go on. How soon they do is
measured by ``python -m benchmarks.promises``."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import pytest

import tooltrace as tt
from benchmarks import crowd

pytestmark = [pytest.mark.processes, pytest.mark.long]

READERS = 2


@pytest.mark.parametrize(("processes", "least_rounds"), [(3, 3), pytest.param(8, 6, marks=pytest.mark.simulations)])
def test_writers_never_wait_and_readers_never_fail(tmp_path: Path, processes: int, least_rounds: int) -> None:
    spawn = multiprocessing.get_context("spawn")
    store = str(tmp_path / "crowd.duckdb")
    acknowledged = spawn.Array("l", processes * crowd.THREADS, lock=False)
    rounds = spawn.Array("l", READERS, lock=False)
    written, seen, report = spawn.Event(), spawn.Event(), spawn.Queue()
    writers = [spawn.Process(target=crowd.write, args=(store, n, acknowledged, written)) for n in range(processes)]
    readers = [
        spawn.Process(target=crowd.read, args=(store, n, acknowledged, rounds, seen, report)) for n in range(READERS)
    ]
    for writer in writers:
        writer.start()
    while not any(acknowledged):
        time.sleep(0.01)
    for reader in readers:
        reader.start()
    while min(rounds) < least_rounds and all(reader.is_alive() for reader in readers):
        time.sleep(0.01)
    written.set()
    for writer in writers:
        writer.join()
    seen.set()
    errors = [report.get()[1] for _ in readers]
    for reader in readers:
        reader.join()

    assert [writer.exitcode for writer in writers] == [0] * processes
    assert errors == [""] * READERS
    with tt.connect(store) as db:
        rows = db.execute("SELECT CAST(agent AS INTEGER), count(*), count(DISTINCT span_id) FROM tool_calls GROUP BY 1")
        counts = {slot: (count, distinct) for slot, count, distinct in rows.fetchall()}
        losses = db.execute("SELECT count(*) FROM losses").fetchall()
    assert counts == {slot: (number, number) for slot, number in enumerate(acknowledged)}
    assert losses == [(0,)]
