"""The registry of objects that a forked child resets, by one hook for all of them.

The locks of stores (``store.file_lock``) and leased connections (``store.reader``) need hooks of their own.
"""

from __future__ import annotations

import os
from threading import RLock
from typing import Protocol, TypeVar
from weakref import WeakSet

from tooltrace.faults import faults


class Resettable(Protocol):
    """An object with locks, threads, files or counts that belong to the parent process."""

    def reset_after_fork(self) -> None:
        """Discard what belongs to the parent. Runs in a forked child, before any other code of it."""


_T = TypeVar("_T", bound=Resettable)
# weak, so that a recorder that was replaced by ``configure`` can be freed
_objects: WeakSet[Resettable] = WeakSet()

generation = 0
"""Number of forks between the first process and this one. An object with another generation is of a parent process."""


def register(item: _T) -> _T:
    """Reset ``item`` in each forked child for as long as it exists. Return ``item``."""
    _objects.add(item)
    return item


class ForkSafeLock:
    """A reentrant lock, replaced in a forked child because another thread of the parent may have held it.

    Used as ``with lock.current:``.
    """

    def __init__(self) -> None:
        self.current = RLock()
        register(self)

    def reset_after_fork(self) -> None:
        """Replace the lock."""
        self.current = RLock()


def _reset_all() -> None:
    global generation  # noqa: PLW0603 - the state of a process
    generation += 1
    # a copy: a reset may register further objects
    for item in list(_objects):
        item.reset_after_fork()


register(faults)
if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(after_in_child=_reset_all)
