"""Measure the same calls in every library, and print one table: ``python -m benchmarks.peers [--write]``.

One process for each library stays alive, and all are measured in turn, round by round, so that a busy machine slows all down
alike. Each figure is a ratio to the SDK's bare span, measured directly before.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.progress import track

from benchmarks.page import PERFORMANCE_PAGE, QUICK, machine, write_block
from benchmarks.payloads import payloads
from benchmarks.rounds import BURST, digits, geometric_mean

ROOT: Final = Path(__file__).resolve().parents[2]
REFERENCE: Final = "otel_span"
REFERENCE_KIND: Final = "plain dict"

PEERS: Final[dict[str, tuple[str, str]]] = {
    "tooltrace_journal": ("tooltrace, journal", ""),
    "tooltrace_everything": ("tooltrace, everything on", ""),
    "otel_span_with_content": ("OTel span with content", "opentelemetry"),
    "structlog_line": ("structlog", "structlog"),
    "logfire": ("Logfire", "logfire"),
    "openinference": ("OpenInference", "openinference"),
    "langfuse": ("Langfuse", "langfuse"),
    "mlflow": ("MLflow", "mlflow"),
}
"""Name in the table and environment of each peer; "" is tooltrace's own environment."""

BURST_MICROSECONDS: Final = 20_000
"""CPU time of one burst, about: slow libraries and large payloads get fewer calls."""
LEAST: Final = 5
"""Minimum number of calls in a burst."""
SLOW_SECONDS: Final = 1.0
"""A library that takes longer than this for a burst with its flush takes part in every fifth round only."""


class Cost(NamedTuple):
    """Ratios to the bare span of the same round."""

    caller: float
    whole: float


class Process:
    """A running peer."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.versions: str = self._reply()["versions"]
        self._calls: dict[str, int] = {}
        self.is_slow = False

    def measure(self, kind: str) -> tuple[float, float]:
        """Return microseconds for a call of ``kind``: of the calling thread, and of the process until all is flushed."""
        if kind not in self._calls:
            first = sum(self._burst(kind, LEAST))
            self._calls[kind] = int(min(BURST, max(LEAST, BURST_MICROSECONDS / max(first, 1))))
        began = perf_counter()
        caller, others = self._burst(kind, self._calls[kind])
        self.is_slow = perf_counter() - began > SLOW_SECONDS
        return caller, caller + others

    def _burst(self, kind: str, calls: int) -> tuple[float, float]:
        assert self._process.stdin is not None
        print(json.dumps({"kind": kind, "calls": calls}), file=self._process.stdin, flush=True)
        reply = self._reply()
        return reply["caller"], reply["others"]

    def _reply(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a library ended with exit code {self._process.wait()}; see its message above")
        found: dict[str, Any] = json.loads(line)
        return found


@contextmanager
def started(peer: str, environment: str) -> Iterator[Process]:
    """Yield a process with the library ``peer``, and end it afterwards."""
    python = str(ROOT / ".nox" / f"peer-{environment}" / "bin" / "python") if environment else sys.executable
    command = [python, "-m", "benchmarks.peers.process", peer]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        yield Process(process)
        assert process.stdin is not None
        process.stdin.close()


def measured(rounds: int) -> tuple[dict[str, str], dict[str, dict[str, Cost]]]:
    """Return the version of each peer, and the median cost of each kind of call in each."""
    kinds = list(payloads())
    seen: dict[tuple[str, str], list[Cost]] = defaultdict(list)
    with ExitStack() as processes:
        reference = processes.enter_context(started(REFERENCE, "opentelemetry"))
        peers = {peer: processes.enter_context(started(peer, environment)) for peer, (_, environment) in PEERS.items()}
        for number in track(range(rounds), "measuring", console=Console(stderr=True)):
            for kind in kinds:
                for peer, process in peers.items():
                    if number % 5 and process.is_slow:
                        continue
                    bare, _flushed = reference.measure(REFERENCE_KIND)
                    caller, whole = process.measure(kind)
                    seen[peer, kind].append(Cost(caller / bare, whole / bare))
        versions = {REFERENCE: reference.versions, **{peer: process.versions for peer, process in peers.items()}}
    return versions, {peer: {kind: _median(seen[peer, kind]) for kind in kinds} for peer in peers}


def _median(costs: list[Cost]) -> Cost:
    return Cost(statistics.median(c.caller for c in costs), statistics.median(c.whole for c in costs))


def table(rounds: int) -> list[str]:
    """Return the Markdown table."""
    versions, costs = measured(rounds)
    kinds = payloads()
    in_mean = [kind for kind, payload in kinds.items() if payload.in_mean]
    headers = [f"{name} {versions[peer]}" for peer, (name, _) in PEERS.items()]
    lines = [
        machine({"OpenTelemetry SDK": versions[REFERENCE]}),
        "",
        _cells("call", "arguments → result", *headers),
        _cells("---", "---", *["---:"] * len(PEERS)),
    ]
    for kind, payload in kinds.items():
        lines.append(_cells(kind, payload.sizes, *(digits(costs[peer][kind].caller) for peer in PEERS)))
    callers = {peer: {kind: costs[peer][kind].caller for kind in in_mean} for peer in PEERS}
    wholes = {peer: {kind: costs[peer][kind].whole for kind in in_mean} for peer in PEERS}
    for what, figures in (("the calling thread", callers), ("all threads until flushed", wholes)):
        means = (digits(geometric_mean(figures[peer].values())) for peer in PEERS)
        lines.append(_cells(f"**geometric mean up to 6 KB, {what}**", "", *means))
        lines.append(_cells(f"worst up to 6 KB, {what}", "", *(_worst(figures[peer]) for peer in PEERS)))
    return lines


def _worst(figures: dict[str, float]) -> str:
    kind = max(figures, key=figures.__getitem__)
    return f"{digits(figures[kind])} ({kind})"


def _cells(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Measure the same calls in tooltrace and in other libraries.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a rough table in a minute")
    parser.add_argument("--write", action="store_true", help="also write the table into the documentation")
    options = parser.parse_args()
    lines = table(3 if options.quick else 25)
    lines[0] += QUICK if options.quick else ""
    sys.stdout.write("\n".join(lines) + "\n")
    if options.write:
        write_block(PERFORMANCE_PAGE, "peers", lines)


if __name__ == "__main__":
    main()
