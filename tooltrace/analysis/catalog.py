"""Catalogue of all queries by name."""

from __future__ import annotations

import difflib
from functools import cache
from pathlib import Path

from tooltrace import assets
from tooltrace.analysis.query import Query, load
from tooltrace.errors import UnknownQuery

PAGES = "pages"
"""The group of the queries that are parts of pages and commands."""
_FOLDER = assets.path("queries")


def catalogue() -> dict[str, Query]:
    """Return every query of the package, by name. Raises QueryError for an invalid file."""
    return {name: _loaded(_FOLDER / f"{name}.sql") for name in _names()}


def find(name: str) -> Query:
    """Return the query of that name. Raises UnknownQuery with the nearest name."""
    names = _names()
    if not isinstance(name, str):
        raise UnknownQuery(f"the name of a query is a text, such as 'failure_rate', got {name!r}")
    if name in names:
        return _loaded(_FOLDER / f"{name}.sql")
    similar = nearest(name)
    hint = f"did you mean {similar!r}?" if similar else f"the queries are {', '.join(each.name for each in listed())}"
    raise UnknownQuery(f"no query {name!r}: {hint}")


def listed() -> list[Query]:
    """Return the queries for people, in the order of their names: all but the parts of pages and commands."""
    return [query for query in catalogue().values() if query.header.group != PAGES]


def nearest(name: str) -> str | None:
    """Return the name that is similar to ``name``; None where no query has one."""
    return next(iter(difflib.get_close_matches(name, _names(), 1, 0.5)), None)


def has(name: str) -> bool:
    """Whether ``name`` is the name of a query."""
    return name in _names()


# The files are part of the installed package, so a process reads each of them once.
@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.sql")))


@cache
def _loaded(path: Path) -> Query:
    return load(path)
