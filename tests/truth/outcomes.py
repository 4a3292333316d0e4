"""Coverage, false alarms and power of the query ``blame``, on conversations whose odds ratio is known.

``python -m tests.truth.outcomes`` prints what ``docs/explanation/statistics.md`` has a part of.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

import duckdb
import numpy as np

from tooltrace.analysis.catalog import find
from tooltrace.store.database import hashes
from tooltrace.store.database.migrations import create
from tooltrace.store.result import read

AGENTS = ((0.3, 0.2), (0.5, 0.4))
"""Two agents: the share of conversations with a failed call, and the share that fails among the others."""

HISTORY = """
INSERT INTO attempts BY NAME
SELECT printf('t%05d', history) AS tool, printf('c%d', row_no) AS call_id, 1 AS attempt, printf('%032x', row_no) AS trace_id,
    printf('%016x', row_no) AS span_id, printf('s%d', row_no) AS conversation_id, printf('agent %d', agent) AS agent,
    TIMESTAMP '2026-03-01' AS started_at, CASE WHEN shown THEN 'error' ELSE 'success' END AS status, 'returned' AS ending
FROM rows;

INSERT INTO outcomes BY NAME
SELECT printf('s%d', row_no) AS conversation_id, 'conversation' AS target_kind, NOT lost AS correct, 'ann' AS labeler,
    TIMESTAMP '2026-03-02' AS labeled_at
FROM rows
"""


@dataclass(frozen=True, slots=True)
class Line:
    """The measured shares for one number of conversations and one odds ratio."""

    conversations: int
    ratio: float
    answers: int
    coverage: float
    excluded: float
    """Share of intervals that do not contain 1: false alarms where the ratio is 1, else power."""
    too_few: float
    needed: float
    """Median of ``needed`` for this ratio; 0 where the ratio is 1."""


def measure(conversations: int, ratio: float, histories: int) -> Line:
    """Simulate histories of ``conversations`` each, whose odds ratio is ``ratio``, and ask the query once."""
    random = np.random.default_rng(crc32(f"{conversations} {ratio}".encode()))
    size = conversations * histories
    agent = random.integers(0, len(AGENTS), size)
    with_sign, failing = np.array(AGENTS).T
    shown = random.random(size) < with_sign[agent]
    odds = failing[agent] / (1 - failing[agent]) * np.where(shown, ratio, 1.0)
    rows = {
        "history": np.repeat(np.arange(histories), conversations), "row_no": np.arange(size), "agent": agent, "shown": shown,
        "lost": random.random(size) < odds / (1 + odds),
    }  # fmt: skip
    con = duckdb.connect(":memory:", config={"threads": 1})
    con.execute("SET TimeZone='UTC'")
    con.execute("ATTACH ':memory:' AS store")
    create(con)
    con.execute("USE store")
    con.register("rows", rows)
    con.execute(HISTORY)
    hashes.refresh(con)
    given = {"ratio": ratio} if ratio != 1 else {}
    answer = read(con, find("blame").statement(**given))
    found = [
        (row["low"], row["high"], row["needed"], row["verdict"] == "too_few")
        for row in answer.dicts()
        if row["sign"] == "failed"
    ]
    con.close()
    known = [(low, high, needed) for low, high, needed, few in found if not few]
    return Line(
        conversations,
        ratio,
        len(known),
        sum(low <= ratio <= high for low, high, _ in known) / max(1, len(known)),
        sum(not low <= 1 <= high for low, high, _ in known) / max(1, len(known)),
        1 - len(known) / histories,
        float(np.median([needed for *_, needed in known])) if known and ratio != 1 else 0.0,
    )


def lines(histories: int) -> Iterator[Line]:
    """Yield the lines of the table; the last ones have as many conversations as ``needed`` states for their ratio."""
    for conversations in (20, 50, 100, 300):
        for ratio in (1.0, 2.0, 4.0):
            yield measure(conversations, ratio, histories)
    for conversations, ratio in ((330, 2.0), (86, 4.0)):
        yield measure(conversations, ratio, histories)


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description="Measure the query blame on conversations whose odds ratio is known.")
    parser.add_argument("--histories", type=int, default=500)
    print_line = sys.stdout.write
    print_line("| conversations | odds ratio | coverage | interval without 1 | too few | needed (median) |\n")
    print_line("|---|---|---|---|---|---|\n")
    for line in lines(parser.parse_args().histories):
        needed = f"{line.needed:.0f}" if line.needed else ""
        print_line(
            f"| {line.conversations} | {line.ratio:g} | {100 * line.coverage:.1f} % | {100 * line.excluded:.1f} % "
            f"| {100 * line.too_few:.0f} % | {needed} |\n"
        )


if __name__ == "__main__":
    main()
