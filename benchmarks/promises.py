"""Measure the promises about time: ``python -m benchmarks.promises [--quick]``.

Tests wait for a condition and never measure time, because their machine may be busy. The promises about time are measured
here, each as a ratio to its reference in the same run: a ratio of 1 or less keeps the promise.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, perf_counter, process_time, sleep, time

from opentelemetry.sdk.trace import TracerProvider

import tooltrace as tt
from benchmarks import crowd
from tooltrace.normalize import normalize
from tooltrace.redact.redaction import Redaction
from tooltrace.store.files.paths import StorePaths

END_SECONDS = 2.0
"""A process that ends waits this long at most for a receiver; a server for its clients."""
SEEN_SECONDS = 2.0
"""A call that has returned is seen by readers within this time, beside 32 threads that write."""
BATCH_SECONDS = 0.1
"""A call is in the journal within this time where ``durability`` is ``batch``."""
LINEAR = 3.0
"""A text twice as long takes less than this many times as long; it would be 4 where the time grew with the square."""
SPAN_COST = 10.0
"""The end of a span of another instrumentation, at most, × the end of a span that nobody processes."""
TEXTS = (
    "a-",
    "a.",
    "eyJa-",
    "://",
    "secret-",
    'token="',
    " ",
    "sk-",
    "basic ",
    "\n",
    "Error ",
    "x.rb:1:in : : ",
    "npm error x",
)


def main() -> None:
    """Print one row a promise."""
    quick = "--quick" in sys.argv[1:]
    rows = [
        *_process_ends(1 if quick else 3),
        ("`serve` ends while a client hangs", _server_ends(), END_SECONDS, "s"),
        (f"a call is seen while {8 * crowd.THREADS} threads write", _seen(3 if quick else 20), SEEN_SECONDS, "s"),
        ("a call is in the journal", _written(10 if quick else 100), BATCH_SECONDS, "s"),
        ("a text twice as long is redacted, × the time", _growth(_redact, quick=quick), LINEAR, "×"),
        ("a text twice as long is read, × the time", _growth(_read, quick=quick), LINEAR, "×"),
        ("a span of another instrumentation ends, × a bare one", _span_end(1000 if quick else 5000), SPAN_COST, "×"),
        ("the same under three open spans, × a bare one", _span_end(1000 if quick else 5000, 3), SPAN_COST, "×"),
    ]
    print("| promise | measured | promised | measured ÷ promised | |\n|---|---:|---:|---:|---|")
    for what, measured, promised, unit in rows:
        kept = "kept" if measured <= promised else "**broken**"
        print(f"| {what} | {measured:.2f} {unit} | {promised:g} {unit} | {measured / promised:.2f} | {kept} |")


PROGRAM = """
import sys, time
import tooltrace as tt
search = tt.trace_tool(lambda number: number, name="search")
for number in range(2000): search(number)
tt.flush(); sys.stdin.readline(); search(1); print(time.time(), flush=True)
"""


def _process_ends(rounds: int) -> Iterator[tuple[str, float, float, str]]:
    """Seconds that a process takes longer to end than one that delivers nothing, by the kind of receiver."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoints = {"is away": "http://127.0.0.1:9", "hangs": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        bare = statistics.median(_end({}) for _ in range(rounds))
        for kind, endpoint in endpoints.items():
            longest = max(_end({"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}) for _ in range(rounds))
            yield f"a process ends, the receiver {kind}", max(0.0, longest - bare), END_SECONDS, "s"


def _end(variables: dict[str, str]) -> float:
    """Seconds from the last statement of a program to the end of its process."""
    with _store() as store:
        process = _python("-c", PROGRAM, TOOLTRACE_STORE=store, **variables)
        sleep(1.5)  # the delivery has tried, and waits for an answer or knows that there is none
        out, _ = process.communicate("\n")
        return time() - float(out)


def _server_ends() -> float:
    """Seconds from the signal to the end of ``tooltrace serve``, with a request that never comes to its end."""
    with _store() as store:
        process = _python("-m", "tooltrace", "serve", "--otlp", "--port", "0", "--grpc-port", "0", "--store", store)
        assert process.stdout is not None
        port = int(process.stdout.readline().split("http://127.0.0.1:")[1].split()[0].rstrip("/,."))
        with socket.create_connection(("127.0.0.1", port)) as half:
            half.sendall(b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n")
            half.sendall(b"content-length: 100\r\n\r\nabc")
            sleep(0.5)  # the server has read it
            began = monotonic()
            process.send_signal(signal.SIGTERM)
            process.communicate()
            return monotonic() - began


def _seen(rounds_wanted: int) -> float:
    """The longest time, in seconds, until a reader saw all calls that had returned before it began to read."""
    spawn = multiprocessing.get_context("spawn")
    with _store() as store:
        acknowledged, rounds = spawn.Array("l", 8 * crowd.THREADS, lock=False), spawn.Array("l", 1, lock=False)
        stop, report = spawn.Event(), spawn.Queue()
        processes = [spawn.Process(target=crowd.write, args=(store, n, acknowledged, stop)) for n in range(8)]
        for writer in processes:
            writer.start()
        while not all(acknowledged):
            sleep(0.01)
        processes.append(spawn.Process(target=crowd.read, args=(store, 0, acknowledged, rounds, stop, report)))
        processes[-1].start()
        while rounds[0] < rounds_wanted and processes[-1].is_alive():
            sleep(0.01)
        stop.set()
        longest, error = report.get()
        for process in processes:
            process.join()
        assert not error, error
        return float(longest)


def _written(rounds: int) -> float:
    """The longest time, in seconds, from the return of a call until its line is in the journal."""
    with _store() as store:
        tt.configure(store=store, durability="batch")
        call, folder = tt.trace_tool(lambda: None, name="one"), StorePaths.of(Path(store)).journal
        times = []
        for _ in range(rounds):
            before = _bytes(folder)
            call()
            began = perf_counter()
            while _bytes(folder) == before:
                sleep(0.0005)
            times.append(perf_counter() - began)
        tt.shutdown()
        return max(times)


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*.jsonl")) if folder.exists() else 0


def _redact(text: str) -> None:
    Redaction(emails=True).redact_text("password " + text)


def _read(text: str) -> None:
    normalize("Error: " + text)


def _growth(work: Callable[[str], None], *, quick: bool) -> float:
    """How many times the CPU time of a text of half the length the worst text takes."""
    half, rounds = 28_000, 3 if quick else 9
    growth = []
    for piece in TEXTS:
        short, long = piece * (half // len(piece)), piece * (2 * half // len(piece))
        work(short)
        ratios = [_cpu(work, long) / max(_cpu(work, short), 1e-4) for _ in range(rounds)]
        growth.append(statistics.median(ratios))
    return max(growth)


def _cpu(work: Callable[[str], None], text: str) -> float:
    began = process_time()
    work(text)
    return process_time() - began


def _span_end(rounds: int, around: int = 0) -> float:
    """The end of a span that becomes a record, × the end of a span without a processor; medians of one run.

    ``around``: number of open spans around the span, which state an agent and a conversation.
    """
    outer = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a", "gen_ai.conversation.id": "c"}
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add"}
    with _store() as store:
        traced = TracerProvider()
        traced.add_span_processor(tt.TooltraceSpanProcessor())
        tt.configure(store=store, tracer_provider=traced, durability="batch")
        tracers = {"bare": TracerProvider().get_tracer("bare"), "traced": traced.get_tracer("traced")}
        times: dict[str, list[float]] = {"bare": [], "traced": []}
        with ExitStack() as open_spans:
            for _ in range(around):
                open_spans.enter_context(tracers["traced"].start_as_current_span("agent", attributes=outer))
            for _ in range(rounds):
                for name, tracer in tracers.items():
                    span = tracer.start_span("execute_tool add", attributes=attributes)
                    began = perf_counter()
                    span.end()
                    times[name].append(perf_counter() - began)
        tt.shutdown()
        return statistics.median(times["traced"]) / statistics.median(times["bare"])


@contextmanager
def _store() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield str(Path(folder) / "promises.duckdb")


def _python(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


if __name__ == "__main__":
    main()
