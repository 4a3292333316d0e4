"""Values of parameters as literals of ClickHouse's SQL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlglot import exp


def replace_parameters(tree: exp.Expr, values: Mapping[str, Any]) -> None:
    """Replace each ``$name`` of ``tree`` that ``values`` has."""
    for node in list(tree.find_all(exp.Parameter, exp.Placeholder)):
        if node.name in values:
            node.replace(_literal(values[node.name]))


def _literal(value: Any) -> exp.Expr:
    if value is None:
        return exp.null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, datetime):
        text = exp.Literal.string(value.isoformat(sep=" ", timespec="microseconds"))
        return exp.Anonymous(this="toDateTime64", expressions=[text, exp.Literal.number(6), exp.Literal.string("UTC")])
    if isinstance(value, float):
        # As text: it has all digits, and NaN and the infinities have no literal.
        return exp.Anonymous(this="toFloat64", expressions=[exp.Literal.string(repr(value))])
    if isinstance(value, list):
        return exp.Array(expressions=[_literal(each) for each in value])
    return exp.Literal.number(value) if isinstance(value, int) else exp.Literal.string(str(value))
