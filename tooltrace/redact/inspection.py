"""Inspection of classes and objects without running user code.

A class is read without running code of its metaclass, and the fields of an object without running code of its class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MemberDescriptorType
from typing import Any

_declared = type.__dict__

bases: Callable[[type], tuple[type, ...]] = _declared["__mro__"].__get__
"""The method resolution order of a class: the class itself, then its bases, nearest first."""
is_subclass: Callable[[type, type], bool] = type.__subclasscheck__
"""Whether the second class is the first class or derives from it.

Bypasses ``__subclasscheck__`` of the first class's metaclass (an ABC, a pydantic model, a user's class). A virtual
subclass (``ABC.register``) does not count."""
name_of: Callable[[type], str] = _declared["__name__"].__get__
qualname: Callable[[type], str] = _declared["__qualname__"].__get__
namespace: Callable[[type], Mapping[str, Any]] = _declared["__dict__"].__get__
"""The attributes that the class itself defines, by name; inherited ones are not included."""
_module: Callable[[type], Any] = _declared["__module__"].__get__

ABSENT: Any = object()


def module_of(kind: type) -> str:
    """Return the module name of ``kind``; empty where ``__module__`` is missing or not a string."""
    try:
        module = _module(kind)
    except AttributeError:  # the class has deleted it
        return ""
    return str.__str__(module) if is_subclass(str, type(module)) else ""


def full_name(kind: type) -> str:
    """Return ``module.Class``."""
    return f"{module_of(kind)}.{qualname(kind)}"


def class_attribute(kind: type, name: str) -> Any:
    """Return the attribute ``name`` of ``kind`` or its nearest base, without calling descriptors.

    Returns ABSENT where no class defines it.
    """
    for base in bases(kind):
        attribute = namespace(base).get(name, ABSENT)
        if attribute is not ABSENT:
            return attribute
    return ABSENT


def instance_attributes(value: object) -> dict[str, Any]:
    """Return the ``__dict__`` of ``value``; an empty dict where ``value`` has only slots."""
    try:
        return object.__getattribute__(value, "__dict__")  # type: ignore[no-any-return]
    except AttributeError:
        return {}


def field(value: object, name: str, attributes: dict[str, Any]) -> Any:
    """Return the value of the field ``name`` of ``value``; None where it is not set.

    ``attributes`` is the ``__dict__`` of ``value``. A property is not evaluated: the property object itself is returned.
    """
    if name in attributes:
        return attributes[name]
    attribute = class_attribute(type(value), name)
    if type(attribute) is MemberDescriptorType:  # a slot
        try:
            return attribute.__get__(value)
        except AttributeError:
            return None
    return None if attribute is ABSENT else attribute
