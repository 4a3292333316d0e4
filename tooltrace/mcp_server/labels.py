"""The tool ``label``: an agent's own judgement of a call, which statistics leave out unless the operator names a labeler."""

from __future__ import annotations

from functools import partial
from typing import Any

from tooltrace.errors import BadParameter
from tooltrace.labels.label import AGENT_PREFIX, make_outcome
from tooltrace.labels.writer import write_label
from tooltrace.mcp_server.arguments import ToolArgument
from tooltrace.mcp_server.served_store import ServedStore
from tooltrace.mcp_server.tools import CALL_ID, Caller, ServedTool
from tooltrace.recording.settings import Settings


async def _label(labeler: str | None, store: ServedStore, caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    found = await store.query("call", id=given["call_id"], limit=1)
    if not found.rows:
        raise BadParameter("unknown call id; nothing was recorded")
    if found.dicts()[0]["named"] > 1 or found.dicts()[0]["match"] == "prefix":
        raise BadParameter("this id does not name exactly one call: pass a span_id; nothing was recorded")
    name = labeler or f"{AGENT_PREFIX}{caller.name}"
    is_span = found.dicts()[0]["match"] == "span_id"
    outcome = make_outcome(
        Settings(store=None),
        call_id=None if is_span else given["call_id"],
        span_id=given["call_id"] if is_span else None,
        correct=given["correct"],
        labeler=name,
        reason=given["reason"],
        labeler_kind="agent",
    )
    sent = await store.run(write_label, outcome, store.store)
    return {
        "about": {"recorded": True, "labeler": name, "counts_as_truth": labeler is not None, "sent": sent},
        "cut": None,
    }


def tools(labeler: str | None) -> tuple[ServedTool, ...]:
    """Return the tool of this module. ``labeler``: record labels under this name, so that they count as those of others."""
    return (
        ServedTool(
            name="label",
            description="Records your judgement of a call. It is kept apart from people's labels.",
            arguments=(
                CALL_ID,
                ToolArgument(name="correct", kind="flag", required=True),
                ToolArgument(name="reason"),
            ),
            handler=partial(_label, labeler),
            writes=True,
        ),
    )
