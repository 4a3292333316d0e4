"""The parts of which the message of an exception consists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tooltrace.redact.inspection import class_attribute

_MOST = 64
"""Maximum arguments of an exception that writes its own message."""
_LONGEST = 2_000
"""Maximum characters of each of them."""


def message_parts(error: BaseException) -> tuple[Any, ...] | None:
    """Return the parts of which the message of ``error`` consists; None where ``str(error)`` is called.

    The methods of Python's own classes write each part by its ``__repr__``: user code that must not run, or one that
    writes any number of values.
    """
    kind = type(error)
    # a metaclass may define how attributes are found; most have none, and are read in a fifth of the time
    text_of = id(kind.__str__ if type(kind) is type else class_attribute(kind, "__str__"))
    getters = _READ_BY_STR.get(text_of)
    if getters is None:
        return None
    args = _args(error)
    if not getters and len(args) == 1 and type(args[0]) is str and text_of == _BASE_STR:  # most exceptions
        return None
    parts = tuple(part for get in getters if (part := get(error)) is not None) or args
    is_short = len(parts) <= _MOST and all(_is_short(part, numbers=bool(getters)) for part in parts)
    return None if is_short else parts


_args: Callable[[BaseException], tuple[Any, ...]] = BaseException.__dict__["args"].__get__
_BASE_STR = id(BaseException.__str__)
_READ_BY_STR: dict[int, tuple[Callable[[BaseException], Any], ...]] = {
    _BASE_STR: (),
    id(KeyError.__str__): (),
    id(ImportError.__str__): (),
    id(SyntaxError.__str__): (SyntaxError.__dict__["msg"].__get__,),
    id(OSError.__str__): tuple(
        OSError.__dict__[name].__get__ for name in ("errno", "strerror", "filename", "filename2")
    ),
}
"""Attributes that methods ``__str__`` of Python's own classes write, by the ``id`` of the method; ``args`` where there are none."""


def _is_short(part: Any, *, numbers: bool) -> bool:
    kind = type(part)
    if kind is int:
        return numbers and part.bit_length() < 64
    return part is None or kind is bool or (kind is str and len(part) <= _LONGEST)
