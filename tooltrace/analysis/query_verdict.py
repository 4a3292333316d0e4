"""The verdict of one query: a sentence about the row that matters most, as its file words it, and perhaps another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tooltrace.analysis.normal_forms import row_message_parts
from tooltrace.analysis.query import Query
from tooltrace.analysis.sentence import Clause, Figure, Sentence
from tooltrace.store.result import QueryResult, ResultColumn

_MARK = "too_few"


def query_verdicts(query: Query, result: QueryResult) -> list[Sentence]:
    """Return all that ``result`` of ``query`` says: its verdict, and the sentence ``also`` of its heading."""
    found = (query_verdict(query, result), also_verdict(query, result))
    return [sentence for sentence in found if sentence is not None]


def also_verdict(query: Query, result: QueryResult) -> Sentence | None:
    """Return the second sentence of the heading of ``query``; None where it has none, or no row supports it."""
    row = _telling_row(query.header.also, result) if query.header.also else None
    return None if row is None else _sentence(f"also.{query.name}", query.header.also, result, row)


def query_verdict(query: Query, result: QueryResult) -> Sentence | None:
    """Return what ``result`` of ``query`` says, about its most telling row; None where it says nothing."""
    row = most_telling_row(query, result)
    return None if row is None else row_verdict(query, result, row)


def row_verdict(query: Query, result: QueryResult, row: Mapping[str, Any]) -> Sentence:
    """Return what ``result`` of ``query`` says about ``row``; where it is too small for a verdict, the sentence says so."""
    return _sentence(f"verdict.{query.name}", query.header.verdict, result, row)


def _sentence(kind: str, text: str, result: QueryResult, row: Mapping[str, Any]) -> Sentence:
    _, _, wording = text.partition(" ")
    values = {column.name: _value(column, row, result.fields) for column in result.fields}
    group = " ".join(str(row[name]) for name in result.columns[: result.groups] if row[name] is not None)
    values["group"] = Figure(group, "text" if group else "none") if result.groups else Figure("", "all")
    clauses = [Clause(kind, values, wording)]
    if row.get(_MARK):
        clauses.append(Clause("too_few_of_query"))
    return Sentence(tuple(clauses))


def most_telling_row(query: Query, result: QueryResult) -> Mapping[str, Any] | None:
    """Return the row that the verdict of ``query`` is about; None where the result supports no verdict.

    A row that is too small for a verdict is chosen only where all are, or where the query asks for its ``top`` row.
    """
    return _telling_row(query.header.verdict, result)


def _telling_row(text: str, result: QueryResult) -> Mapping[str, Any] | None:
    pick, _, _ = text.partition(" ")
    rows = result.dicts()
    certain = rows if pick == "top" else [row for row in rows if not row.get(_MARK)]
    return _pick(pick, certain) or _pick(pick, rows)


def _pick(pick: str, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    kind, _, rest = pick.partition("(")
    name = rest.removesuffix(")")
    if kind == "max":
        known = [row for row in rows if row.get(name)]  # the most of nothing would mislead: "fails most: 0.0 %"
        return max(known, key=lambda row: float(row[name])) if known else None
    if kind == "false":
        return next((row for row in rows if row.get(name) is False), None)
    return next(iter(rows), None) if kind in ("first", "top") else None


def _value(column: ResultColumn, row: Mapping[str, Any], fields: Sequence[ResultColumn]) -> Figure:
    value = row[column.name]
    if column.name == "message" and value is not None:
        return Figure(value, "message", row_message_parts(row))
    unit = row.get("unit") or column.unit if column.unit == "number" else column.unit
    if column.end_of is not None:  # a limit has the unit of its figure
        unit = next((each.unit for each in fields if each.name == column.end_of[1]), "number")
    return Figure(value, unit)
