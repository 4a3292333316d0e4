"""Facts kept beside objects that are no keys of a dict, until they are taken or the object is gone."""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class WeakSideTable(Generic[T]):
    """At most one fact for each object, by its identity."""

    def __init__(self) -> None:
        self._held: dict[int, T] = {}

    def put(self, owner: Any, fact: T) -> None:
        """Keep ``fact`` beside ``owner``."""
        key = id(owner)
        self._held[key] = fact
        weakref.finalize(owner, self._held.pop, key, None).atexit = False

    def take(self, owner: Any) -> T | None:
        """What was kept beside ``owner``; it is kept no longer."""
        return self._held.pop(id(owner), None)
