"""Completion of names by the shell. It reads what can be read at once, and never folds, waits or fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import wraps
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from tooltrace.analysis import Query, catalog, find
from tooltrace.analysis.dimensions import ATTRIBUTES, DIMENSIONS
from tooltrace.recording.settings import default_address, default_store
from tooltrace.store.url import Place, address_of

STORE_ARGUMENT = "store_argument"
"""Name of the argument STORE."""
_STORE = "tooltrace.cli.completion.store"
"""Key under which the context keeps the store of the command line."""

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
_Names = Callable[[click.Context], Iterable[str | tuple[str, str]]]


def remember_store(ctx: click.Context, place: Place | None) -> None:
    """Keep the store of the command line for the functions below."""
    ctx.meta[_STORE] = place


def _completing(names: _Names) -> Complete:
    """Return the completion of one name of ``names``: texts, or pairs of a text and its meaning."""

    @wraps(names)
    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return _items(names, ctx, incomplete, "")

    return complete


def _completing_several(names: _Names) -> Complete:
    """Return the completion of the last of several names with commas between them."""

    @wraps(names)
    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",")
        return _items(names, ctx, last, before + comma)

    return complete


def _items(names: _Names, ctx: click.Context, incomplete: str, before: str) -> list[CompletionItem]:
    pairs: list[tuple[str, str]] = []
    # The shell would print an error into the line that is being typed.
    with suppress(Exception):
        pairs = [(each, "") if isinstance(each, str) else each for each in names(ctx)]
    return [
        CompletionItem(before + name, help=help_text or None)
        for name, help_text in pairs
        if name.startswith(incomplete)
    ]


@_completing
def complete_queries(_ctx: click.Context) -> Iterable[tuple[str, str]]:
    """Complete the name of a query."""
    for query in catalog.listed():
        yield query.name, query.question


@_completing
def complete_destinations(_ctx: click.Context) -> Iterable[str]:
    """Complete the name of a destination of ``tooltrace export``."""
    from tooltrace.exporters.registry import available

    return available()


@_completing
def complete_tables(_ctx: click.Context) -> Iterable[tuple[str, str]]:
    """Complete the name of a table."""
    from tooltrace.store.database.documented_tables import documented_tables

    return ((table.name, table.comment) for table in documented_tables())


@_completing
def complete_tools(ctx: click.Context) -> Iterable[str]:
    """Complete the name of a recorded tool."""
    return sorted({tool for tool, _ in _recorded(ctx)})


@_completing
def complete_sides(ctx: click.Context) -> Iterable[str]:
    """Complete a side of ``tooltrace compare``: a version, another dimension, or a time."""
    versions = sorted({f"version:{version}" for _, version in _recorded(ctx) if version is not None})
    return (*versions, *(f"{name}:" for name in DIMENSIONS if name != "version"), f"{ATTRIBUTES}.", "1d", "7d", "30d")


@_completing_several
def complete_dimensions(ctx: click.Context) -> Iterable[str]:
    """Complete the dimensions of the query that the command line names; all dimensions without one."""
    query = _query(ctx)
    known = query.header.by if query else (*DIMENSIONS, ATTRIBUTES)
    return [f"{ATTRIBUTES}." if name == ATTRIBUTES else name for name in known] + ["none"]


@_completing_several
def complete_columns(ctx: click.Context) -> Iterable[tuple[str, str]]:
    """Complete the columns of the query that the command line names."""
    query = _query(ctx)
    if query is None:
        return []
    return [*((name, "") for name in query.groups()), *((each.name, each.meaning) for each in query.header.columns)]


def complete_parameters(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete ``NAME=`` for the query that the command line names, and the value where it is a tool or a version."""
    name, equals, value = incomplete.partition("=")
    values = {
        "tool": lambda: {tool for tool, _ in _recorded(ctx)},
        "version": lambda: {v for _, v in _recorded(ctx) if v},
    }
    with suppress(Exception):
        if equals:
            named = values.get(name.removeprefix("before_"), set)()
            return [CompletionItem(f"{name}={each}") for each in sorted(named) if each.startswith(value)]
        query = _query(ctx)
        parameters = query.header.parameters if query else ()
        return [CompletionItem(f"{each.name}=", help=each.meaning) for each in parameters if each.name.startswith(name)]
    return []


def _query(ctx: click.Context) -> Query | None:
    """Return the query that the command line names. Raises UnknownQuery."""
    name = "compare" if ctx.info_name == "compare" else ctx.params.get("name") or _argument(ctx, "name")
    return find(name) if name else None


def _argument(ctx: click.Context, name: str) -> str | None:
    """Return the text of an argument.

    Where an option waits for its value, click has not assigned the arguments to parameters yet: they stand in
    ``ctx.args`` in their order.
    """
    names = [param.name for param in ctx.command.params if isinstance(param, click.Argument)]
    return ctx.args[names.index(name)] if name in names and names.index(name) < len(ctx.args) else None


def _place(text: str | None) -> Place | None:
    return None if text is None else address_of(text) or Path(text)


def _recorded(ctx: click.Context) -> set[tuple[str, str | None]]:
    """Return the recorded tools and versions. A remote store is not connected to: its answer could take long."""
    from tooltrace.store.read.tool_names import tools_at_once

    place = ctx.meta.get(_STORE) or _place(_argument(ctx, STORE_ARGUMENT)) or default_address() or default_store()
    return tools_at_once(place) if isinstance(place, Path) else set()
