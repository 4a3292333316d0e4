"""The budget of an input: CPU time and memory that are linear in its bytes."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SECONDS = 1.0
SECONDS_PER_MIB = 30.0
"""Some ten times what is measured, because machines differ; work that is quadratic in 256 KiB takes more."""
MEBIBYTES = 96
MEBIBYTES_PER_MIB = 400
"""JSON of empty objects takes some hundred bytes of memory for each byte."""


@dataclass
class Spent:
    """CPU time that a block took."""

    seconds: float = 0.0


@contextmanager
def within_budget(size: int) -> Iterator[Spent]:
    """Fail where the block takes more CPU time or memory than ``size`` bytes of input may."""
    spent, before, started = Spent(), _begin(), time.thread_time()
    yield spent
    spent.seconds = time.thread_time() - started
    mib = size / 2**20
    assert spent.seconds < SECONDS + SECONDS_PER_MIB * mib, f"{size:,} bytes took {spent.seconds:.1f} s of CPU time"
    grown = _peak() - before
    assert grown < MEBIBYTES + MEBIBYTES_PER_MIB * mib, f"{size:,} bytes took {grown:.0f} MiB"


def _begin() -> float:
    """Begin to measure the peak of memory anew, and return the memory in use."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> float:
    """Return the peak of memory in MiB; 0 where it cannot be measured anew."""
    if sys.platform != "linux":
        return 0.0
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
