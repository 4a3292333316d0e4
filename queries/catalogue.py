"""All questions by name."""

from __future__ import annotations

import difflib
from functools import cache
from pathlib import Path

from tooltrace.errors import UnknownQuery
from tooltrace.queries.query import Query, load


def catalogue() -> dict[str, Query]:
    """Every query that comes with the package, by name. Raises QueryError where a file is wrong."""
    return dict(_loaded(Path(__file__).parent))


def find(name: str) -> Query:
    """The query of that name. Raises UnknownQuery with the nearest name."""
    queries = _loaded(Path(__file__).parent)
    if name in queries:
        return queries[name]
    near = difflib.get_close_matches(name, queries, 1, 0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(queries)}"
    raise UnknownQuery(f"no query {name!r}; {hint}")


@cache
def _loaded(directory: Path) -> dict[str, Query]:
    return {path.stem: load(path) for path in sorted(directory.glob("*.sql"))}
