"""The tool never notices: a fault of the recorder is counted, logged once, and never raised."""

from __future__ import annotations

import logging
import os
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tooltrace.interrupts import pass_on_signal

logger = logging.getLogger("tooltrace")

strict = os.environ.get("TOOLTRACE_STRICT") == "1"
"""Under test, a fault of the recorder is raised instead."""


_MANY = 1024


class Faults:
    """Lost records, counted by reason until a journal has the counts.

    Takes no lock: a signal handler or a finalizer may count while this thread does.
    """

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """In a forked child: what the parent counted is the parent's to write down."""
        self._counted: deque[tuple[str, int]] = deque()
        self._said: dict[str, object] = {}

    def count(self, reason: str, number: int = 1) -> None:
        """Count ``number`` records lost for ``reason``."""
        self._counted.append((reason, number))
        if len(self._counted) > _MANY:  # nobody writes them down just now: keep a sum
            self._counted.extend(self.take().items())

    @property
    def pending(self) -> bool:
        """Whether there are counts that nobody has written down."""
        return bool(self._counted)

    def take(self) -> dict[str, int]:
        """Return the counts since the last time, and forget them."""
        counts: Counter[str] = Counter()
        with suppress(IndexError):
            while True:
                reason, number = self._counted.popleft()
                counts[reason] += number
        return dict(counts)

    def say_once(self, reason: str, message: str, *, counted: bool = True, trace: bool = False) -> None:
        """Log ``message`` the first time that ``reason`` is met in this process. ``counted``: the table
        ``losses`` will say how often."""
        mark = object()
        if self._said.setdefault(reason, mark) is not mark:
            return
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
