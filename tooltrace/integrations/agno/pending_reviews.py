"""Pending questions to a person, found again when the answer arrives, also in another process.

Agno stores a paused call in its own form (``ToolExecution``) without our data. Therefore the span id of a paused
attempt is derived from what Agno does store: the run, the call, the tool and the time.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, NamedTuple

from opentelemetry.trace import SpanContext

REMEMBERED = 1000
"""Maximum number of unanswered questions that a process stores, for the data that cannot be derived."""


class PendingReview(NamedTuple):
    """A question to a person about one call."""

    span_id: str
    """Span id of the paused attempt, in hex."""
    call_id: str
    kind: str
    """``confirmation``, ``input`` or ``external``."""
    at: datetime
    number: int = 1
    """Number of the paused attempt. Agno does not store it: 1 is assumed for a question of another process."""
    span: SpanContext | None = None
    """The paused span, to link to, if this process paused the call; else None."""
    arguments: dict[str, Any] | None = None
    """The model's arguments, if this process paused the call; else None."""


_remembered: dict[str, PendingReview] = {}


def kind_of(tool: Any) -> str:
    """Return the kind of decision that ``tool``, a paused ``ToolExecution``, waits for."""
    if tool.external_execution_required:
        return "external"
    asks = tool.user_input_schema is not None or getattr(tool, "user_feedback_schema", None) is not None
    return "input" if tool.requires_user_input or asks else "confirmation"


def asked_at(tool: Any) -> datetime:
    """Return the time at which ``tool`` was paused, in whole seconds, as Agno stores it."""
    return datetime.fromtimestamp(tool.created_at, UTC)


def remember(pending: PendingReview, tool: Any, run_id: str | None) -> None:
    """Store the data of ``pending`` that cannot be derived."""
    derived = derived_span_id(tool, run_id)
    if derived is None:
        return
    _remembered[f"{derived:016x}"] = pending
    with suppress(StopIteration, KeyError, RuntimeError):  # another thread may remove entries at the same time
        while len(_remembered) > REMEMBERED:
            del _remembered[next(iter(_remembered))]


def find_pending(tool: Any, run_id: str | None) -> PendingReview | None:
    """Return the question about ``tool``; None if the model's call has no id."""
    derived = derived_span_id(tool, run_id)
    if derived is None:
        return None
    span_id = f"{derived:016x}"
    known = _remembered.pop(span_id, None)
    return known or PendingReview(span_id, str(tool.tool_call_id), kind_of(tool), asked_at(tool))


def derived_span_id(tool: Any, run_id: str | None) -> int | None:
    """Return the span id of the attempt that paused ``tool``; None if the model's call has no id.

    The id is a hash of data that Agno stores.
    """
    if not tool.tool_call_id:
        return None
    identity = "\0".join(map(str, ("agno", run_id, tool.tool_call_id, tool.tool_name, tool.created_at)))
    return int.from_bytes(sha256(identity.encode("utf-8", "replace")).digest()[:8], "big") or 1
