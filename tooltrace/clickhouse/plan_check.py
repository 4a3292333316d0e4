"""Check of a query's plan by the server itself, before the query runs: the final check of the tables that it reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import Final

from tooltrace.clickhouse.sql.translate import TranslatedQuery
from tooltrace.errors import QueryError

_READS: Final = ("SelectWithUnionQuery", "DescribeQuery")
_NO_DATA: Final = ("generate_series", "unnest", "SQLStandardValues")
"""Table functions that read no data."""
_WITHIN: Final = re.compile(r"(?i)function (global)?(not)?(null)?in\b")


def require_allowed_tables(execute: Callable[[str], str], script: TranslatedQuery, only: Collection[str]) -> None:
    """Raise QueryError if ``script`` reads anything but the tables ``only`` and its own steps.

    ``execute`` executes a statement and returns its result as text. The text of ``script`` is a translation, which the
    server may parse differently than its author intended; therefore the server's own plan is checked.
    """
    known = {*only, *script.steps}
    for sql in (*(table.sql for table in script.temp_tables), script.select):
        for read in _tables_read(execute(f"EXPLAIN AST {sql}").splitlines(), known):
            raise QueryError(f"only the tables of the store can be read here; got {read[:100]}")


def _tables_read(nodes: list[str], known: Collection[str]) -> Iterator[str]:
    """Yield everything that is read beyond ``known``.

    A name with a line break adds lines to the plan, and so can only lead to a refusal.
    """
    if not nodes or not nodes[0].startswith(_READS):
        yield "another kind of statement"
    for number, node in enumerate(nodes):
        kind, _, rest = node.strip().partition(" ")
        name = rest.partition(" (")[0]
        # A function that stands in FROM is a table function.
        behind = number > 0 and nodes[number - 1].strip().startswith("TableExpression")
        if kind == "TableIdentifier" and name not in known:
            yield name
        elif kind == "Function" and behind and name.lower() not in map(str.lower, _NO_DATA):
            yield f"{name}()"
        elif kind == "Set":
            yield "settings"
        elif _WITHIN.match(node.strip()):
            yield from _tables_named(nodes[number:])


def _tables_named(nodes: list[str]) -> Iterator[str]:
    """Yield the tables that an IN names: a bare name after IN is a table."""
    depth = _depth(nodes[0])
    # The first three lines are the function, its list of arguments and the tested value.
    for node in nodes[3:]:
        if _depth(node) <= depth:
            return
        if _depth(node) == depth + 2 and node.strip().startswith("Identifier"):
            yield node.strip().removeprefix("Identifier ")


def _depth(node: str) -> int:
    return len(node) - len(node.lstrip(" "))
