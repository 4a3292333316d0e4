"""Instances of the frozen response models from values that are known to be valid.

The constructor takes 3 to 8 µs to validate them, and ``model_copy`` 2 to 3; these functions take less than one.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel

_M = TypeVar("_M", bound=BaseModel)

_set = object.__setattr__


def build_valid(model: type[_M], values: dict[str, Any], given: set[str]) -> _M:
    """Return the ``model`` with these ``values``, which must be valid, and all its fields in their order.

    ``given``: the fields that count as set explicitly. The model must have no private attributes.
    """
    made = model.__new__(model)
    _set(made, "__dict__", values)
    _set(made, "__pydantic_fields_set__", given)
    _set(made, "__pydantic_extra__", None)
    _set(made, "__pydantic_private__", None)
    return made


def with_changes(found: _M, **changes: Any) -> _M:
    """Return a copy of ``found`` with ``changes``, which must be valid, as its ``model_copy(update=changes)``."""
    if found.__pydantic_extra__ or found.__pydantic_private__:  # of a subclass
        return found.model_copy(update=changes)
    return build_valid(type(found), {**vars(found), **changes}, found.model_fields_set | changes.keys())
