"""The tools that compute: ``ask`` (the named queries), ``compare`` and ``sql``."""

from __future__ import annotations

from typing import Any, Final

from tooltrace.analysis import catalogue
from tooltrace.analysis.catalog import listed
from tooltrace.analysis.sides import Comparison, parse_words
from tooltrace.errors import BadParameter
from tooltrace.mcp_server.answer import cell, table_answer
from tooltrace.mcp_server.arguments import ToolArgument
from tooltrace.mcp_server.served_store import ServedStore
from tooltrace.mcp_server.tools import SINCE, TOOL, UNTIL, Caller, ServedTool, limit
from tooltrace.mcp_server.verdicts import verdict_of

_LISTS: Final = frozenset({"attempts", "compare", "recent", "to_label"})
"""Queries that another tool answers."""


def questions() -> tuple[str, ...]:
    """Return the names of the queries that ``ask`` answers: those about a window, without a required parameter."""
    return tuple(
        query.name
        for query in listed()
        if query.name not in _LISTS
        and {"since", "until"} <= {parameter.name for parameter in query.header.parameters}
        and not any(parameter.required for parameter in query.header.parameters)
    )


async def _ask(store: ServedStore, _caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    query = catalogue()[given["question"]]
    window = {name: given[name] for name in ("since", "until", "tool")}
    result = await store.query(query.name, given["by"] or None, **window)
    verdict = verdict_of(query, result)
    about = {"verdict": verdict, "question": query.question, "meanings": f"resource tooltrace://queries/{query.name}"}
    more = "limit up to 200, one tool=…, a shorter since/until, or coarser by=…"
    return table_answer(result, about, rows=given["limit"], more=more, characters=store.characters)


async def _compare(store: ServedStore, _caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    try:
        before, after = parse_words(given["what"])
        sides = Comparison.parse(before, after, since=given["since"], until=given["until"], tool=given["tool"])
    except BadParameter as error:
        raise BadParameter(
            f"compare needs what='7d' (with the 7 days before), '14d..7d 7d', 'version:A version:B' or 'agent:A agent:B': {error}"
        ) from error
    result = await store.query("compare", **sides.params)
    about = {
        "verdict": verdict_of(catalogue()["compare"], result),
        "compared": cell(given["what"])[0],
        "read": "worse and better hold for all comparisons together; maybe_* may be chance",
    }
    return table_answer(result, about, rows=200, more="one tool=…", characters=store.characters)


async def _sql(store: ServedStore, _caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    result = await store.sql(given["query"])
    return table_answer(
        result,
        {"ms": result.ms},
        rows=given["limit"],
        more="LIMIT and OFFSET, fewer columns, left(column, n), or aggregates",
        characters=store.characters,
        writer="unknown",
    )


def tools() -> tuple[ServedTool, ...]:
    """Return the tools of this module."""
    return (
        ServedTool(
            name="ask",
            description="Statistics with n and 95 % intervals. ranking: which tools to look at first.",
            arguments=(
                ToolArgument(name="question", choices=questions(), required=True),
                ToolArgument(name="by", meaning="tool, version, code, agent, conversation, day, …; commas"),
                SINCE,
                UNTIL,
                TOOL,
                limit(50, 200),
            ),
            handler=_ask,
        ),
        ServedTool(
            name="compare",
            description="Is a tool better or worse than before? Verdicts of failure rate, latency, accuracy.",
            arguments=(
                ToolArgument(
                    name="what",
                    meaning="7d: with the 7 days before; version:A version:B; agent:A agent:B",
                    required=True,
                ),
                SINCE,
                UNTIL,
                TOOL,
            ),
            handler=_compare,
        ),
        ServedTool(
            name="sql",
            description="One SELECT (DuckDB) in a sandbox, over the tables of the resource tooltrace://schema.",
            arguments=(ToolArgument(name="query", required=True), limit(200, 1000)),
            handler=_sql,
        ),
    )
