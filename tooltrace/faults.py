"""Keep faults of the recorder away from the tool: count them, log each kind once, never raise them.

What a signal raises is not a fault: Ctrl-C and a ``SIGTERM`` handler that raises reach the tool's caller.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # signal.getsignal() spells the handler by its repr, which may run code of a recorded object
import logging
import os
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from opcode import opmap
from threading import get_ident, main_thread
from types import CodeType, FunctionType, MethodType, TracebackType
from typing import Any

_RAISE = opmap.get("RAISE_VARARGS")
_traceback_of = BaseException.__dict__["__traceback__"].__get__


def pass_on_signal(error: BaseException) -> None:
    """Raise ``error`` again where a signal raised it; return otherwise."""
    if raised_by_signal(error):
        raise error


def raised_by_signal(error: BaseException) -> bool:
    """Return whether a signal raised ``error``: it left a handler that is installed now, or it is the KeyboardInterrupt of
    Python's own handler.

    That handler has no frame: its KeyboardInterrupt is one that the innermost frame did not raise by a ``raise`` statement.
    """
    if get_ident() != main_thread().ident:  # Python runs the handlers of signals in the main thread only
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
    """Return the code of the handlers that the application installed, of any signal."""
    found = (_code_of(_signal.getsignal(number)) for number in _signal.valid_signals())
    return {code for code in found if code is not None}


def _code_of(handler: Any) -> CodeType | None:
    while type(handler) is partial:
        handler = handler.func
    if type(handler) is MethodType:
        handler = handler.__func__
    return handler.__code__ if type(handler) is FunctionType else None


def _at_raise(trace: TracebackType) -> bool:
    """Return whether the frame was at a ``raise`` statement."""
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == _RAISE


logger = logging.getLogger("tooltrace")

raise_faults = os.environ.get("TOOLTRACE_STRICT") == "1"
"""Under test, a fault of the recorder is raised instead."""


_MANY = 1024


class LossCounter:
    """Lost records, counted by reason until a journal has the counts.

    Takes no lock: a signal handler or a finalizer may count while this thread does.
    """

    def __init__(self) -> None:
        self.reset_after_fork()

    def reset_after_fork(self) -> None:
        """In a forked child: what the parent counted is the parent's to write down."""
        self._counted: deque[tuple[str, int]] = deque()
        self._warned: dict[str, object] = {}

    def count(self, reason: str, number: int = 1) -> None:
        """Count ``number`` records lost for ``reason``."""
        self._counted.append((reason, number))
        if len(self._counted) > _MANY:  # nobody writes them down just now: keep a sum
            self._counted.extend(self.drain().items())

    @property
    def pending(self) -> bool:
        """Whether there are counts that nobody has written down."""
        return bool(self._counted)

    def drain(self) -> dict[str, int]:
        """Return the counts since the last time, and forget them."""
        counts: Counter[str] = Counter()
        with suppress(IndexError):
            while True:
                reason, number = self._counted.popleft()
                counts[reason] += number
        return dict(counts)

    def warn_once(self, reason: str, message: str, *, counted: bool = True, trace: bool = False) -> None:
        """Log ``message`` the first time that ``reason`` is met in this process. ``counted``: the table
        ``losses`` will say how often."""
        mark = object()
        if self._warned.setdefault(reason, mark) is not mark:
            return
        try:
            more = "; see the table `losses` for the count" if counted else ""
            logger.warning("%s (said once%s)", message, more, exc_info=trace)
        except BaseException as error:  # a handler of the user's that raises, or no stack left to log with
            pass_on_signal(error)


faults = LossCounter()


def report_fault(where: str, *, lost: int = 1) -> None:
    """A fault of ours at ``where``, inside an except block."""
    if raise_faults:
        raise  # noqa: PLE0704 - called from an except block
    if lost:
        faults.count(f"fault_{where}", lost)
    faults.warn_once(
        f"fault_{where}", f"tooltrace failed to {where} a call; the tool itself is not affected", trace=True
    )


@contextmanager
def suppress_faults(where: str, *, lost: int = 0) -> Iterator[None]:
    """Keep a fault inside the block from whoever runs it, of any class of exception but for what a signal raises."""
    try:
        yield
    except BaseException as error:
        pass_on_signal(error)
        report_fault(where, lost=lost)
