"""JSON of plain data: values of the types that JSON has, dates and UUIDs. An encoder in C writes it.

The data is counted before the encoder sees it: a few shared references can stand for more values than fit into the
memory, and orjson 3.13 writes beyond its buffer where values are nested more than 200 levels deep.
"""

from __future__ import annotations

import datetime as dt
from typing import Any
from uuid import UUID

import msgspec
import orjson

from tooltrace.faults import pass_on_signal
from tooltrace.redact.texts import MAX_JSON

MAX_DEPTH = 100
"""Maximum depth of a copy. Of some 300,000 random values nested 40 to 200 levels deep, orjson wrote none beyond its buffer; of those
nested 210 to 250 levels deep it did, some bytes of the closing brackets (PYTHONMALLOC=debug shows it)."""
VALUE_COST = 32
"""What a value counts of the budget, besides the characters of its text or its name."""

DATES_AND_IDS = frozenset(map(id, (dt.datetime, dt.date, dt.time, UUID)))
"""Ids of the classes of which the encoder writes instances itself; see :func:`is_date_or_id`."""
_NOT_PLAIN = -(2**60)
_ENDLESS = 2**60
_INFINITY = float("inf")
_size_of_text = str.__sizeof__


def plain_json(value: Any, budget: int = MAX_JSON) -> bytes | None:
    """Return the JSON of plain data; None where ``value`` contains other objects, or exceeds the budget or MAX_DEPTH."""
    left = left_over(value, budget)
    return None if left is None or left < 0 else encode(value)


def left_over(value: Any, budget: int) -> int | None:
    """Return what plain data leaves of the budget, negative where it is larger; None where ``value`` is not plain.

    A value that stands in several places counts in each of them.
    """
    kind = type(value)
    if kind is not dict and kind is not list and kind is not tuple:
        return None
    try:
        left = _left_over(value, budget, MAX_DEPTH)
    except BaseException as error:  # a name is no text, another thread changed a mapping, or the stack is full
        pass_on_signal(error)
        return None
    return None if left <= _NOT_PLAIN else left


def _left_over(value: Any, budget: int, depth: int) -> int:  # noqa: C901 - a function more would take half the time again
    """Return what the container ``value`` leaves. The encoder writes what passes without any code of Python."""
    budget -= VALUE_COST * len(value)
    if budget < 0:
        return budget
    if type(value) is dict:
        budget -= sum(map(_size_of_text, value))  # raises TypeError for a name that is not a text
        value = value.values()
    for item in value:
        kind = type(item)
        if kind is str:
            budget -= len(item)
        elif kind is int or item is None or kind is bool:
            pass
        elif kind is dict or kind is list or kind is tuple:
            if not depth:
                return _NOT_PLAIN
            budget = _left_over(item, budget, depth - 1)
            if budget < 0:
                return budget
        elif kind is float:
            if not -_INFINITY < item < _INFINITY:  # JSON has no NaN
                return _NOT_PLAIN
        elif not is_date_or_id(item):
            return _NOT_PLAIN
    return budget


def is_date_or_id(value: Any) -> bool:
    """Whether ``value`` is a date, a time or a UUID that the encoder writes itself: no time of a time zone but UTC."""
    kind = type(value)
    if kind is dt.datetime:
        return value.tzinfo is None or value.tzinfo is dt.UTC
    return kind is dt.date or kind is UUID or (kind is dt.time and value.tzinfo is None)


def names_size(members: dict[Any, Any]) -> int | None:
    """Return about the bytes of the names in ``members``; None where one is not a text."""
    try:
        return sum(map(_size_of_text, members))
    except TypeError:
        return None


def is_shallow(data: Any) -> bool:
    """Whether orjson writes the parsed JSON ``data`` without danger: it has at most MAX_DEPTH levels."""
    return type(data) not in (dict, list, tuple) or left_over(data, _ENDLESS) is not None


def json_of(data: Any, *, sorted_names: bool = False) -> bytes:
    """Return the JSON of ``data``, which may have any depth: the one way to write JSON of what others have made.

    msgspec writes what is deeper, with the exponents of numbers spelled in another way. ``sorted_names``: the same
    bytes for the same members in another order. Raises TypeError, ValueError and RecursionError for what cannot be written.
    """
    if is_shallow(data):
        return orjson.dumps(data, option=orjson.OPT_SORT_KEYS if sorted_names else None)
    return msgspec.json.encode(data, order="sorted" if sorted_names else None)


def encode(data: Any) -> bytes | None:
    """Return the JSON of data that was counted; None where it has an integer or a text that JSON cannot have."""
    try:
        return orjson.dumps(data)
    except BaseException as error:
        # orjson hides the exception of a signal behind its own
        pass_on_signal(error.__cause__ or error)
        return None
