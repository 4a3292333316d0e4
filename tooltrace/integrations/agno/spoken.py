"""What the model is told of a call, beside what happened."""

from __future__ import annotations

from typing import Any

from tooltrace.attempt import Attempt
from tooltrace.integrations.agno.beside import Beside
from tooltrace.integrations.agno.facts import span_id as id_of
from tooltrace.recorder import Recorder
from tooltrace.runtime import active

STYLE = "agno"

_last: Beside[str] = Beside()
"""Span id of each call's last attempt."""


def of(call: Any, attempt: Attempt) -> None:
    """``attempt`` is the last of ``call``, a ``FunctionCall``, so far."""
    _last.put(call, id_of(attempt))


def result(call: Any, message: Any) -> None:
    """``message`` is what the model will read about ``call``, a ``FunctionCall``."""
    told(active(), message, _last.take(call))


def told(recorder: Recorder, message: Any, span_id: str | None) -> None:
    """``message`` is what the model will read about the attempt ``span_id``, else about the call's last."""
    content = message.content
    text = content if isinstance(content, str) else "" if content is None else str(content)
    if message.tool_call_id is not None:
        recorder.told(str(message.tool_call_id), text, style=STYLE, span_id=span_id)
