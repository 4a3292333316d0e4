"""Paths into JSON text: translation of DuckDB's paths into ClickHouse's arguments."""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from tooltrace.errors import QueryError

Step = str | int
"""The name of a member, or the index of an element: from 0, or from -1 backwards from the end."""

# RFC 6901: the tilde is replaced last, so that ~01 becomes ~1 and not a slash.
_POINTS: Final = (("~1", "/"), ("~0", "~"))
_STEP: Final = re.compile(r"""\.(?:"((?:[^"\\]|\\.)*)"|([^."\[\]*]+))|\[(#-|-)?(\d+)\]""")


def steps(path: exp.Expr) -> list[Step]:
    """Parse a path: a number, a JSON pointer, a path from ``$``, or a bare name.

    Raises QueryError for a path that is computed, or that matches several members.
    """
    if isinstance(path, exp.Neg):
        return [-int(path.name)] if path.this.is_int else _unsupported(path)
    if not isinstance(path, exp.Literal):
        return _unsupported(path)
    if not path.is_string:
        return [int(path.name)]
    if path.name.startswith("/"):
        return [_pointed(key) for key in path.name[1:].split("/")]
    return _parse_steps(path) if path.name.startswith("$") else [path.name]


def is_every(path: exp.Expr) -> bool:
    """Whether the path matches each element of a list."""
    return path.is_string and path.name == "$[*]"


def _pointed(key: str) -> str:
    for written, meant in _POINTS:
        key = key.replace(written, meant)
    return key


def _parse_steps(path: exp.Literal) -> list[Step]:
    found: list[Step] = []
    at = 1
    while at < len(path.name):
        step = _STEP.match(path.name, at)
        if step is None:
            return _unsupported(path)
        quoted, bare, end, number = step.groups()
        if number is None:
            found.append(re.sub(r"\\(.)", r"\1", quoted) if bare is None else bare)
        else:
            found.append(-int(number) if end else int(number))
        at = step.end()
    return found


def _unsupported(path: exp.Expr) -> list[Step]:
    raise QueryError(f"cannot translate to ClickHouse SQL: the JSON path {path.sql('duckdb')}")


def raw(value: str, path: list[Step]) -> str:
    """Return the member as JSON; NULL where it is missing."""
    return f"nullIf(JSONExtractRaw(ifNull({value}, ''){_arguments(path)}), '')" if path else value


def text(value: str, path: list[Step]) -> str:
    """Return the member as text: NULL if it is missing or null, a string without quotes, any other value as written."""
    if not path:
        document = f"ifNull({value}, 'null')"
        return f"if(JSONType({document}) = 'String', JSONExtractString({document}), nullIf({document}, 'null'))"
    at = f"ifNull({value}, ''){_arguments(path)}"
    return f"if(JSONType({at}) = 'String', JSONExtractString({at}), nullIf(nullIf(JSONExtractRaw({at}), 'null'), ''))"


def _arguments(path: list[Step]) -> str:
    return "".join(f", {_argument(step)}" for step in path)


def _argument(step: Step) -> str:
    """Return ClickHouse's argument: it counts elements from 1, and from -1 at the end."""
    if isinstance(step, int):
        return str(step + 1 if step >= 0 else step)
    return exp.Literal.string(step).sql("clickhouse")
