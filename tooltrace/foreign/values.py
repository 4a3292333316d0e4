"""Attribute values as the structures that they are the text of."""

from __future__ import annotations

from typing import Any

import orjson

_OPENS = ("{", "[")


def structure(value: Any, *, scalars: bool = True) -> Any:
    """What ``value`` says: the data of a text that is JSON, else the value itself. ``scalars``: "3" is 3 too, not only
    objects and arrays."""
    if not isinstance(value, str) or not value:
        return value
    if not scalars and not value.lstrip()[:1].startswith(_OPENS):
        return value
    try:
        return orjson.loads(value)
    except ValueError:
        return value


def named(value: Any) -> Any:
    """Arguments by name. What decorators write down as ``{"args": […], "kwargs": {…}}`` is opened."""
    value = structure(value)
    if not isinstance(value, dict) or set(value) != {"args", "kwargs"}:
        return value
    positional, by_name = value["args"], value["kwargs"]
    if not isinstance(by_name, dict) or "args" in by_name:
        return value
    return {**by_name, "args": positional} if positional else by_name


def text(value: Any) -> str | None:
    """A name or an id; numbers count, nothing else does."""
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**128 else None
