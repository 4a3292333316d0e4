"""The tool ``conversation``: one line for each step, and the loops that the query ``loops`` finds in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from tooltrace.errors import QueryError
from tooltrace.mcp_server.answer import Json, cell, computed, dumped, table_answer
from tooltrace.mcp_server.arguments import ToolArgument
from tooltrace.mcp_server.calls import ERROR
from tooltrace.mcp_server.provenance import writer_of
from tooltrace.mcp_server.served_store import ServedStore
from tooltrace.mcp_server.tools import Caller, ServedTool
from tooltrace.store.result import QueryResult, ResultColumn, Statement

MAX_LOOPS: Final = 20
"""Loops that an answer lists."""
MAX_TOOLS: Final = 80
"""Characters of the names of a loop's tools."""
_REQUESTS: Final = """
SELECT span_id, arguments_key(CAST(arguments AS VARCHAR)) AS request
FROM tool_calls
WHERE conversation_id = $conversation AND arguments IS NOT NULL
"""
_LOOP: Final = (
    *("kind", "length", "repeats", "distinct_arguments", "distinct_results", "wasted_ms", "wasted_tokens", "running"),
)
_UNITS: Final = (
    ("step", "count"), ("at_s", "number"), ("kind", "text"), ("status", "text"), ("ms", "ms"), ("attempt", "count"),
    ("loop", "count"), ("tool", "text"), ("code", "text"), ("call_id", "text"), ("error", "text"),
)  # fmt: skip
_FIELDS: Final = tuple(ResultColumn(name=name, unit=unit, meaning="") for name, unit in _UNITS)

Row = Mapping[str, Any]


async def _conversation(store: ServedStore, _caller: Caller, given: dict[str, Any]) -> Json:
    conversation = given["id"]
    steps = (await store.query("steps", conversation=conversation)).dicts()
    if not steps:
        raise QueryError("no conversation with this id: the column conversation of attempts() has the ids")
    loops = (await store.query("loops", conversation=conversation, limit=MAX_LOOPS)).dicts()
    requests: dict[str, str] = {}
    if loops:
        statement = Statement(name="conversation", sql=_REQUESTS, params={"conversation": conversation})
        requests = {row["span_id"]: row["request"] for row in await store.rows(statement)}
    numbers = loop_numbers(steps, loops, requests)
    begin = steps[0]["started_at"]
    first = max((given["step"] or 1) - 1, 0)
    rows = [
        (
            number, round((row["started_at"] - begin).total_seconds(), 3), row["kind"], row["status"], row["duration_ms"],
            row["attempt"], numbers.get(row["span_id"]), row["tool"] or row["span"], row["code"], row["call_id"],
            row["message"][:ERROR] if row["message"] and row["status"] not in (None, "success", "ok") else None,
        )
        for number, row in enumerate(steps, 1)
    ]  # fmt: skip
    about = {
        "steps": len(steps),
        "started_at": computed(begin),
        "loops": len(loops),
        "read": "at_s: seconds from the start; loop: number of the entry in loops; a loop of the kind poll is waiting, "
        "not a fault; see resource tooltrace://queries/loops",
    }
    listed = _listed(loops, store.characters // 4)
    result = QueryResult(_FIELDS, ["VARCHAR"] * len(_FIELDS), rows[first:])
    space = store.characters - len(dumped(listed)) - len('"loops":,')
    answer = table_answer(result, about, rows=len(rows), more="", characters=space)
    if answer["cut"] and "rows" in answer["cut"]:
        answer["cut"]["more"] = f"conversation(id, step={first + len(answer['rows']) + 1})"
    if listed:
        answer["written_by"]["tools"] = writer_of("tools")
    return {"about": answer.pop("about"), "loops": listed, **answer}


def loop_numbers(steps: Sequence[Row], loops: Sequence[Row], requests: Mapping[str, str]) -> dict[str, int]:
    """Return the number of the loop that an attempt belongs to, from 1, by span id; the first one where there are several.

    ``steps`` and ``loops`` are rows of these queries; ``requests``: a key of the arguments of an attempt, by span id. A loop
    of the kind repeat or poll consists of the tool's calls with equal arguments in its time, one of the kind error of all
    calls of the tool, and an alternation of all calls of the agent.
    """
    attempts = [row for row in steps if row["kind"] == "tool"]
    begins: dict[tuple[str, str], datetime] = {}
    for row in attempts:
        begins.setdefault((row["tool"], row["call_id"]), row["started_at"])
    found: dict[str, int] = {}
    for number, loop in enumerate(loops, 1):
        for row in attempts:
            inside = loop["first"] <= begins[row["tool"], row["call_id"]] <= loop["last"]
            if not inside or (row["agent"] or None) != loop["agent"]:
                continue
            if loop["kind"] != "alternation" and row["tool"] != loop["tools"]:
                continue
            if loop["kind"] in ("repeat", "poll") and requests.get(row["span_id"]) != requests.get(loop["span_id"]):
                continue
            found.setdefault(row["span_id"], number)
    return found


def _listed(loops: Sequence[Row], space: int) -> list[Json]:
    """Return as many loops as fit into ``space`` characters."""
    listed: list[Json] = []
    for number, loop in enumerate(loops, 1):
        one = {
            "computed": {"loop": number, **{name: computed(loop[name]) for name in _LOOP}},
            "copied": {"tools": cell(loop["tools"], MAX_TOOLS)[0]},
        }
        space -= len(dumped(one)) + 1
        if space < 0:
            break
        listed.append(one)
    return listed


def tools() -> tuple[ServedTool, ...]:
    """Return the tool of this module."""
    return (
        ServedTool(
            name="conversation",
            description="The steps of a conversation, one line each; loops are marked.",
            arguments=(
                ToolArgument(name="id", required=True),
                ToolArgument(name="step", kind="integer", most=1_000_000, meaning="first step"),
            ),
            handler=_conversation,
        ),
    )
