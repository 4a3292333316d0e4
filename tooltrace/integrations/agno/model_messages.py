"""Record the messages about calls that the model receives."""

from __future__ import annotations

from typing import Any

from tooltrace.integrations.agno.call_context import span_id as id_of
from tooltrace.integrations.side_table import WeakSideTable
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.config import get_recorder
from tooltrace.recording.recorder import Recorder

STYLE = "agno"

_last: WeakSideTable[str] = WeakSideTable()
"""Map from a call to the span id of its last attempt."""


def remember_attempt(call: Any, attempt: Attempt) -> None:
    """Store ``attempt`` as the last attempt of ``call``, a ``FunctionCall``."""
    _last.put(call, id_of(attempt))


def record_result_message(call: Any, message: Any) -> None:
    """Record ``message``, which the model reads about ``call``, a ``FunctionCall``."""
    record_message(get_recorder(), message, _last.pop(call))


def record_message(recorder: Recorder, message: Any, span_id: str | None) -> None:
    """Record ``message``, which the model reads about the attempt ``span_id``; None means the call's last attempt."""
    content = message.content
    text = content if isinstance(content, str) else "" if content is None else str(content)
    if message.tool_call_id is not None:
        recorder.record_model_message(str(message.tool_call_id), text, style=STYLE, span_id=span_id)
