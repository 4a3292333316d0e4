"""Interleaved measurements of CPU time.

Every figure is a ratio to a reference that is measured directly before it, in the same round; the median over the rounds is
shown. So a busy machine slows both down alike. pyperf is not used: it runs one benchmark after the other, each in processes
of its own, and the ratio of two of its figures has the changes of the machine between them.
"""

from __future__ import annotations

import gc
import math
import statistics
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import process_time_ns, sleep, thread_time_ns
from typing import NamedTuple

SETTLE_SECONDS = 0.002
"""Seconds in which the background threads become idle."""
BURST = 200
"""Calls in a row before the queue is emptied, outside of the measured time: tools are not called back to back without end."""


class Burst(NamedTuple):
    """CPU time of one call, in microseconds."""

    caller: float
    """The calling thread, until the call has returned."""
    others: float
    """The other threads during the call, and all threads after it until everything is flushed."""


def burst(
    call: Callable[[], object], calls: int, flush: Callable[[], object], clock: Callable[[], int] = thread_time_ns
) -> Burst:
    """Call ``calls`` times, and flush. ``clock``: of the calling thread, in nanoseconds."""
    flush()
    sleep(SETTLE_SECONDS)
    process, thread = process_time_ns(), clock()
    for _ in range(calls):
        call()
    caller = clock() - thread
    flush()
    whole = process_time_ns() - process
    return Burst(caller / calls / 1e3, (whole - caller) / calls / 1e3)


@contextmanager
def frozen_heap() -> Iterator[None]:
    """Keep the objects that exist out of garbage collections: how many of those fall into a burst is chance."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class Figure(NamedTuple):
    """Median over rounds."""

    microseconds: float
    ratio: float
    """To the reference of the same round."""

    def __str__(self) -> str:
        return f"{digits(self.microseconds)} ({digits(self.ratio)})"


def figure(pairs: Iterable[tuple[float, float]]) -> Figure:
    """Return the medians of measured values and of their ratios; ``pairs``: of value and reference."""
    pairs = list(pairs)
    return Figure(statistics.median(p[0] for p in pairs), statistics.median(p[0] / p[1] for p in pairs))


def geometric_mean(ratios: Iterable[float]) -> float:
    """Return the geometric mean; a value below a hundredth counts as a hundredth."""
    return math.exp(statistics.fmean(math.log(max(ratio, 0.01)) for ratio in ratios))


def digits(value: float) -> str:
    """Return ``value`` with the digits that are worth reading."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
