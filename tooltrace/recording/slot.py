"""A slot for one value, which threads and signal handlers take without a lock."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Slot(Generic[T]):
    """Holds one value or none. Of all threads that take the value, one gets it.

    Used instead of a lock: popping an element is atomic and never blocks, so that a signal handler cannot deadlock with
    the thread that it interrupts.
    """

    __slots__ = ("_values",)

    def __init__(self, *value: T) -> None:
        self._values = deque(value)

    def put(self, value: T) -> None:
        """Put ``value`` into the slot, which is empty."""
        self._values.append(value)

    def take(self) -> T | None:
        """Empty the slot and return its value; return None where another thread has taken it."""
        try:
            return self._values.pop()
        except IndexError:
            return None
