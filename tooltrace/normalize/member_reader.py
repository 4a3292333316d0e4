"""Reading the members of an object, and knowing which were read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrace.normalize.terms import snake_case


class MemberReader:
    """The members of an object by name, whichever way their names are written; it knows which were read."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self._names: dict[str, str] = {}
        for name in sorted(data, key=lambda name: data[name] is None):  # a null hides no other spelling
            self._names.setdefault(snake_case(name), name)
        self._read: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def pop(self, *names: str, only: type | tuple[type, ...] = object) -> Any:
        """The first of these members that is there and not null, taken out; None where there is none.
        ``only``: of these types."""
        for name in names:
            own = self._names.get(name)
            if own is not None and self._data[own] is not None and _fits(self._data[own], only):
                self._read.add(own)
                return self._data[own]
        return None

    def get(self, *names: str) -> Any:
        """The first of these members that is there and not null, left where it is."""
        said = (self._data[self._names[name]] for name in names if name in self._names)
        return next((value for value in said if value is not None), None)

    def pop_nonempty(self, *names: str, only: type | tuple[type, ...] = object) -> Any:
        """As :meth:`first`, of those that are neither empty, nor false, nor zero."""
        return self.pop(*(name for name in names if self._data.get(self._names.get(name, ""))), only=only)

    def names(self) -> set[str]:
        """What its members are called, in one spelling."""
        return set(self._names)

    def remaining(self) -> dict[str, Any] | None:
        """What nobody took, but for nulls; None where that is nothing."""
        return {
            name: value for name, value in self._data.items() if name not in self._read and value is not None
        } or None


def _fits(value: Any, only: type | tuple[type, ...]) -> bool:
    """Whether ``value`` is one of these; true and false are no numbers."""
    kinds = only if isinstance(only, tuple) else (only,)
    return isinstance(value, kinds) and (type(value) is not bool or bool in kinds or object in kinds)
