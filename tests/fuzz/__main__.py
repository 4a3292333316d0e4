"""Take snapshots of random and hostile live objects for a chosen time: ``python -m tests.fuzz --minutes 5``.

Each must return valid JSON without an exception, and cost no more CPU and memory than its budget. Hypothesis prints the
smallest value that does not; it belongs into ``tests/redact/hostile_values.py`` then.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

import orjson
from hypothesis import HealthCheck, given, settings

from tests.redact.graphs import Plan, plans
from tooltrace.normalize.exceptions.reader import summarize
from tooltrace.redact.snapshot import BUDGET, snapshot, split_cut

MOST_SECONDS = 1.0
"""CPU time of one snapshot: some hundred times what the budget takes, because machines differ."""
MOST_BYTES = 6 * BUDGET
"""Size of one snapshot: JSON writes a character in at most six bytes."""
MOST_MEBIBYTES = 2048
"""Memory by which the process may grow: that of the largest hostile values themselves."""


def main() -> int:
    """Run until the time is up, print how many snapshots were taken, and return the exit code."""
    parser = argparse.ArgumentParser(description="Take snapshots of random and hostile objects.")
    parser.add_argument("--minutes", type=float, default=5, help="time to run (default: 5)")
    end = time.monotonic() + 60 * parser.parse_args().minutes
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    taken, slowest = 0, 0.0

    @settings(max_examples=200, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(plan=plans(most_hostile=3))
    def check(plan: Plan) -> None:
        nonlocal taken, slowest
        value = plan.build()
        started = time.thread_time()
        snap = snapshot(value)
        if issubclass(type(value), BaseException):
            assert len(summarize(value).message) <= BUDGET
        spent = time.thread_time() - started
        taken, slowest = taken + 1, max(slowest, spent)
        assert spent < MOST_SECONDS, f"{spent} s"
        if type(snap) is bytes:
            assert len(snap) <= MOST_BYTES
            orjson.loads(split_cut(snap)[0])

    while time.monotonic() < end:
        check()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    assert grown < MOST_MEBIBYTES, f"{grown} MiB"
    sys.stdout.write(
        f"{taken:,} snapshots, the slowest took {1000 * slowest:.0f} ms, the process grew by {grown} MiB\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
