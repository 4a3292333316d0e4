"""What a person was asked, found again when the answer comes, be it in another process.

Agno keeps a paused call in its own words (``ToolExecution``) and says nothing of ours. So the span of a
paused attempt has an id that follows from what Agno does keep: the run, the call, the tool and the time.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, NamedTuple

from opentelemetry.trace import SpanContext

REMEMBERED = 1000
"""How many unanswered questions a process remembers beyond what it can derive."""


class PendingReview(NamedTuple):
    """One question about one call."""

    span_id: str
    """The paused attempt, in hex."""
    call_id: str
    kind: str
    """``confirmation``, ``input`` or ``external``."""
    at: datetime
    number: int = 1
    """Which attempt of its call was paused. Agno does not keep it: what another process asked is taken for the first."""
    span: SpanContext | None = None
    """Where this process asked: the paused span, to link to."""
    arguments: dict[str, Any] | None = None
    """Where this process asked: what the model gave."""


_remembered: dict[str, PendingReview] = {}


def kind_of(tool: Any) -> str:
    """What ``tool``, a paused ``ToolExecution``, waits for."""
    if tool.external_execution_required:
        return "external"
    asks = tool.user_input_schema is not None or getattr(tool, "user_feedback_schema", None) is not None
    return "input" if tool.requires_user_input or asks else "confirmation"


def asked_at(tool: Any) -> datetime:
    """When ``tool`` was paused: whole seconds, as Agno keeps it."""
    return datetime.fromtimestamp(tool.created_at, UTC)


def remember(asked: PendingReview, tool: Any, run_id: str | None) -> None:
    """Keep what cannot be derived."""
    derived = derived_span_id(tool, run_id)
    if derived is None:
        return
    _remembered[f"{derived:016x}"] = asked
    with suppress(StopIteration, KeyError, RuntimeError):  # another thread may be at it
        while len(_remembered) > REMEMBERED:
            del _remembered[next(iter(_remembered))]


def find_pending(tool: Any, run_id: str | None) -> PendingReview | None:
    """What was asked about ``tool``; None where the model gave the call no id."""
    derived = derived_span_id(tool, run_id)
    if derived is None:
        return None
    span_id = f"{derived:016x}"
    known = _remembered.pop(span_id, None)
    return known or PendingReview(span_id, str(tool.tool_call_id), kind_of(tool), asked_at(tool))


def derived_span_id(tool: Any, run_id: str | None) -> int | None:
    """The span id of the attempt that paused ``tool``, by what Agno keeps of it; None where the model gave the call no id."""
    if not tool.tool_call_id:
        return None
    words = "\0".join(map(str, ("agno", run_id, tool.tool_call_id, tool.tool_name, tool.created_at)))
    return int.from_bytes(sha256(words.encode("utf-8", "replace")).digest()[:8], "big") or 1
