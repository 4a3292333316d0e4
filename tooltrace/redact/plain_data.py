"""JSON of plain data: values of the types that JSON has, dates and UUIDs. Encoders in C write it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import orjson
import pydantic_core

from tooltrace.faults import pass_on_signal

NO_USER_CODE = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
"""Options that stop orjson from running the code of dataclasses and time zones.

orjson crashes the process where that code raises. A dataclass may also refer to a whole application."""
_EXACT_TYPES = NO_USER_CODE | orjson.OPT_PASSTHROUGH_SUBCLASS
_NAN_WORDS = (b'"NaN"', b'"Infinity"', b'"-Infinity"')
_pack = msgspec.msgpack.Encoder().encode


class NotSerializable(TypeError):
    """Raised inside orjson for an object that only a ``Walk`` can read."""


def date_text(value: Any) -> str:
    """Return a date or time in ISO form; orjson calls this for values that it does not write itself."""
    if type(value) is dt.datetime or type(value) is dt.date or type(value) is dt.time:
        return str.__str__(value.isoformat())
    raise NotSerializable


def plain_json(value: Any) -> bytes | None:
    """Return the JSON of plain data; None where ``value`` contains other objects."""
    try:
        raw = orjson.dumps(value, date_text, NO_USER_CODE)
    except BaseException as error:
        pass_on_encoder_signal(error)
        return None
    return raw if raw.find(b"null") < 0 else with_nan(value, raw)


def pass_on_encoder_signal(error: BaseException) -> None:
    """Raise the exception of a signal that interrupted orjson, which hides it behind its own ``error``."""
    if type(error.__cause__) is not NotSerializable:  # the most frequent cause, so it is tested first
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
        orjson.dumps(value, date_text, _EXACT_TYPES)  # raises for a subclass, whose code the next line would run
        by_pydantic = pydantic_core.to_json(value, inf_nan_mode="strings")
        if all(by_pydantic.find(word) < 0 for word in _NAN_WORDS):
            return raw
        orjson.dumps(value, None, _EXACT_TYPES)  # raises for a date, which pydantic writes in another form
        return orjson.dumps(orjson.loads(by_pydantic))
    except BaseException as error:
        pass_on_encoder_signal(error)
        return None
