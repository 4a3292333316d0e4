"""Reader for the members of an object that tracks which members were read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from tooltrace.normalize.terms import snake_case

T = TypeVar("T")


Readers = tuple[tuple[frozenset[str], T], ...]
"""Functions that read an object, each with the members of which the object must have at least one."""


class ByMemberNames(dict[tuple[str, ...], T]):
    """Values by the names of an object's members, bounded: a tool's results have the same names, and several rules read each."""

    MAX_ENTRIES = 2048
    MAX_CHARACTERS = 1024
    """Maximum characters of the names of an entry."""

    def keep(self, names: tuple[str, ...], value: T) -> None:
        """Keep ``value`` for objects with these ``names``, unless they are long."""
        if sum(map(len, names)) <= self.MAX_CHARACTERS:
            if len(self) >= self.MAX_ENTRIES:
                self.clear()
            self[names] = value


class _Names:
    """Names of an object's members."""

    __slots__ = ("all", "chosen", "has_twins", "spellings")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.spellings: dict[str, str] = {}
        """The first spelling of each name, by the name in snake case."""
        for name in names:
            self.spellings.setdefault(snake_case(name), name)
        self.all = frozenset(self.spellings)
        """The names in snake case."""
        self.has_twins = len(self.spellings) != len(names)
        """Whether two members have the same name in different spellings."""
        self.chosen: dict[int, tuple[tuple[Any, ...], tuple[Any, ...]]] = {}
        """Choices of :meth:`MemberReader.present` and :meth:`MemberReader.readers`, by the ``id`` of the constant, with it."""


_known: ByMemberNames[_Names] = ByMemberNames()


def _names_of(data: Mapping[str, Any]) -> _Names:
    names = tuple(data)
    known = _known.get(names)
    if known is None:
        known = _Names(names)
        _known.keep(names, known)
    # The cache knows names, not values: which spelling is null can differ from result to result.
    if known.has_twins and None in data.values():
        # Nulls come last, so that a null does not hide a value under another spelling of its name.
        return _Names(tuple(sorted(names, key=lambda name: data[name] is None)))
    return known


class MemberReader:
    """Members of an object by snake-case name, whatever their spelling; tracks which were read."""

    __slots__ = ("_data", "_names", "_read", "_spellings")

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        known = _known.get(tuple(data))  # as _names_of, without the cost of a call: several rules read each object
        if known is None or known.has_twins:
            known = _names_of(data)
        self._names = known
        self._spellings = known.spellings
        self._read: set[str] | None = None

    def __contains__(self, name: str) -> bool:
        return name in self._spellings

    def pop(self, *names: str, only: type | tuple[type, ...] = object) -> Any:
        """Return the first of these members that is present and not null, and mark it as read.

        ``only``: accept values of these types only. Returns None if there is no such member.
        """
        spellings = self._spellings
        for name in names:
            if name in spellings:
                key = spellings[name]
                value = self._data[key]
                if value is not None and _fits(value, only):
                    if self._read is None:
                        self._read = set()
                    self._read.add(key)
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
        return self._names.all

    def present(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of ``names`` that are members, in their order.

        ``names``: a constant. The choice is kept with the names of the object, because a tool's results have the same.
        """
        # The key is the id of the constant, because hashing a long tuple costs more than the search it saves. The
        # entry holds the constant, so that its id stays unique.
        kept = self._names.chosen.get(id(names))
        if kept is None:
            kept = self._names.chosen[id(names)] = names, tuple([name for name in names if name in self._spellings])
        return kept[1]

    def readers(self, readers: Readers[T]) -> tuple[T, ...]:
        """Return those of ``readers`` that need one of the members; ``readers``: a constant, as in :meth:`present`."""
        kept = self._names.chosen.get(id(readers))
        if kept is None:
            chosen = tuple([read for needed, read in readers if not needed.isdisjoint(self._names.all)])
            kept = self._names.chosen[id(readers)] = readers, chosen
        return kept[1]

    def remaining(self) -> dict[str, Any] | None:
        """Return the members that are not null and were not read; None if there are none."""
        read = self._read or ()
        return {name: value for name, value in self._data.items() if name not in read and value is not None} or None


def _fits(value: Any, only: type | tuple[type, ...]) -> bool:
    """Whether ``value`` has one of these types; a boolean does not count as a number."""
    if only is object:
        return True
    kinds = only if isinstance(only, tuple) else (only,)
    return isinstance(value, kinds) and (type(value) is not bool or bool in kinds or object in kinds)
