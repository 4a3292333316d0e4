"""Handling of the recorder's own faults: count them, log each kind once, never raise them into a tool.

An exception raised by a signal is not a fault: Ctrl-C, and the exception of a ``SIGTERM`` handler, reach the tool's
caller.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from threading import get_ident, main_thread
from types import CodeType, FunctionType, MethodType, TracebackType
from typing import Any, NamedTuple

_name_of = type.__dict__["__name__"].__get__
_traceback_of = BaseException.__dict__["__traceback__"].__get__


def pass_on_signal(error: BaseException) -> None:
    """Raise ``error`` again if a signal raised it; otherwise return."""
    if raised_by_signal(error):
        raise error


def raised_by_signal(error: BaseException) -> bool:
    """Return whether a signal raised ``error``: only in the main thread, where Python runs signal handlers.

    True for a KeyboardInterrupt, also for one that a recorded object raises by itself, and where the traceback passes
    through a handler that is installed now.
    """
    if get_ident() != main_thread().ident:
        return False
    if issubclass(type(error), KeyboardInterrupt):
        return True
    handlers = {_code_of(signal.getsignal(number)) for number in signal.valid_signals()}
    trace: TracebackType | None = _traceback_of(error)
    while trace is not None:
        if trace.tb_frame.f_code in handlers:
            return True
        trace = trace.tb_next
    return False


def _code_of(handler: Any) -> CodeType | None:
    while type(handler) is partial:
        handler = handler.func
    if type(handler) is MethodType:
        handler = handler.__func__
    return handler.__code__ if type(handler) is FunctionType else None


logger = logging.getLogger("tooltrace")

raise_faults = os.environ.get("TOOLTRACE_STRICT") == "1"
"""Whether faults of the recorder are raised instead of counted: for tests, set by ``TOOLTRACE_STRICT=1``."""


_MAX_COUNTS = 1024
"""Number of separate counts in a LossCounter above which they are summed by reason."""


class LastError(NamedTuple):
    """The last error of the recorder in this process."""

    at: float
    """Seconds since the epoch."""
    text: str


class LossCounter:
    """Counts of lost records by reason, held until a journal has them.

    Uses no lock, because a signal handler or a finalizer may call ``count`` while the same thread is inside it.
    Appending to a deque and popping from it are atomic.
    """

    def __init__(self) -> None:
        self.reset_after_fork()

    def reset_after_fork(self) -> None:
        """Forget all counts in a forked child, because the parent writes its own counts."""
        self._counted: deque[tuple[str, int]] = deque()
        self._restored: deque[tuple[str, int]] = deque()
        self._history: deque[tuple[str, int]] = deque()
        self._warned: dict[str, object] = {}
        self.last_error: LastError | None = None

    def count(self, reason: str, number: int = 1) -> None:
        """Count ``number`` records as lost for ``reason``."""
        for counts in (self._counted, self._history):
            counts.append((reason, number))
            if len(counts) > _MAX_COUNTS:  # sum the counts, to bound the memory
                counts.extend(_pop_all(counts).items())

    def restore(self, counts: Mapping[str, int]) -> None:
        """Hold ``counts``, which ``drain`` returned and no journal accepted, for ``reclaim``."""
        self._restored.extend(counts.items())

    @property
    def pending(self) -> bool:
        """Whether there are counts that no journal has."""
        return bool(self._counted or self._restored)

    def drain(self) -> dict[str, int]:
        """Return the counts since the last drain, and forget them."""
        return _pop_all(self._counted)

    def reclaim(self) -> dict[str, int]:
        """Return the counts that were restored, and forget them."""
        return _pop_all(self._restored)

    def totals(self) -> dict[str, int]:
        """Return all counts of this process by reason, whether a journal has them or not."""
        totals: Counter[str] = Counter()
        for reason, number in self._history.copy():
            totals[reason] += number
        return dict(totals)

    def note_error(self, text: str) -> None:
        """Set ``last_error``. ``text`` must contain nothing of a recorded call."""
        self.last_error = LastError(time.time(), text)

    def warn_once(self, reason: str, message: str, *, counted: bool = True, trace: bool = False) -> None:
        """Log ``message`` the first time that ``reason`` occurs in this process.

        ``counted``: whether the table ``losses`` will have the count, to which the message then refers.
        ``trace``: whether to log the traceback of the current exception.
        """
        mark = object()
        if self._warned.setdefault(reason, mark) is not mark:
            return
        try:
            more = "; the table `losses` has the count" if counted else ""
            logger.warning("%s (logged once%s)", message, more, exc_info=trace)
        except BaseException as error:  # a logging handler of the user raised, or the stack is exhausted
            pass_on_signal(error)


def _pop_all(counts: deque[tuple[str, int]]) -> dict[str, int]:
    sums: Counter[str] = Counter()
    with suppress(IndexError):
        while True:
            reason, number = counts.popleft()
            sums[reason] += number
    return dict(sums)


faults = LossCounter()


def report_fault(where: str, *, lost: int = 1) -> None:
    """Count and log a fault of the recorder at ``where``; call it inside an except block.

    ``lost``: number of records lost by the fault. Raises the current exception where ``raise_faults`` is set.
    """
    if raise_faults:
        raise  # noqa: PLE0704 - called from an except block
    if lost:
        faults.count(f"fault_{where}", lost)
    error = sys.exception()  # its class alone: its text may contain a secret, or run code of a recorded object
    faults.note_error(f"failed to {where} a call: {'unknown' if error is None else _name_of(type(error))}")
    faults.warn_once(
        f"fault_{where}", f"tooltrace failed to {where} a call; the tool itself is not affected", trace=True
    )


@contextmanager
def suppress_faults(where: str, *, lost: int = 0) -> Iterator[None]:
    """Report a fault inside the block instead of raising it.

    Covers every class of exception, except those raised by a signal. ``lost``: number of records lost by a fault.
    """
    try:
        yield
    except BaseException as error:
        pass_on_signal(error)
        report_fault(where, lost=lost)
