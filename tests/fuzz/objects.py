"""Snapshots of random and hostile live objects: valid JSON, no exception, and no cost beyond the budget."""

from __future__ import annotations

import resource
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


def run(end: float) -> str:
    """Take snapshots until ``end``, and return what was done; Hypothesis prints the smallest value that fails."""
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
    return f"{taken:,} snapshots, the slowest took {1000 * slowest:.0f} ms, the process grew by {grown} MiB"
