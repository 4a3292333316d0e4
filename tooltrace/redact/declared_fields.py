"""Functions that read the fields which a class declares, without running its code."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import MemberDescriptorType
from typing import Any

from tooltrace.redact.inspection import ABSENT, class_attribute, field, instance_attributes

Fields = dict[str, Any]
_EXTRA = "__pydantic_extra__"
_DATACLASS_FIELD: Any = dataclasses.__dict__["_FIELD"]


def fields_reader(kind: type) -> Callable[[Any], Fields] | None:
    """Return a function that returns the fields of an instance of ``kind``.

    For dataclasses, pydantic models, attrs classes and named tuples; None for other classes.
    """
    if issubclass(kind, type):
        return None
    if issubclass(kind, tuple):
        names = class_attribute(kind, "_fields")
        return None if names is ABSENT else lambda value: dict(zip(names, tuple.__iter__(value), strict=False))
    if (declared := class_attribute(kind, "__dataclass_fields__")) is not ABSENT:
        return _DeclaredFields(_public(declared))
    if class_attribute(kind, "__pydantic_fields__") is not ABSENT:
        return _PydanticFields(kind)
    if (declared := class_attribute(kind, "__attrs_attrs__")) is not ABSENT:
        return _DeclaredFields([one.name for one in declared])
    return None


class _DeclaredFields:
    """Reads the fields with the given names."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def __call__(self, value: Any) -> Fields:
        attributes = instance_attributes(value)
        return {name: field(value, name, attributes) for name in self._names}


class _PydanticFields:
    """Reads the fields of a pydantic model, and further ones that it was given."""

    def __init__(self, kind: type) -> None:
        self._extra = class_attribute(kind, _EXTRA)
        self._is_slot = type(self._extra) is MemberDescriptorType

    def __call__(self, value: Any) -> Fields:
        attributes = instance_attributes(value)
        try:
            extra = self._extra.__get__(value) if self._is_slot else field(value, _EXTRA, attributes)
        except AttributeError:  # the slot is not set
            extra = None
        return {**attributes, **extra} if extra else {**attributes}


def raise_unreadable(value: Any) -> Fields:
    """Raise TypeError, for a class whose declaration could not be read."""
    raise TypeError(f"the declared fields of {type(value).__name__} cannot be read")


def _public(declared: Any) -> list[str]:
    """Return the names of a dataclass's public fields; class variables are declared as fields too."""
    return [
        name
        for name, known in dict.items(declared)
        if not name.startswith("_") and known._field_type is _DATACLASS_FIELD  # noqa: SLF001 - fields() runs code of the class
    ]
