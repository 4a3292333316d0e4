"""A named query: its file, checked when loaded, and the SQL and parameters made of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tooltrace.analysis import gather
from tooltrace.analysis.dimensions import DIMENSIONS, Dimension, choose, choose_names
from tooltrace.analysis.header import QueryHeader, parse
from tooltrace.analysis.parameters import ParamValue, literal
from tooltrace.analysis.reasoning import conclusion, describe
from tooltrace.analysis.sides import BOUND, SIDES, WINDOW, Comparison, example
from tooltrace.errors import BadParameter, QueryError, near
from tooltrace.store.result import ResultColumn, Statement

GroupBy = str | Iterable[str]
"""Dimensions: a list of names, or one text with commas. Empty: one group of everything."""

# Comments, texts and quoted names are matched first, so that a $name inside them is not a parameter.
_TOKEN = re.compile(r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$([A-Za-z_]\w*)""", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A named query over the documented tables."""

    name: str
    path: Path
    text: str
    """The complete file: its heading, and SQL with the placeholders of ``gather``."""
    header: QueryHeader

    @property
    def question(self) -> str:
        """The question that the query answers, in one line."""
        return self.header.question

    @property
    def has_window(self) -> bool:
        """Whether the query reads one time range, from ``since`` to ``until``; a comparison reads two."""
        names = {parameter.name for parameter in self.header.parameters}
        return {"since", "until"} <= names and not self.has_sides

    def groups(self, by: GroupBy | None = None) -> tuple[str, ...]:
        """Return the names of the group columns, which come first in the result."""
        return tuple(dimension.column for dimension in self._dimensions(by))

    def columns(self, by: GroupBy | None = None) -> tuple[str, ...]:
        """Return the names of all columns of the result."""
        return (*self.groups(by), *(column.name for column in self.value_columns(by)))

    def value_columns(self, by: GroupBy | None = None) -> tuple[ResultColumn, ...]:
        """Return the result's columns after the group columns.

        A column by which the rows are grouped is a group column, not listed here.
        """
        return self.value_columns_of(self.groups(by))

    def value_columns_of(self, groups: tuple[str, ...]) -> tuple[ResultColumn, ...]:
        """Return the result's columns after ``groups``, the names of the group columns."""
        return tuple(column for column in self.header.columns if column.name not in groups)

    @property
    def gathers(self) -> bool:
        """Whether the SQL only gathers, and Python makes the answer of it."""
        return bool(self.header.reasoner) or gather.is_gather(self.text)

    @property
    def has_sides(self) -> bool:
        """Whether the query compares two sides."""
        return any(parameter.type == "side" for parameter in self.header.parameters)

    def comparison(self, by: GroupBy | None = None, *, now: datetime | None = None, **params: Any) -> Comparison | None:
        """Return the two sides that ``params`` name; None for a query that compares none. Raises BadParameter."""
        if not self.has_sides:
            return None
        if params.get("after") is None:
            given = ", ".join(
                f"{name}={params[name]!r}" for name in ("before", "since") if params.get(name) is not None
            )
            raise BadParameter(
                f"query {self.name} needs two sides, such as {example(choose_names(by))} or after='7d' (with the 7 days before); "
                f"got {given or 'neither'}"
            )
        names = ("before", "after", "since", "until", "tool")
        return Comparison.parse(**{name: params.get(name) for name in names}, now=now)

    def render(self, by: GroupBy | None = None, *, comparison: Comparison | None = None) -> str:
        """Return the SQL, grouped ``by`` these dimensions; None is the default. Raises BadParameter.

        ``comparison``: the sides that are compared.
        """
        by = self._apart_from(by, comparison)
        side = None if comparison is None else comparison.dimension
        names = [parameter.name for parameter in self.header.parameters]
        return gather.render(self.text, self._dimensions(by), names, side, self.header.within)

    def statement(self, by: GroupBy | None = None, *, only: tuple[str, ...] = (), **params: Any) -> Statement:
        """Return the statement for a store: SQL, bound values and the meanings of columns. Raises BadParameter.

        ``only``: the columns to return, those by which the rows are grouped first; empty for all.
        """
        comparison = self.comparison(by, **params)
        by = self._apart_from(by, comparison)
        bound, sql = self.bind(**params), self.render(by, comparison=comparison)
        used = _used_parameters(sql)
        return Statement(
            sql=sql,
            conclude=conclusion(self, self.groups(by), bound) if self.gathers else None,
            only=only,
            params={name: value for name, value in bound.items() if name in used},
            name=self.name,
            columns=self.header.columns,
            groups=self.groups(by),
            content=self.header.content,
        )

    def render_with_values(self, by: GroupBy | None = None, *, now: datetime | None = None, **params: Any) -> str:
        """Return the SQL with literal values in place of its parameters, for a person to copy and run.

        The heading ends with what Python makes of its rows, if anything. A required parameter without a value stays ``$name``. Raises BadParameter.
        """
        self._require_known(params)
        now = now or datetime.now(UTC)
        comparison = self.comparison(by, now=now, **params) if params.get("after") is not None else None
        values = {
            parameter.name: parameter.bind(params.get(parameter.name), now)
            for parameter in self.header.parameters
            if not parameter.required or params.get(parameter.name) is not None
        }
        literals = {name: literal(value) for name, value in _with_sides(values, comparison).items()}
        sql = _TOKEN.sub(lambda token: literals.get(token[1] or "", token[0]), self.render(by, comparison=comparison))
        heading, body = gather.heading_and_sql(sql)
        note = describe(self)
        return f"{heading}-- {note}\n{body}" if note else sql

    def bind(self, *, now: datetime | None = None, **params: Any) -> dict[str, ParamValue]:
        """Return a value for each parameter; None gives the default. Spans count back from ``now``.

        Raises BadParameter for an invalid value or an unknown name.
        """
        self._require_known(params)
        now = now or datetime.now(UTC)
        comparison = self.comparison(None, now=now, **params)
        values = {
            parameter.name: parameter.bind(params.get(parameter.name), now) for parameter in self.header.parameters
        }
        return _with_sides(values, comparison)

    def _require_known(self, params: dict[str, object]) -> None:
        known = [parameter.name for parameter in self.header.parameters]
        for name, value in params.items():
            if name not in known and value is not None:
                raise BadParameter(
                    f"query {self.name} has no parameter {name!r}: its parameters are {', '.join(known)}{near(name, known)}"
                )

    def _apart_from(self, by: GroupBy | None, comparison: Comparison | None) -> GroupBy | None:
        """Return ``by`` without the dimension whose values are compared: a group would have one side only."""
        compared = None if comparison is None else comparison.dimension
        if compared is None or compared not in self._dimensions(by):
            return by
        if by is None:
            return tuple(name for name in self.header.default_by if DIMENSIONS[name] != compared)
        raise BadParameter(
            f"parameter 'by' must not have {compared.column!r}, whose values are compared: each group would have one side only"
        )

    def _dimensions(self, by: GroupBy | None) -> tuple[Dimension, ...]:
        return choose(self.header.default_by if by is None else by, self.header.by, self.name)


def _with_sides(values: dict[str, ParamValue], comparison: Comparison | None) -> dict[str, ParamValue]:
    """Return ``values`` with the ends and values of the sides in place of the parameters that name them."""
    if comparison is None:
        return values
    return {name: value for name, value in values.items() if name not in (*SIDES, *WINDOW)} | comparison.bound


def load(path: Path) -> Query:
    """Load the query in the file ``path``. Raises QueryError, with the file and the line, for an invalid one."""
    if not path.stem.isidentifier():
        raise QueryError(f"{path.stem!r} is not a valid query name (letters, digits and _): rename the file {path}")
    text = path.read_text(encoding="utf-8")
    query = Query(name=path.stem, path=path, text=text, header=parse(text, path))
    _check_parameters(query)
    _check_grouping(query)
    return query


def _check_parameters(query: Query) -> None:
    declared = {parameter.name for parameter in query.header.parameters}
    if query.has_sides:  # the sides are bound by their ends and values, see Comparison
        declared = (declared - {*SIDES, *WINDOW}) | BOUND
    used = _used_parameters(query.text)
    for name in used.keys() - declared:
        raise _fault(query, used[name], f"parameter ${name} is used but not declared in the heading")
    # what is declared and not used in SQL that gathers is for the window or the reasoner
    for name in sorted(declared - used.keys()) if not query.gathers else ():
        found = re.search(rf"^--\s+{name}\b", query.text, re.MULTILINE)
        raise _fault(
            query,
            found.start() if found else 0,
            f"parameter {name!r} is declared in the heading but ${name} is not used",
        )


def _used_parameters(sql: str) -> dict[str, int]:
    """Return the names of the parameters in ``sql``, each with the offset of its last use."""
    return {found[1]: found.start() for found in _TOKEN.finditer(sql) if found[1]}


def _check_grouping(query: Query) -> None:
    if gather.is_grouped(query.text) != bool(query.header.by):
        raise _fault(query, 0, "the heading must have 'by:' exactly if the SQL has {by}")


def _fault(query: Query, offset: int, cause: str) -> QueryError:
    line = query.text.count("\n", 0, offset) + 1
    return QueryError(f"invalid query file {query.path}:{line}: {cause}")
