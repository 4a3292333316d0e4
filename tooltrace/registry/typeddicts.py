"""``typing.TypedDict`` below Python 3.12, which pydantic takes only as ``typing_extensions.TypedDict``."""

from __future__ import annotations

import functools
import operator
import sys
import types
import typing
from typing import Annotated, Any, NotRequired, Required, Union, get_args, get_origin


def usable(annotation: Any) -> Any:
    """``annotation`` with each TypedDict in it as pydantic takes it."""
    if sys.version_info >= (3, 12):
        return annotation
    return _usable(annotation)


def _usable(annotation: Any) -> Any:
    if typing.is_typeddict(annotation):
        return _extended(annotation)
    args, origin = get_args(annotation), get_origin(annotation)
    if not args or origin is typing.Literal:
        return annotation
    if origin is Annotated:
        return Annotated[(_usable(args[0]), *args[1:])]
    new = tuple(_usable(arg) for arg in args)
    if new == args:
        return annotation
    if origin in (Union, types.UnionType):
        return functools.reduce(operator.or_, new)
    return annotation.copy_with(new) if hasattr(annotation, "copy_with") else origin[new]


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
        return get_origin(hint)[_usable(get_args(hint)[0])]
    return (Required if name in kind.__required_keys__ else NotRequired)[_usable(hint)]
