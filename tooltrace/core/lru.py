"""Bounded maps from call ids to values, for the most recent calls of this process."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import islice
from threading import RLock
from typing import Generic, TypeVar

from tooltrace.core import forking

T = TypeVar("T")


class LruMap(Generic[T]):
    """A thread-safe map that holds a value for each of the last ``capacity`` calls of this process.

    A plain dict, because an OrderedDict costs three times as much. Its oldest entries are removed many at a time: a search
    for the first entry of a dict passes over those removed before.
    """

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._excess = max(1, capacity // 16)
        """Number of entries beyond the capacity at which the oldest are removed."""
        self._items: dict[Hashable, T] = {}
        self._lock = RLock()  # reentrant: the garbage collector may run a finalizer that makes a call here
        forking.register(self)

    def reset_after_fork(self) -> None:
        """Replace the lock in a forked child, because another thread of the parent may have held it."""
        self._lock = RLock()

    def get(self, call: Hashable) -> T | None:
        """Return the value of ``call``, or None."""
        # without the lock: one operation of a dict is atomic
        return self._items.get(call)

    def pop(self, call: Hashable) -> T | None:
        """Remove and return the value of ``call``; None where there is none."""
        with self._lock:
            return self._items.pop(call, None)

    def put(self, call: Hashable, value: T) -> None:
        """Store ``value`` for ``call``, and make ``call`` the most recent."""
        with self._lock:
            items = self._items
            # a dict keeps the order of insertion: the most recent entry is the last
            if call in items:
                del items[call]
            items[call] = value
            if len(items) >= self._capacity + self._excess:
                self._remove_oldest()

    def _remove_oldest(self) -> None:
        """Remove the entries beyond the capacity; the caller has the lock."""
        for call in list(islice(self._items, len(self._items) - self._capacity)):
            self._items.pop(call, None)
