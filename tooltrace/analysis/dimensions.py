"""Dimensions by which rows can be grouped, in one table."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple

from tooltrace.errors import BadParameter
from tooltrace.store.database.schema import quote_identifier, quote_literal

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
        return self.column if self.column.isidentifier() else quote_identifier(self.column)


DIMENSIONS = {
    "tool": Dimension("tool", "tool"),
    "version": Dimension("version", "tool_version"),
    "code": Dimension("code", "code"),
    "agent": Dimension("agent", "agent"),
    "model": Dimension("model", "model"),
    "release": Dimension("release", "release"),
    "environment": Dimension("environment", "environment"),
    "conversation": Dimension("conversation", "conversation_id"),
    "call": Dimension("call", "call_id"),
    "day": Dimension("day", "CAST(started_at AS DATE)"),
    "hour": Dimension("hour", "date_trunc('hour', started_at)"),
    "status": Dimension("status", "status"),
    "rule": Dimension("rule", "rule"),
    "rule_grade": Dimension("rule_grade", "rule_grade"),
}


def choose(by: str | Iterable[str], allowed: tuple[str, ...], query: str) -> tuple[Dimension, ...]:
    """Return the dimensions that ``by`` names: a list, or one text with commas. Raises BadParameter."""
    names = choose_names(by)
    if names and not allowed:
        raise BadParameter(f"parameter 'by': query {query} does not group its rows; leave the parameter out")
    chosen = tuple(_dimension(name, allowed, query) for name in names)
    lowercase = [dimension.column.casefold() for dimension in chosen]
    for name, column in zip(names, lowercase, strict=True):
        if lowercase.count(column) > 1:
            raise BadParameter(f"parameter 'by' accepts each dimension once, ignoring case; got {name!r} twice")
    return chosen


def choose_names(by: str | Iterable[str] | None) -> list[str]:
    """Return the names in ``by``: a list, or one text with commas; none for None."""
    if by is None:
        return []
    if not isinstance(by, Iterable):
        raise BadParameter(f"parameter 'by' must be the name of a dimension, or a list of names; got {by!r}")
    return [part.strip() for part in by.split(",") if part.strip()] if isinstance(by, str) else list(by)


def _dimension(name: object, allowed: tuple[str, ...], query: str) -> Dimension:
    if isinstance(name, str):
        prefix, dot, key = name.partition(".")
        if prefix == ATTRIBUTES and dot and ATTRIBUTES in allowed:
            return attribute(key)
        if name in allowed and name in DIMENSIONS:
            return DIMENSIONS[name]
    known = [f"{ATTRIBUTES}.NAME" if item == ATTRIBUTES else item for item in allowed]
    similar = difflib.get_close_matches(name, known, 1) if isinstance(name, str) else []
    hint = f" (did you mean {similar[0]!r}?)" if similar else ""
    raise BadParameter(f"parameter 'by' of query {query} accepts {', '.join(known)}; got {name!r}{hint}")


def attribute(key: str) -> Dimension:
    """Return the attribute ``key`` of a call as a dimension, as text.

    Raises BadParameter for a name that SQL text cannot contain.
    """
    named = f"{ATTRIBUTES}.{key}"
    try:
        key.encode()
    except UnicodeEncodeError:
        key = ""
    if not key or "\0" in key:
        raise BadParameter(
            f"parameter 'by' accepts {ATTRIBUTES}.NAME, where NAME is the name of an attribute in valid Unicode; got {named!r}"
        )
    pointer = "/" + key.replace("~", "~0").replace("/", "~1")
    return Dimension(f"{ATTRIBUTES}.{key}", f"json_extract_string({ATTRIBUTES}, {quote_literal(pointer)})")
