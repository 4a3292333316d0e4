"""One named question: its file, checked when loaded, and what is asked with it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tooltrace.errors import BadParameter, QueryError
from tooltrace.queries.dimensions import DIMENSIONS, Dimension, choose
from tooltrace.queries.heading import Heading, parse
from tooltrace.queries.parameters import Bound

By = str | Iterable[str]
"""Dimensions: a list of names, or one text with commas. Empty: one group of everything."""

_REGION = re.compile(r"/\* by( names)? \*/ ?(.*?) ?/\* end by \*/", re.DOTALL)
_TOKEN = re.compile(r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$([A-Za-z_]\w*)""", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question over the tables that a user may rely on."""

    name: str
    path: Path
    text: str
    """The whole file: valid SQL as it stands, grouped by the default."""
    heading: Heading

    @property
    def question(self) -> str:
        """The question in one line."""
        return self.heading.question

    def groups(self, by: By | None = None) -> tuple[str, ...]:
        """Names of the group's columns, which stand first in the answer."""
        return tuple(dimension.column for dimension in self._dimensions(by))

    def columns(self, by: By | None = None) -> tuple[str, ...]:
        """Names of all columns of the answer."""
        return (*self.groups(by), *(column.name for column in self.heading.columns))

    def render(self, by: By | None = None) -> str:
        """The SQL, grouped ``by`` these dimensions; None is the default. Raises BadParameter."""
        chosen = self._dimensions(by)
        return _REGION.sub(lambda region: _region(chosen, names_only=bool(region[1])), self.text)

    def bind(self, *, now: datetime | None = None, **given: object) -> dict[str, Bound]:
        """A value for each parameter; None takes the default. Spans count back from ``now``.

        Raises BadParameter for a value or a name that the query does not take.
        """
        now = now or datetime.now(UTC)
        known = [parameter.name for parameter in self.heading.parameters]
        for name, value in given.items():
            if name not in known and value is not None:
                raise BadParameter(f"{self.name} takes no {name}; it takes {', '.join(known)}; nothing was asked")
        return {parameter.name: parameter.bind(given.get(parameter.name), now) for parameter in self.heading.parameters}

    def _dimensions(self, by: By | None) -> tuple[Dimension, ...]:
        return choose(self.heading.default_by if by is None else by, self.heading.by, self.name)


def load(path: Path) -> Query:
    """The query in the file ``path``. Raises QueryError, with the file and the line, for a wrong one."""
    if not path.stem.isidentifier():
        raise QueryError(f"{path.stem!r} is no name for a query; it cannot be used: {path}")
    text = path.read_text(encoding="utf-8")
    query = Query(name=path.stem, path=path, text=text, heading=parse(text, path))
    _check_parameters(query)
    _check_regions(query)
    return query


def _region(chosen: tuple[Dimension, ...], *, names_only: bool) -> str:
    parts = "".join(f"{dimension.name if names_only else dimension.sql}, " for dimension in chosen)
    return f"/* by{' names' if names_only else ''} */ {parts}/* end by */"


def _check_parameters(query: Query) -> None:
    stated = {parameter.name for parameter in query.heading.parameters}
    used = {found[1]: found.start() for found in _TOKEN.finditer(query.text) if found[1]}
    for name in used.keys() - stated:
        raise _fault(query, used[name], f"${name} is used, and the heading does not state it")
    for name in sorted(stated - used.keys()):
        found = re.search(rf"^--\s+{name}\b", query.text, re.MULTILINE)
        raise _fault(query, found.start() if found else 0, f"the heading states {name!r}, and ${name} is not used")


def _check_regions(query: Query) -> None:
    regions = list(_REGION.finditer(query.text))
    if bool(regions) != bool(query.heading.by):
        raise _fault(query, 0, "'by:' in the heading and /* by */ in the SQL go together, and one is missing")
    default = tuple(DIMENSIONS[name] for name in query.heading.default_by)
    for region in regions:
        if region[0] != (expected := _region(default, names_only=bool(region[1]))):
            raise _fault(query, region.start(), f"the region is not the default grouping, {expected!r}")
    rest = _REGION.sub(lambda region: re.sub(r"[^\n]", " ", region[0]), query.text)
    if cut := re.search(r"/\* (end )?by", rest):
        raise _fault(query, cut.start(), "a region of /* by */ … /* end by */ is cut short")


def _fault(query: Query, offset: int, cause: str) -> QueryError:
    line = query.text.count("\n", 0, offset) + 1
    return QueryError(f"{cause}; the query cannot be used: {query.path}:{line}")
