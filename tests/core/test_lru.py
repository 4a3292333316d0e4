"""Bounded maps: the last entries are present, and their number is bounded."""

from __future__ import annotations

import pytest

from tooltrace.core.lru import LruMap


@pytest.mark.parametrize("capacity", [1, 5, 64])
def test_the_last_entries_are_present_and_their_number_is_bounded(capacity: int) -> None:
    entries: LruMap[int] = LruMap(capacity)
    for number in range(10 * capacity):
        entries.put(number, number)
        assert entries.get(number) == number
    last = range(10 * capacity)
    assert all(entries.get(number) == number for number in last[-capacity:])
    present = [number for number in last if entries.get(number) is not None]
    assert len(present) <= capacity + max(1, capacity // 16)


def test_an_entry_that_is_set_again_is_the_most_recent() -> None:
    entries: LruMap[str] = LruMap(2)
    for name in ("a", "b", "a", "c", "d"):
        entries.put(name, name)
    assert [entries.get(name) for name in ("a", "b")] in ([None, None], ["a", None])
    assert (entries.get("c"), entries.get("d")) == ("c", "d")


def test_pop_removes_an_entry() -> None:
    entries: LruMap[int] = LruMap()
    entries.put("a", 1)
    assert (entries.pop("a"), entries.pop("a"), entries.get("a")) == (1, None, None)
