"""Dimensions by which rows can be grouped, in one table."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple

from tooltrace.errors import BadParameter

ATTRIBUTES = "attributes"
"""Prefix of the dimension ``attributes.NAME``: one attribute of the call."""


class Dimension(NamedTuple):
    """An expression over a row of ``tool_calls``, and the name of its column in the result."""

    column: str
    expression: str

    @property
    def sql(self) -> str:
        """The expression with its column name, for a select list."""
        return self.name if self.expression == self.column else f"{self.expression} AS {self.name}"

    @property
    def name(self) -> str:
        """The column name, quoted for SQL where necessary."""
        if self.column.isidentifier():
            return self.column
        return '"' + self.column.replace('"', '""') + '"'


DIMENSIONS = {
    "tool": Dimension("tool", "tool"),
    "version": Dimension("version", "tool_version"),
    "code": Dimension("code", "code"),
    "agent": Dimension("agent", "agent"),
    "conversation": Dimension("conversation", "conversation_id"),
    "day": Dimension("day", "CAST(started_at AS DATE)"),
    "hour": Dimension("hour", "date_trunc('hour', started_at)"),
    "status": Dimension("status", "status"),
}


def choose(by: str | Iterable[str], allowed: tuple[str, ...], query: str) -> tuple[Dimension, ...]:
    """Return the dimensions that ``by`` names: a list, or one text with commas. Raises BadParameter."""
    names = [part.strip() for part in by.split(",") if part.strip()] if isinstance(by, str) else list(by)
    if names and not allowed:
        raise BadParameter(f"by: the rows of {query} are not grouped; nothing was asked")
    chosen = tuple(_dimension(name, allowed, query) for name in names)
    folded = [dimension.column.casefold() for dimension in chosen]
    for name, column in zip(names, folded, strict=True):
        if folded.count(column) > 1:
            raise BadParameter(f"by takes each dimension once (case does not count), got {name!r} again")
    return chosen


def _dimension(name: object, allowed: tuple[str, ...], query: str) -> Dimension:
    if isinstance(name, str):
        prefix, dot, key = name.partition(".")
        if prefix == ATTRIBUTES and dot and ATTRIBUTES in allowed:
            return attribute(key)
        if name in allowed and name in DIMENSIONS:
            return DIMENSIONS[name]
    known = [f"{ATTRIBUTES}.NAME" if item == ATTRIBUTES else item for item in allowed]
    near = difflib.get_close_matches(name, known, 1) if isinstance(name, str) else []
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise BadParameter(f"by: {query} takes {', '.join(known)}; got {name!r}{hint}")


def attribute(key: str) -> Dimension:
    """Return the attribute ``key`` of a call as a dimension, as text.

    Raises BadParameter for a name that SQL cannot hold.
    """
    try:
        key.encode()
    except UnicodeEncodeError:
        key = ""
    if not key or "\0" in key:
        raise BadParameter(f"by takes {ATTRIBUTES}.NAME with the name of an attribute; nothing was asked")
    pointer = "/" + key.replace("~", "~0").replace("/", "~1")
    literal = "'" + pointer.replace("'", "''") + "'"
    return Dimension(f"{ATTRIBUTES}.{key}", f"json_extract_string({ATTRIBUTES}, {literal})")
