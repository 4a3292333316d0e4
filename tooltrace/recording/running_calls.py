"""The calls that run: each is written as begun once it has run for a while, so that a killed process leaves a trace of it.

A calling thread only adds its attempt to a set and removes it. It takes no lock: both steps are atomic, and the thread that
looks at the set copies it first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic, perf_counter_ns
from typing import TYPE_CHECKING, Any, Final
from weakref import ReferenceType, ref

from tooltrace.core.begun import Begun
from tooltrace.recording.record_builder import build_begun

if TYPE_CHECKING:
    from tooltrace.recording.attempt import Attempt
    from tooltrace.recording.settings import Settings


@dataclass(frozen=True, slots=True)
class BegunCall:
    """An attempt that is to be written as begun before its tool runs."""

    attempt: Attempt

    def record(self) -> Begun:
        """Return the redacted record."""
        return build_begun(self.attempt)


REMEMBERED: Final = 1000
"""Calls that are written as begun and may still run, of which ``longest`` knows."""
_IGNORE: Final = frozenset[Any]().__contains__
"""A function that does nothing: a call of it costs the least."""


class RunningCalls:
    """The attempts that run and are not written as begun, and when the background thread looks at them next.

    ``wake`` wakes the thread, ``put`` queues an item.
    """

    def __init__(self, settings: Settings, wake: Callable[[], None], put: Callable[[BegunCall], None]) -> None:
        self._after = None if settings.store is None else settings.begun_after
        self._wake, self.put = wake, put
        self._attempts: set[Attempt] = set()
        self._written: deque[ReferenceType[Attempt]] = deque(maxlen=REMEMBERED)
        """Those that are written as begun: nothing here keeps one that never ends."""
        self.drop = self._attempts.discard
        """Removes an attempt that has ended."""
        self.reset()

    def reset(self) -> None:
        """Forget all attempts: those of a forked child run in its parent."""
        self._attempts.clear()
        self._written.clear()
        self._look_at: float | None = None
        """When the thread looks; None while it does not, and the caller of the next attempt has to wake it."""
        self.add: Callable[[Attempt], object] = (
            _IGNORE if self._after is None else self._add_and_watch if self._after else self._write
        )
        """Adds an attempt that begins. Each call takes this path, so the steps that it needs are chosen beforehand."""

    def _write(self, attempt: Attempt) -> None:
        self._written.append(ref(attempt))
        self.put(BegunCall(attempt))

    def _add_and_watch(self, attempt: Attempt) -> None:
        self._attempts.add(attempt)
        self._look_at = monotonic() + (self._after or 0.0)
        self.add = self._attempts.add
        self._wake()

    def seconds_left(self) -> float | None:
        """Return the seconds until the thread has to look; None where no attempt runs."""
        return None if self._look_at is None else max(0.0, self._look_at - monotonic())

    def take_due(self) -> list[Attempt]:
        """Remove and return the attempts that have run for long enough, in the thread that writes."""
        if self._look_at is None or monotonic() < self._look_at:
            return []
        now, after = perf_counter_ns(), int((self._after or 0.0) * 1e9)
        # an attempt is added just before its start is set
        due = [attempt for attempt in list(self._attempts) if attempt.started and now - attempt.started >= after]
        self._attempts.difference_update(due)
        self.add, self._look_at = self._add_and_watch, None
        # also an attempt that began just now, and whose caller did not wake the thread
        if self._attempts:
            oldest = min((attempt.started or now for attempt in list(self._attempts)), default=now)
            self.add, self._look_at = self._attempts.add, monotonic() + max(0, oldest + after - now) / 1e9
        due = [attempt for attempt in due if attempt.is_recording()]
        self._written.extend(map(ref, due))
        return due

    def longest(self) -> dict[str, float]:
        """Return the seconds for which the calls of each tool run, of the longest one, by the name of the tool."""
        now, found = perf_counter_ns(), dict[str, float]()
        for attempt in (*(known() for known in list(self._written)), *list(self._attempts)):
            if attempt is not None and attempt.started and attempt.is_recording():
                name = attempt.spec.name
                found[name] = max(found.get(name, 0.0), (now - attempt.started) / 1e9)
        return found
