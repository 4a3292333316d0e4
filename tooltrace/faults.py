"""Handling of the recorder's own faults: count them, log each kind once, never raise them into a tool.

An exception raised by a signal is not a fault: Ctrl-C, and the exception of a ``SIGTERM`` handler, reach the tool's
caller.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal.getsignal() spells the handler by its repr, which may run code of a recorded object
import logging
import os
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from opcode import opmap
from threading import get_ident, main_thread
from types import CodeType, FunctionType, MethodType, TracebackType
from typing import Any, NamedTuple

_RAISE = opmap.get("RAISE_VARARGS")
_name_of = type.__dict__["__name__"].__get__
_traceback_of = BaseException.__dict__["__traceback__"].__get__


def pass_on_signal(error: BaseException) -> None:
    """Raise ``error`` again if a signal raised it; otherwise return."""
    if raised_by_signal(error):
        raise error


def raised_by_signal(error: BaseException) -> bool:
    """Return whether a signal raised ``error``.

    True where the traceback passes through a handler that is installed now, and for a KeyboardInterrupt of Python's
    default SIGINT handler. The default handler has no frame of its own, so its KeyboardInterrupt is recognised by an
    innermost frame that was not at a ``raise`` statement.
    """
    if get_ident() != main_thread().ident:  # Python runs signal handlers in the main thread only
        return False
    handlers = _handlers()
    trace: TracebackType | None = _traceback_of(error)
    innermost = trace
    while trace is not None:
        if trace.tb_frame.f_code in handlers:
            return True
        innermost, trace = trace, trace.tb_next
    if not issubclass(type(error), KeyboardInterrupt) or innermost is None:
        return False
    return _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler and not _at_raise(innermost)


def _handlers() -> set[CodeType]:
    """Return the code objects of all signal handlers that the application installed."""
    codes = (_code_of(_signal.getsignal(number)) for number in _signal.valid_signals())
    return {code for code in codes if code is not None}


def _code_of(handler: Any) -> CodeType | None:
    while type(handler) is partial:
        handler = handler.func
    if type(handler) is MethodType:
        handler = handler.__func__
    return handler.__code__ if type(handler) is FunctionType else None


def _at_raise(trace: TracebackType) -> bool:
    """Return whether the frame of ``trace`` was at a ``raise`` statement."""
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == _RAISE


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
