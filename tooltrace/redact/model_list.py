"""JSON of a list of pydantic models, such as the messages of a conversation, written by the encoder in C.

A :class:`~tooltrace.redact.walk.Walk` gives the same JSON, in twice the time; ``tests/redact/test_model_list.py`` compares the
two. The fields of each model are copied first: orjson crashes the process where a list changes while it calls a function
of Python, as it does for each object that it does not know.
"""

from __future__ import annotations

from types import MemberDescriptorType
from typing import Any, NamedTuple

import msgspec
import orjson

from tooltrace.redact.inspection import ABSENT, class_attribute
from tooltrace.redact.plain_data import NO_USER_CODE, has_nan, pass_on_encoder_signal

_attribute = object.__getattribute__
_pack = msgspec.msgpack.Encoder().encode


class ModelListJson(NamedTuple):
    """The JSON of a list of models."""

    raw: bytes
    values: int
    """Number of models and fields."""


def model_list_json(items: list[Any], max_values: float, max_size: float) -> ModelListJson | None:
    """Return the JSON of ``items`` where they are models of plain fields.

    None where they are not, where they have more than ``max_values`` fields, and where the JSON has more than ``max_size``
    bytes.
    """
    kind: type | None = None
    extra: Any = None
    copies: list[dict[str, Any]] = []
    values = 0
    try:
        for item in items:
            if type(item) is not kind:
                kind = type(item)
                extra = _further_fields(kind)
                if extra is None:
                    return None
            # ``__get__`` reads the slot itself: a class may define a property of that name
            fields = {**_attribute(item, "__dict__"), **(extra.__get__(item) or {})}
            values += len(fields) + 1
            if values >= max_values:
                return None
            copies.append(fields)
        raw = orjson.dumps(copies, option=NO_USER_CODE)
        if len(raw) >= max_size or (b"null" in raw and has_nan(_pack(copies))):
            return None
    except BaseException as error:
        pass_on_encoder_signal(error)
        return None
    return ModelListJson(raw, values)


def _further_fields(kind: type) -> MemberDescriptorType | None:
    """Return the slot with the further fields of a model of class ``kind``; None for other classes."""
    if class_attribute(kind, "__pydantic_fields__") is ABSENT or issubclass(kind, tuple | type):
        return None
    if class_attribute(kind, "__dataclass_fields__") is not ABSENT:
        return None
    slot = class_attribute(kind, "__pydantic_extra__")
    return slot if type(slot) is MemberDescriptorType else None
