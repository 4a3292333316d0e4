"""The list of queries by group, which ``tooltrace query`` prints without a name."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from rich.text import Text

from tooltrace.analysis import Query
from tooltrace.analysis.catalog import listed
from tooltrace.analysis.header import GROUPS
from tooltrace.cli.output import write
from tooltrace.cli.table import console
from tooltrace.cli.wrapping import print_wrapped
from tooltrace.store.result import QueryResult, Statement

_COLUMNS: Final = ("group", "query", "question")


def write_list(form: str, *, everything: bool, limit: int | None) -> None:
    """Print the most frequent questions, or with ``everything`` all queries for people."""
    order = list(GROUPS)
    found = [query for query in listed() if everything or query.header.is_first]
    found.sort(key=lambda query: (order.index(query.header.group), not query.header.is_first))
    found = found[:limit]
    if form == "table":
        _print(found)
        return
    rows = [(query.header.group, query.name, query.question) for query in found]
    write(QueryResult.of_rows([(name, "VARCHAR") for name in _COLUMNS], rows, Statement(sql="")), form)


def _print(queries: list[Query]) -> None:
    out = console()
    width = max(len(query.name) for query in queries) + 2
    for group, members in groupby(queries, key=lambda query: query.header.group):
        out.print(Text(GROUPS[group], style="bold"))
        for query in members:
            print_wrapped(out, Text(f"  {query.name:<{width}}{query.question}"), indent=width + 2)
