"""Measure, and print the table that README carries."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
from opentelemetry.sdk.version import __version__ as sdk_version
from rich.console import Console

import tooltrace as tt
from benchmarks import calls, store


def main() -> None:
    """Run every measurement, one after the other, in this process."""
    parser = argparse.ArgumentParser(description="What tracing costs.")
    parser.add_argument("--quick", action="store_true", help="a rough table in half a minute")
    quick = parser.parse_args().quick
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory() as name, console.status("importing") as status:
        folder = Path(name)
        imports = store.import_ratio(folder, 3 if quick else 9)
        status.update("calls")
        cost = calls.measure(folder, 20 if quick else 150, 10_000 if quick else 50_000)
        status.update("calls to rows")
        through = store.calls_to_rows(folder, 30_000 if quick else 300_000)
        status.update("memory")
        memory = store.memory(folder, 50_000 if quick else 1_000_000)
        status.update("a store of a million rows")
        rows = 50_000 if quick else 1_000_000
        folded = store.filled(folder / "history.duckdb", rows)
        answers = store.answers(folder / "history.duckdb", 3 if quick else 7)
        tt.shutdown()
    sys.stdout.write(table(cost, imports, through, memory, rows, folded, answers))


def table(
    cost: dict[str, Any],
    imports: tuple[float, float],
    through: tuple[float, int, int],
    memory: tuple[float, float],
    rows: int,
    folded: float,
    answers: dict[str, float],
) -> str:
    """The figures as Markdown, each beside its aim."""
    cpu_bare, cpu_full, cpu_rows = cost["cpu"]
    aims = {"traced, everything on": 0.35, "durability=call": 0.7}
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, OpenTelemetry SDK {sdk_version}, DuckDB {duckdb.__version__}",
        "",
        "| what | measured | × bare span | aim | |",
        "|---|---:|---:|---:|---|",
    ]
    for name, (microseconds, ratio) in cost["costs"].items():
        lines.append(_row(f"one call: {name}", f"{microseconds:.1f} µs", ratio, aims.get(name)))
    lines += [
        _row("CPU of all threads until the row, everything on", f"{cpu_full:.1f} µs", cpu_full / cpu_bare, 1.0),
        _row("CPU of all threads until the row, journal only", f"{cpu_rows:.1f} µs", cpu_rows / cpu_bare, None),
        _row("held by a call until it is written", f"{cost['held'][1]:.0f} B", cost["held"][1] / cost["held"][0], None),
        _plain("one item of a generator", f"{cost['item']:.2f} µs", "< 1 µs", cost["item"] < 1),
        _plain("calls to rows, one process", f"{through[0]:,.0f} /s", "30,000 /s", through[0] >= 30_000),
        _plain("… rows stored, records lost", f"{through[1]:,}, {through[2]:,}", "none lost", through[2] == 0),
        _plain(
            "peak memory after a tenth, after all",
            f"{memory[0]:.0f}, {memory[1]:.0f} MiB",
            "flat",
            memory[1] < memory[0] * 1.1,
        ),
        _plain(
            "import, × what it stands on",
            f"{imports[1]:.0f} ms, {imports[1] / imports[0]:.2f} ×",
            "1.3 ×",
            imports[1] <= 1.3 * imports[0],
        ),
        _plain(f"folding, at {rows:,} rows", f"{folded:,.0f} rows/s", "", None),
    ]
    lines += [
        _plain(f"open and answer `{name}`, {rows:,} rows", f"{ms:.0f} ms", "", None) for name, ms in answers.items()
    ]
    return "\n".join(lines) + "\n"


def _row(what: str, measured: str, ratio: float, aim: float | None) -> str:
    verdict = "" if aim is None else "met" if ratio <= aim else "**not yet**"
    return f"| {what} | {measured} | {ratio:.2f} | {'' if aim is None else f'{aim:g}'} | {verdict} |"


def _plain(what: str, measured: str, aim: str, met: bool | None) -> str:
    verdict = "" if met is None else "met" if met else "**not yet**"
    return f"| {what} | {measured} | | {aim} | {verdict} |"


if __name__ == "__main__":
    main()
