"""Paths into JSON text: translation of DuckDB's paths into ClickHouse's arguments."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from tooltrace.errors import QueryError

Place = str | int
"""The name of a member, or the index of an element: from 0, or from -1 backwards from the end."""

_POINTS: Final = (("~1", "/"), ("~0", "~"))
_STEP: Final = re.compile(r"""\.(?:"((?:[^"\\]|\\.)*)"|([^."\[\]*]+))|\[(#-|-)?(\d+)\]""")


def places(path: exp.Expr) -> list[Place]:
    """Parse a path: a number, a JSON pointer, a path from ``$``, or a plain name.

    Raises QueryError for a path that is computed, or that matches several members.
    """
    if isinstance(path, exp.Neg):
        return [-int(path.name)] if path.this.is_int else _unsaid(path)
    if not isinstance(path, exp.Literal):
        return _unsaid(path)
    if not path.is_string:
        return [int(path.name)]
    if path.name.startswith("/"):
        return [_pointed(key) for key in path.name[1:].split("/")]
    return _steps(path) if path.name.startswith("$") else [path.name]


def is_every(path: exp.Expr) -> bool:
    """Whether the path matches each element of a list."""
    return path.is_string and path.name == "$[*]"


def _pointed(key: str) -> str:
    for written, meant in _POINTS:
        key = key.replace(written, meant)
    return key


def _steps(path: exp.Literal) -> list[Place]:
    found: list[Place] = []
    at = 1
    while at < len(path.name):
        step = _STEP.match(path.name, at)
        if step is None:
            return _unsaid(path)
        quoted, plain, end, number = step.groups()
        if number is None:
            found.append(re.sub(r"\\(.)", r"\1", quoted) if plain is None else plain)
        else:
            found.append(-int(number) if end else int(number))
        at = step.end()
    return found


def _unsaid(path: exp.Expr) -> list[Place]:
    raise QueryError(f"the JSON path {path.sql('duckdb')} cannot be said in ClickHouse's SQL; nothing was asked")


def raw(value: str, path: list[Place]) -> str:
    """Return the member as JSON; NULL where it is missing."""
    return f"nullIf(JSONExtractRaw(ifNull({value}, ''){_given(path)}), '')" if path else value


def text(value: str, path: list[Place]) -> str:
    """Return the member as text: NULL if it is missing or null, a string without quotes, any other value as written."""
    if not path:
        whole = f"ifNull({value}, 'null')"
        return f"if(JSONType({whole}) = 'String', JSONExtractString({whole}), nullIf({whole}, 'null'))"
    at = f"ifNull({value}, ''){_given(path)}"
    return f"if(JSONType({at}) = 'String', JSONExtractString({at}), nullIf(nullIf(JSONExtractRaw({at}), 'null'), ''))"


def _given(path: list[Place]) -> str:
    return "".join(f", {_argument(place)}" for place in path)


def _argument(place: Place) -> str:
    """Return ClickHouse's argument: it counts elements from 1, and from -1 at the end."""
    if isinstance(place, int):
        return str(place + 1 if place >= 0 else place)
    return exp.Literal.string(place).sql("clickhouse")
