"""The tool never notices: a fault of the recorder is counted, logged once, and never raised."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from tooltrace.interrupts import pass_on_signal

logger = logging.getLogger("tooltrace")

strict = os.environ.get("TOOLTRACE_STRICT") == "1"
"""Under test, a fault of the recorder is raised instead."""


class Faults:
    """Records that could not be kept, counted by reason until somebody writes the counts down."""

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """In a forked child: what the parent counted is the parent's to write down."""
        self._counts: Counter[str] = Counter()
        self._said: set[str] = set()
        self._lock = RLock()  # a stream that the garbage collector ends may come between

    def count(self, reason: str, number: int = 1) -> None:
        """``number`` records were lost for ``reason``."""
        with self._lock:
            self._counts[reason] += number

    def take(self) -> dict[str, int]:
        """The counts since the last time; they are forgotten here."""
        with self._lock:
            counts, self._counts = dict(self._counts), Counter()
        return counts

    def say_once(self, reason: str, message: str, *, counted: bool = True, trace: bool = False) -> None:
        """Log ``message`` the first time that ``reason`` is met in this process. ``counted``: the table
        ``losses`` will say how often."""
        with self._lock:
            if reason in self._said:
                return
            self._said.add(reason)
        try:
            more = "; see the table `losses` for the count" if counted else ""
            logger.warning("%s (said once%s)", message, more, exc_info=trace)
        except BaseException as error:  # a handler of the user's that raises, or no stack left to log with
            pass_on_signal(error)


faults = Faults()


def fault(where: str, *, lost: int = 1) -> None:
    """A fault of ours at ``where``, inside an except block."""
    if strict:
        raise  # noqa: PLE0704 - called from an except block
    if lost:
        faults.count(f"fault_{where}", lost)
    faults.say_once(
        f"fault_{where}", f"tooltrace failed to {where} a call; the tool itself is not affected", trace=True
    )


@contextmanager
def guarded(where: str, *, lost: int = 0) -> Iterator[None]:
    """Keep a fault inside the block from whoever runs it, of any class of exception but for what a signal raises."""
    try:
        yield
    except BaseException as error:
        pass_on_signal(error)
        fault(where, lost=lost)
