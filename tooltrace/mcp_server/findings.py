"""The tool ``findings``: what is wrong with which tool, in the list that the command and the Python API give."""

from __future__ import annotations

from functools import partial
from typing import Any

from tooltrace.diagnosis.diagnose import diagnose_store
from tooltrace.diagnosis.finding import as_result
from tooltrace.mcp_server.answer import table_answer
from tooltrace.mcp_server.served_store import ServedStore
from tooltrace.mcp_server.tools import TOOL, Caller, ServedTool, limit


async def _findings(store: ServedStore, _caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    find = partial(diagnose_store, store.store, tool=given["tool"])
    return table_answer(
        as_result(await store.run(find)),
        {"order": "the most urgent first, then by cost; severity problem, warning or note"},
        rows=given["limit"],
        more="limit, tool",
        characters=store.characters,
        writer="tool",  # a sentence may quote an error message
    )


def tools() -> tuple[ServedTool, ...]:
    """Return the tool of this module."""
    return (
        ServedTool(
            name="findings",
            description="What is wrong with which tool, since when, what it costs, what to do: of all of the history.",
            arguments=(TOOL, limit(20, 100)),
            handler=_findings,
        ),
    )
