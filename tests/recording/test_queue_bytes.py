"""The queue is bounded by bytes too: huge results are cut before they wait, and what has no room is counted."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tests.conftest import records
from tests.recording.stalled_redaction import StalledRedaction
from tooltrace.core.records import Loss, ToolCall
from tooltrace.errors import ConfigError
from tooltrace.recording.attempt import estimate_size
from tooltrace.recording.config import get_recorder

Calls = Callable[[], list[ToolCall]]
ROOT = Path(tt.__file__).parent.parent


@pytest.fixture
def stalled(store: Path) -> Any:
    """Configure a recorder whose thread waits in a redaction until the returned event is set."""
    redact = StalledRedaction()

    def configure(**options: Any) -> threading.Event:
        tt.configure(store=store, redact=redact, **options)
        tt.trace_tool(name="first")(lambda: "x")()
        assert redact.began.wait(), "the thread has the first call in hand"
        return redact.release

    yield configure
    redact.release.set()


def test_calls_beyond_the_bytes_are_dropped_and_counted(stalled: Any, store: Path) -> None:
    release = stalled(queue_bytes=200_000, overflow="drop")
    tool = tt.trace_tool(name="tool")(lambda: "y" * 20_000)
    for _ in range(50):
        tool()
    release.set()
    assert not tt.flush()
    made = records(store)
    stored = sum(isinstance(record, ToolCall) and record.tool == "tool" for record in made)
    lost = sum(record.count for record in made if isinstance(record, Loss) and record.reason == "queue_full")
    assert 5 <= stored <= 10
    assert stored + lost == 50


def test_a_caller_does_not_wait_for_a_queue_that_was_emptied_meanwhile(
    calls: Calls, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread may empty the queue between a caller's look at it and its request for a reply: nobody would answer."""
    tt.configure(store=store, overflow="block", block_seconds=3600.0)
    worker = get_recorder().worker
    looks: list[bool] = []

    def look(_size: int) -> bool:
        looks.append(not looks)
        if looks[-1]:
            assert tt.flush(None), "the thread has answered every caller that waits"
        return looks[-1]

    monkeypatch.setattr(worker, "_is_full", look)
    assert worker._has_room(1)
    tt.trace_tool(name="tool")(lambda: "x")()
    assert [call.tool for call in calls()] == ["tool"]


def test_a_caller_waits_for_bytes_to_leave_the_queue(stalled: Any, store: Path) -> None:
    release = stalled(queue_bytes=100_000, overflow="block", block_seconds=60.0)
    tool = tt.trace_tool(name="tool")(lambda: "y" * 30_000)
    done = threading.Event()

    def work() -> None:
        for _ in range(20):
            tool()
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert not done.wait(0.2), "the queue has no room for all of them"
    release.set()
    thread.join()
    assert tt.flush()
    assert sum(isinstance(record, ToolCall) for record in records(store)) == 21


def test_one_call_beyond_the_bound_is_recorded(store: Path, calls: Calls) -> None:
    tt.configure(store=store, queue_bytes=1, field_limit=50_000)
    tt.trace_tool(lambda q: "z" * 10_000_000)({"q": list(range(1_000_000))})
    (call,) = calls()
    assert call.truncated
    assert len(call.text or "") == 50_000


@pytest.mark.parametrize(
    "make",
    [
        lambda: "x" * 10_000_000,
        lambda: {"text": "x" * 10_000_000},
        lambda: list(range(1_500_000)),
        lambda: b"x" * 10_000_000,
        lambda: tt.ToolResponse.success("x" * 10_000_000, {"rows": ["y" * 1000] * 10_000}),
    ],
    ids=["text", "text in an object", "list", "bytes", "response"],
)
def test_a_huge_result_waits_as_a_small_one(stalled: Any, make: Callable[[], Any]) -> None:
    stalled()
    tt.trace_tool(make)()
    (attempt,) = get_recorder().worker._queue  # noqa: SLF001
    assert estimate_size(attempt) < 500_000


def test_the_estimate_covers_other_records(store: Path) -> None:
    tt.configure(store=store)
    call = tt.ToolCall(
        tool="t",
        call_id="c",
        trace_id="0",
        span_id="0",
        started_at=__import__("datetime").datetime.now(),
        text="x" * 9000,
    )
    assert estimate_size(call) > 9000


@pytest.mark.parametrize("value", [0, -1, 1.5, "64"])
def test_the_bound_must_be_a_positive_whole_number(value: Any) -> None:
    with pytest.raises(ConfigError, match="queue_bytes must be a whole number of at least 1"):
        tt.configure(queue_bytes=value)


@pytest.mark.processes
def test_the_memory_of_many_huge_results_is_bounded(tmp_path: Path) -> None:
    program = """
    import resource, time, tooltrace as tt

    def slow(field, value):
        time.sleep(0.005)
        return value

    tt.configure(store="t.duckdb", redact=slow)
    tool = tt.trace_tool(lambda n: {"text": chr(97 + n % 26) * 10_000_000})
    tool(0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for n in range(40):
        tool(n)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
    assert tt.flush(None)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=tmp_path, capture_output=True, text=True,
        check=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert int(done.stdout) < 100, "MiB; 400 MB were returned"
    assert sum(isinstance(record, ToolCall) for record in records(tmp_path / "t.duckdb")) == 41
