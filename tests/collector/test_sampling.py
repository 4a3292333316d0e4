"""Tail sampling as the docs have it: every trace in which anything went otherwise is kept, and few of the others."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import tooltrace as tt
from tests.collector.conftest import MakeCollector
from tests.collector.harness import CONFIGS
from tests.collector.test_demo import tooltrace
from tests.waiting import until
from tooltrace.otel import attributes as names

CALLS = 400
PROGRAM = f"""
import asyncio, contextlib
import tooltrace as tt

@tt.trace_tool
def answer(kind, number):
    if kind == "raised":
        raise TimeoutError("late")
    if kind == "error":
        return tt.ToolResponse.error(tt.ToolErrorCode.NOT_FOUND, "gone")
    return tt.ToolResponse.partial("half") if kind == "partial" else number

@tt.trace_tool
def stream():
    yield 1
    yield 2

@tt.trace_tool
async def waiting():
    await asyncio.sleep(60)

async def cancelled():
    task = asyncio.create_task(waiting())
    await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task

for number in range({CALLS}):
    answer("whole", number)
for number in range(20):
    for kind in ("raised", "error", "partial"):
        with contextlib.suppress(TimeoutError):
            answer(kind, number)
    next(stream())
    asyncio.run(cancelled())
tt.shutdown()
"""


def test_unusual_calls_and_a_tenth_of_the_rest_are_sampled(collector: MakeCollector, tmp_path: Path) -> None:
    overlay = str(CONFIGS / "sampling.yaml")
    soon = ("yaml:processors::tail_sampling::decision_wait: 1s", "yaml:processors::tail_sampling::num_traces: 50000")
    receiving = collector("to-file.yaml", overlay, *soon)
    store = tmp_path / "s.duckdb"
    env = {**receiving.environment("http/protobuf"), "TOOLTRACE_STORE": str(store)}
    subprocess.run([sys.executable, "-c", PROGRAM], env=env, stdin=subprocess.DEVNULL, check=True)
    tooltrace("export", "otlp", "--pending", "--store", str(store), env=env)
    otherwise = "status <> 'success' OR ending IN ('cancelled', 'abandoned') OR status IS NULL"
    with tt.connect(store) as db:
        expected = {span for (span,) in db.sql(f"SELECT span_id FROM tool_calls WHERE {otherwise}").fetchall()}
        endings = Counter(dict(db.sql("SELECT ending, count(*) FROM tool_calls GROUP BY 1").fetchall()))
    assert len(expected) == 100
    assert endings == {"returned": CALLS + 40, "raised": 20, "cancelled": 20, "abandoned": 20}
    until(lambda: expected <= {span["spanId"] for span in receiving.spans()})
    receiving.stop()
    kept = receiving.spans()
    whole = [span for span in kept if span["attributes"].get(names.FIELDS["status"]) == "success"]
    assert {span["spanId"] for span in kept} - {span["spanId"] for span in whole} == expected
    assert 10 < len(whole) < 90, "a tenth of 400"
