"""JSON of plain data: values of the types that JSON has, dates and UUIDs. Encoders in C write it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from itertools import chain
from typing import Any

import msgspec
import orjson
import pydantic_core

from tooltrace.faults import pass_on_signal

NO_USER_CODE = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
"""Options that stop orjson from running the code of dataclasses and time zones.

orjson crashes the process where that code raises. A dataclass may also refer to a whole application."""
_EXACT_TYPES = NO_USER_CODE | orjson.OPT_PASSTHROUGH_SUBCLASS
_FLAT = frozenset(map(id, (str, int, float, bool, type(None), dt.datetime, dt.date, dt.time)))
"""Ids of classes: a lookup by the class itself would run the ``__hash__`` of its metaclass."""
_NAN_WORDS = (b'"NaN"', b'"Infinity"', b'"-Infinity"')
_pack = msgspec.msgpack.Encoder().encode


def plain_json(value: Any) -> bytes | None:
    """Return the JSON of plain data; None where ``value`` contains other objects, or dates in nested containers.

    orjson gets no function for the objects that it does not know. While such a function runs, another thread may change
    ``value``, and orjson then reads freed memory.
    """
    try:
        raw = orjson.dumps(value, option=NO_USER_CODE)
    except BaseException as error:
        pass_on_encoder_signal(error)
        return flat_json(value)
    return raw if raw.find(b"null") < 0 else with_nan(value, raw)


def flat_json(value: Any) -> bytes | None:
    """Return the JSON of a scalar or date, of a dict or list of these, or of a list of such dicts; None for other values.

    It is written from a copy, which no other thread changes.
    """
    copy: Any = value
    parts: Iterable[Any] = (value,)
    if type(value) is dict:
        copy = value.copy()
        parts = copy.values()
    elif type(value) is list:
        copy = parts = value.copy()
        if set(map(id, map(type, parts))) == {id(dict)}:
            copy = [row.copy() for row in parts]
            parts = chain.from_iterable(map(dict.values, copy))
    if not _FLAT.issuperset(map(id, map(type, parts))):
        return None
    try:
        raw = orjson.dumps(copy, _date_text, NO_USER_CODE)
    except BaseException as error:
        pass_on_encoder_signal(error)
        return None
    return raw if raw.find(b"null") < 0 else with_nan(copy, raw)


def _date_text(value: dt.date | dt.time) -> str:
    """Return a date or time in ISO form, as an exact ``str``: a ``tzinfo`` may give another."""
    return str.__str__(value.isoformat())


def pass_on_encoder_signal(error: BaseException) -> None:
    """Raise the exception of a signal that interrupted orjson, which hides it behind its own ``error``."""
    if error.__cause__ is not None or type(error) is not orjson.JSONEncodeError:  # the latter is the most frequent
        pass_on_signal(error.__cause__ or error)


def has_nan(packed: bytes) -> bool:
    """Whether the MessagePack ``packed`` may contain a NaN or an infinity; False only where it has none."""
    # All floats without a finite value begin like this, and few others. No text in UTF-8 contains these bytes.
    return packed.find(b"\xcb\x7f") >= 0 or packed.find(b"\xcb\xff") >= 0


def with_nan(value: Any, raw: bytes) -> bytes | None:
    """Return ``raw``, the JSON of ``value`` by orjson, with NaN and infinities as strings in place of null.

    None where an encoder cannot decide which null stands for such a float.
    """
    try:
        packed = _pack(value)
    except BaseException as error:
        pass_on_signal(error)
    else:
        if not has_nan(packed):
            return raw
    try:
        # raises for a subclass, whose code the next line would run, and for a date
        orjson.dumps(value, option=_EXACT_TYPES)
        by_pydantic = pydantic_core.to_json(value, inf_nan_mode="strings")
        if all(by_pydantic.find(word) < 0 for word in _NAN_WORDS):
            return raw
        return orjson.dumps(orjson.loads(by_pydantic))
    except BaseException as error:
        pass_on_encoder_signal(error)
        return None
