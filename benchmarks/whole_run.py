"""CPU time of the queries about whole conversations: ``python -m benchmarks.whole_run 1000000 10000000``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

import tooltrace as tt
from benchmarks.apart import apart
from benchmarks.history import make_history_apart

ABSENT: Final = "nowherefound"
QUESTIONS: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    ("`loops`", "loops", {}),
    ("`footprint`", "footprint", {}),
    ("`paths`", "paths", {}),
    ("`paths` by agent", "paths", {"by": ["agent"]}),
    ("`blame`", "blame", {}),
    ("`conversations`", "conversations", {}),
    ("`conversations` with a text", "conversations", {"text": "question 17"}),
    ("`conversation_calls`", "conversation_calls", {"conversation": "conversation_101"}),
    ("`version_pairs`", "version_pairs", {"before_version": "1.1", "version": "1.2"}),
    ("`find`, no match", "find", {"text": ABSENT}),
    ("`find`, no match, complete words", "find", {"text": ABSENT, "words": "yes"}),
    ("`find`, many matches", "find", {"text": "results"}),
    ("`find`, no match, the last day", "find", {"text": ABSENT, "since": "1d"}),
)
"""Name in the table, query and parameters."""


def marks(store: Path) -> dict[str, Any]:
    """Return the parameters by which the list of conversations asks for its marks of loops, where it is sorted by calls."""
    rows = tt.query("conversations", store=store, sort="-calls", limit=50).rows
    return {"conversations": "\n".join(row[0] for row in rows), "since": min(row[2] for row in rows).isoformat()}


def measure(_folder: Path, store: Path, runs: int) -> list[tuple[str, float, float]]:
    """Return for each question its name, and the least CPU and clock seconds to open the store and fetch all rows."""
    asked = [*QUESTIONS, ("`loops`, marks of 50 listed conversations", "loops", marks(store))]
    return [(name, *_least(store, query, params, runs)) for name, query, params in asked]


def _least(store: Path, query: str, params: dict[str, Any], runs: int) -> tuple[float, float]:
    timed = []
    for _ in range(runs):
        cpu, clock = process_time(), perf_counter()
        tt.query(query, store=store, **params)
        timed.append((process_time() - cpu, perf_counter() - clock))
    return min(cpu for cpu, _ in timed), min(clock for _, clock in timed)


def lines(measured: dict[str, list[tuple[str, float, float]]]) -> Iterator[str]:
    """Yield the lines of the Markdown table; ``measured``: by the size of the history."""
    yield f"| query | {' | '.join(f'{size}: CPU | clock' for size in measured)} |"
    yield f"|---|{'---:|---:|' * len(measured)}"
    for row in zip(*measured.values(), strict=True):
        yield f"| {row[0][0]} | {' | '.join(f'{cpu:.2f} s | {clock:.2f} s' for _, cpu, clock in row)} |"


def main() -> None:
    """Make the histories, or take those that exist, and print the table."""
    parser = argparse.ArgumentParser(description="Measure the queries about whole conversations.")
    parser.add_argument("histories", nargs="+", help="number of attempts, or the path of a store")
    parser.add_argument("--runs", type=int, default=3, help="runs of each query; the least is printed")
    options = parser.parse_args()
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        for given in options.histories:
            store = Path(folder) / f"{given}.duckdb" if given.isdecimal() else Path(given)
            if given.isdecimal():
                make_history_apart(store, int(given))
            measured[f"{int(given):,}" if given.isdecimal() else store.stem] = apart(measure, store, options.runs)
    sys.stdout.write("\n".join(lines(measured)) + "\n")


if __name__ == "__main__":
    main()
