"""Annotations as pydantic is to have them.

An ``Iterable`` is a list, which a tool may read twice: pydantic would hand it an iterator that is checked on the way.
A ``typing.TypedDict`` is, below Python 3.12, one of ``typing_extensions``: pydantic refuses the other.
"""

from __future__ import annotations

import collections.abc
import functools
import operator
import sys
import types
import typing
from typing import Annotated, Any, NotRequired, Required, Union, get_args, get_origin


def usable(annotation: Any) -> Any:
    """``annotation``, and what is in it, as pydantic is to have it."""
    if sys.version_info < (3, 12) and typing.is_typeddict(annotation):
        return _extended(annotation)
    args, origin = get_args(annotation), get_origin(annotation)
    if any(each is kind for each in (annotation, origin) for kind in _ITERABLES):
        return list[usable(args[0])] if args else list  # type: ignore[misc]
    if not args or origin in (typing.Literal, collections.abc.Callable):
        return annotation
    if origin is Annotated:
        return Annotated[(usable(args[0]), *args[1:])]
    new = tuple(map(usable, args))
    if new == args:
        return annotation
    if origin in (Union, types.UnionType):
        return functools.reduce(operator.or_, new)
    return annotation.copy_with(new) if hasattr(annotation, "copy_with") else origin[new]


_ITERABLES = (collections.abc.Iterable, typing.Iterable)


@functools.cache
def _extended(kind: Any) -> Any:
    import typing_extensions

    make: Any = typing_extensions.TypedDict
    if type(kind).__module__ != "typing":
        return kind
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {name: _field(kind, name, hint) for name, hint in hints.items()}
    made = make(kind.__name__, fields)
    made.__doc__ = kind.__doc__
    return made


def _field(kind: Any, name: str, hint: Any) -> Any:
    if get_origin(hint) in (Required, NotRequired):
        return get_origin(hint)[usable(get_args(hint)[0])]
    return (Required if name in kind.__required_keys__ else NotRequired)[usable(hint)]
