"""What the model is told of a call, beside what happened."""

from __future__ import annotations

from typing import Any

from tooltrace.integrations.agno.call_context import span_id as id_of
from tooltrace.integrations.agno.side_table import WeakSideTable
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.config import get_recorder
from tooltrace.recording.recorder import Recorder

STYLE = "agno"

_last: WeakSideTable[str] = WeakSideTable()
"""Span id of each call's last attempt."""


def remember_attempt(call: Any, attempt: Attempt) -> None:
    """``attempt`` is the last of ``call``, a ``FunctionCall``, so far."""
    _last.put(call, id_of(attempt))


def record_result_message(call: Any, message: Any) -> None:
    """``message`` is what the model will read about ``call``, a ``FunctionCall``."""
    record_message(get_recorder(), message, _last.take(call))


def record_message(recorder: Recorder, message: Any, span_id: str | None) -> None:
    """``message`` is what the model will read about the attempt ``span_id``, else about the call's last."""
    content = message.content
    text = content if isinstance(content, str) else "" if content is None else str(content)
    if message.tool_call_id is not None:
        recorder.record_model_message(str(message.tool_call_id), text, style=STYLE, span_id=span_id)
