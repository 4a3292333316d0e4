"""Remember the last calls of this process, by id."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import RLock
from typing import Generic, TypeVar

T = TypeVar("T")


class LruMap(Generic[T]):
    """Something about each of the last ``capacity`` calls of this process, by id, whichever thread makes them."""

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._items: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = RLock()  # the garbage collector may run another call in between

    def reset_after_fork(self) -> None:
        """In a forked child: another thread of the parent may have held the lock."""
        self._lock = RLock()

    def get(self, call: Hashable) -> T | None:
        """What is held of ``call``."""
        return self._items.get(call)

    def put(self, call: Hashable, value: T) -> None:
        """Hold ``value`` of ``call``, which is now the latest."""
        with self._lock:
            self._items.pop(call, None)
            self._items[call] = value
            if len(self._items) > self._capacity:
                self._items.popitem(last=False)


class AttemptCounter(LruMap[int]):
    """Numbers the attempts of each call. A call that is retried after very many others begins at 1 again."""

    def next(self, call: Hashable) -> int:
        """The number of the attempt that begins now: 1, 2, …"""
        with self._lock:
            number = (self._items.get(call) or 0) + 1
            self.put(call, number)
        return number
