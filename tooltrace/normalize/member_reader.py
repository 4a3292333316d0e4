"""Reader for the members of an object that tracks which members were read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from tooltrace.normalize.terms import snake_case

T = TypeVar("T")


Readers = tuple[tuple[frozenset[str], T], ...]
"""Functions that read an object, each with the members of which the object must have at least one."""


class MemberReader:
    """Members of an object by snake-case name, whatever their spelling; tracks which were read."""

    __slots__ = ("_data", "_read", "_spellings")

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self._spellings: dict[str, str] = {}
        """The spelling of each name, by the name in snake case: the first one whose value is not null."""
        for name, value in data.items():
            snake = snake_case(name)
            if snake not in self._spellings or (value is not None and data[self._spellings[snake]] is None):
                self._spellings[snake] = name
        self._read: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._spellings

    def pop(self, *names: str, only: type | tuple[type, ...] = object) -> Any:
        """Return the first of these members that is present and not null, and mark it as read.

        ``only``: accept values of these types only. Returns None if there is no such member.
        """
        for name in names:
            value = self.get(name)
            if value is not None and _fits(value, only):
                self._read.add(self._spellings[name])
                return value
        return None

    def get(self, *names: str) -> Any:
        """Return the first of these members that is present and not null, without marking it as read."""
        spellings = self._spellings
        for name in names:
            if name in spellings and (value := self._data[spellings[name]]) is not None:
                return value
        return None

    def pop_nonempty(self, *names: str, only: type | tuple[type, ...] = object) -> Any:
        """Return a member like :meth:`pop`, but skip values that are empty, false or zero."""
        return self.pop(*[name for name in names if name in self._spellings and self.get(name)], only=only)

    def names(self) -> frozenset[str]:
        """Return the names of the members in snake case."""
        return frozenset(self._spellings)

    def present(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of ``names`` that are members, in their order."""
        return tuple([name for name in names if name in self._spellings])

    def readers(self, readers: Readers[T]) -> tuple[T, ...]:
        """Return those of ``readers`` that need one of the members."""
        return tuple([read for needed, read in readers if not needed.isdisjoint(self._spellings)])

    def remaining(self) -> dict[str, Any] | None:
        """Return the members that are not null and were not read; None if there are none."""
        return {
            name: value for name, value in self._data.items() if name not in self._read and value is not None
        } or None


def _fits(value: Any, only: type | tuple[type, ...]) -> bool:
    """Whether ``value`` has one of these types; a boolean does not count as a number."""
    if only is object:
        return True
    kinds = only if isinstance(only, tuple) else (only,)
    return isinstance(value, kinds) and (type(value) is not bool or bool in kinds or object in kinds)
