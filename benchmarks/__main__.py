"""Measure the cost of tracing, and print the tables of the documentation: ``python -m benchmarks [--write]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import duckdb
from opentelemetry.sdk.version import __version__ as sdk_version
from rich.console import Console
from rich.progress import track

from benchmarks import aims, floors, kinds, redaction
from benchmarks.apart import apart
from benchmarks.page import COSTS_PAGE, PERFORMANCE_PAGE, QUICK, machine, write_block

PAGES: Final[dict[str, Path]] = {
    "kinds": PERFORMANCE_PAGE,
    "aims": COSTS_PAGE,
    "floors": COSTS_PAGE,
    "redaction": PERFORMANCE_PAGE,
    "analyses": PERFORMANCE_PAGE,
}
"""The page of each table."""


def main() -> None:
    """Run the measurements, each in a process of its own."""
    parser = argparse.ArgumentParser(description="Measure the cost of tracing.")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"{', '.join(PAGES)}; default: all but analyses")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: rough tables in two minutes")
    parser.add_argument("--write", action="store_true", help="also write the tables into the documentation")
    options = parser.parse_args()
    if unknown := set(options.tables) - PAGES.keys():
        parser.error(f"unknown table {', '.join(unknown)}; choose from {', '.join(PAGES)}")
    names = options.tables or [name for name in PAGES if name != "analyses"]
    head = machine({"OpenTelemetry SDK": sdk_version, "DuckDB": duckdb.__version__})
    for name in track(names, "measuring", console=Console(stderr=True)):
        lines = _TABLES[name](options.quick)
        extra = ""
        if name == "analyses":
            from benchmarks.phoenix import SQLITE

            extra = f", {SQLITE}"
        lines = [f"{head}{extra}{QUICK if options.quick else ''}", "", *lines]
        sys.stdout.write("\n".join(lines) + "\n\n")
        if options.write:
            write_block(PAGES[name], name, lines)


@cache
def _costs(quick: bool) -> kinds.AllCosts:
    rounds = 5 if quick else 40
    alone = apart(kinds.stages, rounds, everything_on=False)
    full = apart(kinds.stages, rounds, everything_on=True)
    return kinds.AllCosts(alone, full, apart(kinds.folds, 2 if quick else 9))


def _kinds(quick: bool) -> list[str]:
    return kinds.table(_costs(quick))


def _aims(quick: bool) -> list[str]:
    return aims.table(_costs(quick), quick=quick)


def _floors(quick: bool) -> list[str]:
    return floors.table(apart(floors.floors, 30 if quick else 150), apart(floors.until_row, 5 if quick else 15))


def _redaction(quick: bool) -> list[str]:
    """Return the table of the CPU time of redaction alone, by payload."""
    rounds = 3 if quick else 9
    lines = ["| payload | measured | aim | |", "|---|---:|---:|---|"]
    for payload, speed, aim in apart(redaction.speeds, rounds):
        lines.append(f"| {payload} | {speed:.0f} MiB/s | ≥ {aim} MiB/s | {_verdict(speed >= aim)} |")
    worst, unit = apart(redaction.growth, max(3, rounds // 3))
    lines.append(
        f"| CPU for {redaction.GROWTH} times a text of 60 KB, the worst (`{unit}` repeated) | {worst:.1f} × | "
        f"< {redaction.LINEAR} × | {_verdict(worst < redaction.LINEAR)} |"
    )
    return lines


def _analyses(quick: bool) -> list[str]:
    from benchmarks import analyses

    return analyses.table(quick=quick)


def _verdict(met: bool) -> str:
    return "met" if met else "**not yet**"


_TABLES: Final[dict[str, Callable[[bool], list[str]]]] = {
    "kinds": _kinds,
    "aims": _aims,
    "floors": _floors,
    "redaction": _redaction,
    "analyses": _analyses,
}

if __name__ == "__main__":
    main()
