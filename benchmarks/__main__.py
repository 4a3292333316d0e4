"""Measure the cost of tracing, and print the first table of ``docs/reference/performance.md``."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import duckdb
from opentelemetry.sdk.version import __version__ as sdk_version
from rich.console import Console
from rich.progress import track

from benchmarks import calls, redaction, store

T = TypeVar("T")


def main() -> None:
    """Run every measurement, each in a process of its own."""
    parser = argparse.ArgumentParser(description="Measure the cost of tracing.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a rough table in a minute")
    parser.add_argument("--redaction", action="store_true", help="measure redaction alone, by payload")
    parser.add_argument("--analyses", action="store_true", help="measure the named queries over a long history instead")
    options = parser.parse_args()
    quick = options.quick
    rounds, calls_made, rows = (20, 20_000, 50_000) if quick else (150, 100_000, 1_000_000)
    machine = (
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, OpenTelemetry SDK {sdk_version}, DuckDB {duckdb.__version__}"
    )
    if options.analyses:
        from benchmarks import analyses, phoenix

        lines = [f"{machine}, {phoenix.SQLITE}", "", *analyses.table(quick=quick)]
        sys.stdout.write("\n".join(lines) + "\n")
        return
    if options.redaction:
        sys.stdout.write("\n".join([machine, "", *_redaction(3 if quick else 9)]) + "\n")
        return
    lines = [
        machine,
        "",
        "| what | measured | × bare span | goal | |",
        "|---|---:|---:|---:|---|",
    ]
    sections = (
        lambda: _calls(rounds),
        lambda: _process(calls_made),
        lambda: _through(30_000 if quick else 300_000, 50_000 if quick else 1_000_000),
        lambda: _import(3 if quick else 9),
        lambda: _redaction(3 if quick else 9),
        lambda: _answers(rows, 3 if quick else 7),
    )
    for section in track(sections, "measuring", console=Console(stderr=True)):
        lines += section()
    sys.stdout.write("\n".join(lines) + "\n")


def apart(function: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """Run ``function(folder, …)`` in a process of its own, with a folder of its own."""
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(function, Path(folder), *arguments, **named).result()


def _calls(rounds: int) -> list[str]:
    full = apart(calls.everything, rounds)
    costs: dict[str, calls.Cost] = full["costs"]
    costs |= apart(calls.configured, rounds, "journal alone, no provider", "batch")
    costs |= apart(calls.configured, rounds, "durability=call", "call")
    costs |= apart(calls.configured, rounds, "durability=fsync", "fsync")
    aims = {"traced, everything on": 0.35, "durability=call": 0.7}
    lines = [_row(f"one call: {name}", f"{us:.1f} µs", ratio, aims.get(name)) for name, (us, ratio) in costs.items()]
    bare, held = full["held"]
    item = apart(calls.items, max(5, rounds // 10))
    context, with_ids = apart(calls.contexts, rounds), apart(calls.contexts, rounds, with_ids=True)
    return [
        *lines,
        _row("memory that a call holds until it is written", f"{held / 1024:.1f} KiB", held / bare, None),
        _plain("one item of a generator", f"{item:.2f} µs", "< 1 µs", met=item < 1),
        _plain(
            "one call with a run context of 200 messages, × one without",
            f"{context:.2f} ×",
            "1.5 ×",
            met=context <= 1.5,
        ),
        _plain("the same, with call id, conversation and agent in the context", f"{with_ids:.2f} ×", "", met=None),
    ]


def _process(calls_made: int) -> list[str]:
    lines = []
    for name, full in (("journal alone", False), ("everything on", True)):
        bare, traced = apart(calls.process_costs, calls_made, everything_on=full)
        lines.append(_row(f"CPU of all threads until the row: {name}", f"{traced:.1f} µs", traced / bare, 1.0))
    return lines


def _through(flat_out: int, many: int) -> list[str]:
    rate, rows, lost = apart(store.calls_to_rows, flat_out)
    sooner, later = apart(store.memory, many)
    first, last = apart(store.large_results, 120, 10_000_000)
    return [
        _plain("calls to rows, one process, without pauses", f"{rate:,.0f} /s", "30,000 /s", met=rate >= 30_000),
        _plain("… rows stored, records lost", f"{rows:,}, {lost:,}", "none lost", met=lost == 0 and rows == flat_out),
        _plain(
            f"peak memory after {many // 10:,} and {many:,} calls",
            f"{sooner:.0f}, {later:.0f} MiB",
            "flat",
            met=later < sooner * 1.1,
        ),
        _plain(
            "peak memory after 1 and 120 results of 10 MB",
            f"{first:.0f}, {last:.0f} MiB",
            "< 128 MiB more",
            met=last - first < 128,
        ),
    ]


def _import(rounds: int) -> list[str]:
    base, own = apart(store.import_ratio, rounds)
    ratio = own / base
    return [_plain("import, × its dependencies", f"{own:.0f} ms, {ratio:.2f} ×", "1.3 ×", met=ratio <= 1.3)]


def _redaction(rounds: int) -> list[str]:
    """Return the rows about the CPU time of redaction alone, by payload."""
    worst, unit = apart(redaction.growth, max(3, rounds // 3))
    return [
        *(
            _plain(f"redaction: {payload}", f"{speed:.0f} MiB/s", f"{aim} MiB/s", met=speed >= aim)
            for payload, speed, aim in apart(redaction.speeds, rounds)
        ),
        _plain(
            f"redaction: CPU for {redaction.GROWTH} times a text, worst (of `{unit}` repeated)",
            f"{worst:.1f} ×",
            f"< {redaction.LINEAR} ×",
            met=worst < redaction.LINEAR,
        ),
    ]


def _answers(rows: int, rounds: int) -> list[str]:
    folded, answers = apart(store.history, rows, rounds)
    wall, cpu, peak = apart(store.backlog, rows)
    return [
        _plain(f"folding {rows:,} rows", f"{folded:,.0f} rows/s", "", met=None),
        _plain(
            f"first question over {rows:,} unfolded calls: time, CPU, peak memory",
            f"{wall:.1f} s, {cpu:.1f} s, {peak:.0f} MiB",
            "6 s, 256 MiB",
            met=wall <= 6 and peak <= 256,
        ),
        *(
            _plain(f"open the store and run `{name}`, {rows:,} rows", f"{ms:.0f} ms", "", met=None)
            for name, ms in answers.items()
        ),
    ]


def _row(what: str, measured: str, ratio: float, aim: float | None) -> str:
    verdict = "" if aim is None else "met" if ratio <= aim else "**not yet**"
    return f"| {what} | {measured} | {ratio:.2f} | {'' if aim is None else f'{aim:g}'} | {verdict} |"


def _plain(what: str, measured: str, aim: str, *, met: bool | None) -> str:
    verdict = "" if met is None else "met" if met else "**not yet**"
    return f"| {what} | {measured} | | {aim} | {verdict} |"


if __name__ == "__main__":
    main()
