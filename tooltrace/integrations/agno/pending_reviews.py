"""Pending questions to a person, found again when the answer arrives, also in another process.

Agno stores a paused call in its own form (``ToolExecution``) without our data. Therefore the span id of a paused
attempt is derived from what Agno does store: the run, the call, the tool and the time.
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from tooltrace.integrations.reviews import PendingReview, pending


def kind_of(tool: Any) -> str:
    """Return the kind of decision that ``tool``, a paused ``ToolExecution``, waits for."""
    if tool.external_execution_required:
        return "external"
    needs_input = tool.user_input_schema is not None or getattr(tool, "user_feedback_schema", None) is not None
    return "input" if tool.requires_user_input or needs_input else "confirmation"


def asked_at(tool: Any) -> datetime:
    """Return the time at which ``tool`` was paused, in whole seconds, as Agno stores it."""
    return datetime.fromtimestamp(tool.created_at, UTC)


def key_of(tool: Any, run_id: str | None) -> str | None:
    """Return the key of the question about ``tool``: the derived span id in hex; None if the model's call has no id."""
    derived = derived_span_id(tool, run_id)
    return None if derived is None else f"{derived:016x}"


def find_pending(tool: Any, run_id: str | None) -> PendingReview | None:
    """Return the question about ``tool``; None if the model's call has no id."""
    span_id = key_of(tool, run_id)
    if span_id is None:
        return None
    return pending.pop(span_id) or PendingReview(span_id, str(tool.tool_call_id), kind_of(tool), asked_at(tool))


def derived_span_id(tool: Any, run_id: str | None) -> int | None:
    """Return the span id of the attempt that paused ``tool``; None if the model's call has no id.

    The id is a hash of data that Agno stores.
    """
    if not tool.tool_call_id:
        return None
    identity = "\0".join(map(str, ("agno", run_id, tool.tool_call_id, tool.tool_name, tool.created_at)))
    return int.from_bytes(sha256(identity.encode("utf-8", "replace")).digest()[:8], "big") or 1
