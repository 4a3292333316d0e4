"""Signal handlers and finalizers that call a traced tool while the recorder is at work in the same thread."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import records
from tests.programs import start_program
from tooltrace.core.records import Loss, ToolCall

pytestmark = pytest.mark.processes

HANG_SECONDS = 600
"""A program that takes this long hangs; none takes more than a few seconds on an idle machine."""


def run(tmp_path: Path, text: str) -> tuple[Counter[str], int]:
    """Run a program that records into its own store. Returns its calls by tool, and how many were lost."""
    code = "import signal, sys, tooltrace as tt\n" + textwrap.dedent(text)
    environment = {**os.environ, "TOOLTRACE_STORE": str(tmp_path / "t.duckdb")}
    with start_program(code, modules=("tooltrace",), environment=environment, directory=tmp_path) as process:
        try:
            _, errors = process.communicate(timeout=HANG_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 0, errors
    made = records(tmp_path / "t.duckdb")
    found = Counter(record.tool for record in made if isinstance(record, ToolCall))
    return found, sum(record.count for record in made if isinstance(record, Loss))


CALL_IN_A_HANDLER = """
handled = depth = 0

@tt.trace_tool
def inner(): return 1

@tt.trace_tool
def outer(): return 2

def handle(*_):
    global handled, depth
    if depth == 5: return  # on a busy machine, signals come faster than handlers end
    depth += 1
    handled += 1
    inner()
    depth -= 1

signal.signal(signal.SIGALRM, handle)

def interrupt(seconds=0.0005):
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)

def stop():
    signal.setitimer(signal.ITIMER_REAL, 0)
"""


OFTEN = pytest.mark.parametrize("least", [300, pytest.param(2000, marks=pytest.mark.simulations)])
"""Signals that are handled at least."""


@OFTEN
@pytest.mark.parametrize(
    "configured",
    ["", 'durability="call"', 'queue_size=4, overflow="block", block_seconds=0.01', 'queue_size=4, overflow="drop"'],
)
def test_a_signal_handler_that_calls_a_tool_does_not_deadlock(tmp_path: Path, configured: str, least: int) -> None:
    found, lost = run(
        tmp_path,
        CALL_IN_A_HANDLER
        + f"""
tt.configure({configured})
interrupt()
done = 0
while handled < {least}:
    outer(); done += 1
stop()
tt.flush(None)
open("made", "w").write(f"{{done}} {{handled}}")
""",
    )
    outer, inner = map(int, (tmp_path / "made").read_text().split())
    assert found["outer"] + found["inner"] + lost == outer + inner
    if "queue_size" not in configured:
        assert (found["outer"], found["inner"], lost) == (outer, inner, 0)


@pytest.mark.parametrize("act", ["tt.flush(5)", "tt.shutdown()", "tt.configure()", "tt.query('recent')"])
def test_a_signal_handler_that_calls_a_tool_during(tmp_path: Path, act: str) -> None:
    found, lost = run(
        tmp_path,
        CALL_IN_A_HANDLER
        + f"""
tt.configure()
interrupt(0.001)
done = 0
for _ in range(10):
    before = handled
    outer(); done += 1
    {act}
    while handled == before: pass
stop()
tt.flush(None)
open("made", "w").write(f"{{done}} {{handled}}")
""",
    )
    outer, inner = map(int, (tmp_path / "made").read_text().split())
    assert (found["outer"], found["inner"] + lost) == (outer, inner)
    if act != "tt.shutdown()":  # a call that ends while the recorder closes may come too late, and is counted then
        assert lost == 0


@OFTEN
def test_a_signal_handler_with_the_sdks_batch_processor(tmp_path: Path, least: int) -> None:
    """Its thread is woken through an event, whose lock is not reentrant: not by the tool's thread."""
    found, lost = run(
        tmp_path,
        CALL_IN_A_HANDLER
        + f"least = {least}"
        + """
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

class Counting(SpanExporter):
    seen = 0
    def export(self, spans):
        Counting.seen += len(spans)
        return SpanExportResult.SUCCESS

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(Counting(), max_export_batch_size=1, max_queue_size=100_000))
tt.configure(tracer_provider=provider)
interrupt()
done = 0
while handled < least:
    outer(); done += 1
stop()
assert tt.flush(None)
provider.force_flush()
assert Counting.seen == done + handled, (Counting.seen, done, handled)
open("made", "w").write(f"{done} {handled}")
""",
    )
    outer, inner = map(int, (tmp_path / "made").read_text().split())
    assert (found["outer"], found["inner"], lost) == (outer, inner, 0)


LINES = """
import threading
WATCHED = {"worker.py", "writer.py", "guard.py", "journal.py", "recorder.py", "runtime.py", "surroundings.py"}
seen, busy = set(), False

@tt.trace_tool
def inner(): return 1

class Finalized:
    def __del__(self): inner()

def at_each_line(frame, event, _):
    global busy
    name = frame.f_code.co_filename.rsplit("/", 1)[-1]
    if name not in WATCHED or "tooltrace" not in frame.f_code.co_filename:
        return None
    place = (name, frame.f_code.co_name, frame.f_lineno)
    if event == "line" and not busy and place not in seen:
        seen.add(place)
        busy = True
        try:
            Finalized()
        finally:
            busy = False
    return at_each_line

@tt.trace_tool
def outer(): return 2
"""


@pytest.mark.parametrize("durability", ["batch", "call", "fsync"])
def test_a_finalizer_that_calls_a_tool_at_each_line(tmp_path: Path, durability: str) -> None:
    """Every line of the recorder that the calling thread runs is interrupted once by a traced ``__del__``."""
    found, lost = run(
        tmp_path,
        LINES
        + f"""
from tooltrace.recording import recorder
recorder.FLUSH_SECONDS = 0.05  # the whole wait of a finalizer that interrupts a write: only the interrupted thread could write
tt.configure(durability={durability!r}, queue_size=8, block_seconds=0.01)
sys.settrace(at_each_line)
for _ in range(20): outer()
tt.flush(None)
for _ in range(20): outer()
tt.shutdown(None)
outer()
tt.flush(None)
sys.settrace(None)
open("made", "w").write(str(len(seen)))
""",
    )
    seen = int((tmp_path / "made").read_text())
    assert seen > 60
    assert found["outer"] + found["inner"] + lost == 41 + seen
