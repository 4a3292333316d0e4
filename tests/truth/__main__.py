"""Measure the coverage of every interval and the false alarms of every verdict: ``python -m tests.truth``."""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import track

from tests.truth import report
from tests.truth.cells import SHOWN, cells
from tests.truth.measure import Figure, measure
from tests.truth.measures import MEASURES


def main() -> None:
    """Measure, or read earlier figures; then write the file of all figures, the page, or a table."""
    parser = argparse.ArgumentParser(description="Measure coverage and false alarms on histories whose truth is known.")
    parser.add_argument("--histories", type=int, default=500, help="histories for each cell")
    parser.add_argument("--alone", type=int, default=200, help="histories for queries that answer for one history only")
    parser.add_argument(
        "--cells", default="", help="cells whose family or name contains this text; 'shown': some of each family"
    )
    parser.add_argument("--queries", default="", help="only these queries, separated by commas")
    parser.add_argument("--read", type=Path, help="read the figures from this file instead of measuring")
    parser.add_argument("--csv", type=Path, help="write the figures to this file")
    parser.add_argument("--page", type=Path, help="write the page of the documentation to this file")
    options = parser.parse_args()
    if options.read:
        figures = report.read(options.read)
    else:
        path = options.csv or Path("coverage.csv")
        _measure(options, path)
        figures = report.read(path)
    if options.page:
        options.page.write_text(report.page(figures, options.histories))
    else:
        sys.stdout.write(report.table(figures) + "\n")


def _measure(options: argparse.Namespace, path: Path) -> None:
    """Measure cell by cell; the file has the cells that are complete."""
    every = SHOWN if options.cells == "shown" else cells()
    chosen = [
        cell for cell in every if options.cells in ("shown", "") or options.cells in f"{cell.family}: {cell.name}"
    ]
    names = set(filter(None, options.queries.split(",")))
    measures = [each for each in MEASURES if not names or each.query in names]
    figures: list[Figure] = []
    for cell in track(chosen, "measuring", console=Console(stderr=True)):
        figures += measure(cell, measures, options.histories, options.alone)
        with path.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(report.lines(figures))


if __name__ == "__main__":
    main()
