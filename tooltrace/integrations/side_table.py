"""Values attached to objects that cannot be keys of a dict, until they are taken or the object is deleted."""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class WeakSideTable(Generic[T]):
    """Table of at most one value per object, by the object's identity."""

    def __init__(self) -> None:
        self._facts: dict[int, T] = {}

    def put(self, owner: Any, fact: T) -> None:
        """Store ``fact`` for ``owner``."""
        key = id(owner)
        self._facts[key] = fact
        # An id is unique only while its object exists, so the value must go with the object.
        weakref.finalize(owner, self._facts.pop, key, None).atexit = False

    def pop(self, owner: Any) -> T | None:
        """Remove and return the value stored for ``owner``; None if there is none."""
        return self._facts.pop(id(owner), None)
