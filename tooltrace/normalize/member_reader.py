"""Reader for the members of an object that tracks which members were read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrace.normalize.terms import snake_case


class MemberReader:
    """Members of an object by snake-case name, whatever their spelling; tracks which were read."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self._names: dict[str, str] = {}
        # Nulls come last, so that a null does not hide a value under another spelling of its name.
        nulls = [name for name, value in data.items() if value is None]
        for name in sorted(data, key=lambda name: data[name] is None) if nulls else data:
            self._names.setdefault(snake_case(name), name)
        self._read: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def pop(self, *names: str, only: type | tuple[type, ...] = object) -> Any:
        """Return the first of these members that is present and not null, and mark it as read.

        ``only``: accept values of these types only. Returns None if there is no such member.
        """
        for name in names:
            key = self._names.get(name)
            if key is not None and self._data[key] is not None and _fits(self._data[key], only):
                self._read.add(key)
                return self._data[key]
        return None

    def get(self, *names: str) -> Any:
        """Return the first of these members that is present and not null, without marking it as read."""
        for name in names:
            key = self._names.get(name)
            if key is not None and (value := self._data[key]) is not None:
                return value
        return None

    def pop_nonempty(self, *names: str, only: type | tuple[type, ...] = object) -> Any:
        """Return a member like :meth:`pop`, but skip values that are empty, false or zero."""
        return self.pop(*(name for name in names if self._data.get(self._names.get(name, ""))), only=only)

    def names(self) -> set[str]:
        """Return the names of the members in snake case."""
        return set(self._names)

    def remaining(self) -> dict[str, Any] | None:
        """Return the members that are not null and were not read; None if there are none."""
        return {
            name: value for name, value in self._data.items() if name not in self._read and value is not None
        } or None


def _fits(value: Any, only: type | tuple[type, ...]) -> bool:
    """Whether ``value`` has one of these types; a boolean does not count as a number."""
    kinds = only if isinstance(only, tuple) else (only,)
    return isinstance(value, kinds) and (type(value) is not bool or bool in kinds or object in kinds)
