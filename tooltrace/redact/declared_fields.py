"""The fields which a class declares, and functions that read them without running its code."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from types import MemberDescriptorType
from typing import Any, NamedTuple

from tooltrace.redact.inspection import ABSENT, class_attribute, field, instance_attributes

_MOST = 1_000
"""Maximum fields of an object that is read."""
_DATACLASS_FIELD: Any = dataclasses.__dict__["_FIELD"]


class Declared(NamedTuple):
    """The fields that a class declares. The class stays referenced, so that no other class can get its id."""

    kind: type
    names: tuple[str, ...]
    cost: int
    """About the bytes of the names."""
    read: Callable[[Any], dict[str, Any]]
    """Function that returns the fields of an instance, as a dict of the caller's."""
    has_dict: bool = False
    """Whether the ``__dict__`` of an instance has all of them, where it has just these names."""


def declared_fields(kind: type) -> Declared | None:
    """Return the fields that ``kind`` declares, for dataclasses, pydantic models, attrs classes and named tuples.

    None for other classes. Raises where there are more than are read.
    """
    if issubclass(kind, type):
        return None
    if issubclass(kind, tuple):
        names = class_attribute(kind, "_fields")
        return None if names is ABSENT else _declared(kind, names, _tuple_fields)
    if (declared := class_attribute(kind, "__dataclass_fields__")) is not ABSENT:
        return _declared(kind, _public(declared), _fields)
    if (declared := class_attribute(kind, "__pydantic_fields__")) is not ABSENT:
        names, further = tuple(dict.keys(declared)), class_attribute(kind, "__pydantic_extra__")
        config = class_attribute(kind, "model_config")
        if type(further) is MemberDescriptorType and type(config) is dict and config.get("extra") == "allow":
            return _declared(kind, names, partial(_open_fields, further.__get__))
        return _declared(kind, names, _fields)
    if (declared := class_attribute(kind, "__attrs_attrs__")) is not ABSENT:
        return _declared(kind, tuple(one.name for one in tuple.__iter__(declared)), _fields)
    return None


def _declared(kind: type, names: tuple[str, ...], read: Callable[[tuple[str, ...], Any], dict[str, Any]]) -> Declared:
    if tuple.__len__(names) > _MOST:
        raise ValueError("more fields than are read")
    cost = sum(map(str.__sizeof__, tuple.__iter__(names)))  # raises TypeError for a name that is no text
    has_dict = read is _fields and class_attribute(kind, "__dict__") is not ABSENT
    return Declared(kind, names, cost, partial(read, names), has_dict)


def _fields(names: tuple[str, ...], value: Any) -> dict[str, Any]:
    attributes = instance_attributes(value)
    return {name: field(value, name, attributes) for name in names}


def _open_fields(
    get_further: Callable[[Any], Mapping[str, Any] | None], names: tuple[str, ...], value: Any
) -> dict[str, Any]:
    """Return the fields of a pydantic model, and further ones that it was given."""
    fields = _fields(names, value)
    try:
        further = get_further(value)
    except AttributeError:  # the slot is not set
        return fields
    if further and len(further) > _MOST:
        raise ValueError("more fields than are read")
    return {**fields, **further} if further else fields


def _tuple_fields(names: tuple[str, ...], value: Any) -> dict[str, Any]:
    return dict(zip(names, tuple.__iter__(value), strict=False))


def _public(declared: Any) -> tuple[str, ...]:
    """Return the names of a dataclass's public fields; class variables are declared as fields too."""
    return tuple(
        name
        for name, known in dict.items(declared)
        if not name.startswith("_") and known._field_type is _DATACLASS_FIELD  # noqa: SLF001 - fields() runs code of the class
    )
