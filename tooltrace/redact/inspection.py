"""Read what a class is without running code of its metaclass, and an object's fields without running code of its class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MemberDescriptorType
from typing import Any

_declared = type.__dict__

bases: Callable[[type], tuple[type, ...]] = _declared["__mro__"].__get__
"""The class and its bases, nearest first."""
is_subclass: Callable[[type, type], bool] = type.__subclasscheck__
"""Whether the second class is the first, or derives from it; for a first one whose own metaclass would answer otherwise
(an ABC, a pydantic model, a class of the user's). A virtual subclass (``ABC.register``) does not count."""
name_of: Callable[[type], str] = _declared["__name__"].__get__
qualname: Callable[[type], str] = _declared["__qualname__"].__get__
namespace: Callable[[type], Mapping[str, Any]] = _declared["__dict__"].__get__
"""What the class itself defines, by name."""
_module: Callable[[type], Any] = _declared["__module__"].__get__

ABSENT: Any = object()


def module_of(kind: type) -> str:
    """Return the name of the module of ``kind``; empty where the class says something else than a text."""
    try:
        module = _module(kind)
    except AttributeError:  # the class has deleted it
        return ""
    return str.__str__(module) if is_subclass(str, type(module)) else ""


def full_name(kind: type) -> str:
    """Return ``module.Class``."""
    return f"{module_of(kind)}.{qualname(kind)}"


def class_attribute(kind: type, name: str) -> Any:
    """Return what ``kind`` or the nearest base defines under ``name``, no descriptor asked; ABSENT where none does."""
    for base in bases(kind):
        found = namespace(base).get(name, ABSENT)
        if found is not ABSENT:
            return found
    return ABSENT


def instance_attributes(value: object) -> dict[str, Any]:
    """Return the ``__dict__`` of ``value``; an empty one where it has slots only."""
    try:
        return object.__getattribute__(value, "__dict__")  # type: ignore[no-any-return]
    except AttributeError:
        return {}


def field(value: object, name: str, own: dict[str, Any]) -> Any:
    """Return what the field ``name`` of ``value`` holds, where ``own`` is its ``__dict__``; None where it is not set.

    A property is not asked: it is returned itself, as what the class defines under that name.
    """
    if name in own:
        return own[name]
    found = class_attribute(type(value), name)
    if type(found) is MemberDescriptorType:  # a slot
        try:
            return found.__get__(value)
        except AttributeError:
            return None
    return None if found is ABSENT else found
