"""Eight processes of four threads write while two others read, for twenty seconds: no lock error, every
acknowledged call there exactly once, and visible within two seconds."""

from __future__ import annotations

import multiprocessing
import sys
import time
from pathlib import Path

import pytest

import tooltrace as tt

sys.path.insert(0, str(Path(__file__).parent))  # spawned children import it by name
import crowd  # noqa: E402

WRITERS, READERS, SECONDS = 8, 2, 20.0


@pytest.mark.alone
@pytest.mark.timeout(150)
def test_writers_never_wait_and_readers_never_fail(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    store = str(tmp_path / "crowd.duckdb")
    acknowledged = spawn.Array("l", WRITERS * crowd.THREADS, lock=False)
    stop, report = spawn.Event(), spawn.Queue()
    until = time.monotonic() + SECONDS
    writers = [spawn.Process(target=crowd.write, args=(store, n, acknowledged, until)) for n in range(WRITERS)]
    for writer in writers:
        writer.start()
    while not any(acknowledged):
        time.sleep(0.01)
    readers = [spawn.Process(target=crowd.read, args=(store, acknowledged, stop, report)) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    for writer in writers:
        writer.join()
    stop.set()
    seen = [report.get(timeout=30) for _ in readers]
    for reader in readers:
        reader.join()

    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    for reads, lag, error in seen:
        assert error == ""
        assert reads >= 10
        assert lag < 2.0
    with tt.connect(store) as db:
        rows = db.execute("SELECT CAST(agent AS INTEGER), count(*), count(DISTINCT span_id) FROM tool_calls GROUP BY 1")
        counts = {slot: (count, distinct) for slot, count, distinct in rows.fetchall()}
        losses = db.execute("SELECT count(*) FROM losses").fetchall()
    assert counts == {slot: (number, number) for slot, number in enumerate(acknowledged)}
    assert losses == [(0,)]
