"""Bounded maps from call ids to values, for the most recent calls of this process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import RLock
from typing import Generic, TypeVar

from tooltrace.core import forking

T = TypeVar("T")


class LruMap(Generic[T]):
    """A thread-safe map that holds a value for each of the last ``capacity`` calls of this process."""

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._items: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = RLock()  # reentrant: the garbage collector may run a finalizer that makes a call here
        forking.register(self)

    def reset_after_fork(self) -> None:
        """Replace the lock in a forked child, because another thread of the parent may have held it."""
        self._lock = RLock()

    def get(self, call: Hashable) -> T | None:
        """Return the value of ``call``, or None."""
        return self._items.get(call)

    def put(self, call: Hashable, value: T) -> None:
        """Store ``value`` for ``call``, and make ``call`` the most recent."""
        with self._lock:
            self._items.pop(call, None)
            self._items[call] = value
            if len(self._items) > self._capacity:
                self._items.popitem(last=False)


class AttemptCounter(LruMap[int]):
    """A counter of the attempts of each call.

    A call that is retried after ``capacity`` or more other calls begins at 1 again.
    """

    def next(self, call: Hashable) -> int:
        """Return the number of the attempt of ``call`` that begins now, from 1 on."""
        with self._lock:
            number = (self._items.get(call) or 0) + 1
            self.put(call, number)
        return number
