"""Calls that Agno answers itself: an unknown tool, arguments that are not JSON, too many calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tooltrace.core.codes import CALL_LIMIT
from tooltrace.integrations.agno import model_messages
from tooltrace.integrations.agno.call_context import (
    AgnoContext,
    context_by_name,
    context_for_function,
    context_for_sibling,
    span_id,
)
from tooltrace.recording.config import get_recorder


def record_unusable_calls(
    tool_calls: Sequence[Mapping[str, Any]], messages: Sequence[Any], functions: Mapping[str, Any]
) -> None:
    """Record the calls among ``tool_calls`` that Agno answered with ``messages`` instead of executing them."""
    requested = {call.get("id"): call.get("function") or {} for call in tool_calls}
    for message in messages:
        name = message.tool_name or "unknown"
        arguments = _arguments(requested.get(message.tool_call_id, {}).get("arguments"))
        if name in functions:
            context = context_for_function(functions[name], message.tool_call_id)
            _record(context, arguments, "INVALID_FORMAT", message)
        else:
            context = _of_the_same_agent(functions, name, message.tool_call_id)
            _record(context, arguments, "NOT_FOUND", message)


def over_the_limit(call: Any, answer: Any) -> None:
    """Record that Agno answered ``call``, a ``FunctionCall``, with the message ``answer`` instead of executing it."""
    _record(context_for_function(call.function, call.call_id), call.arguments, CALL_LIMIT, answer)


def _record(context: AgnoContext, arguments: Any, code: str, message: Any) -> None:
    recorder = get_recorder()
    attempt = context.begin(recorder, arguments)
    if attempt is not None:
        recorder.refused(attempt, code, str(message.content))
        model_messages.record_message(recorder, message, span_id(attempt))


def _of_the_same_agent(functions: Mapping[str, Any], name: str, call_id: Any) -> AgnoContext:
    """Return the context of an unknown tool; any other tool of the agent provides the agent and its run."""
    other = next(iter(functions.values()), None)
    return context_by_name(name, call_id) if other is None else context_for_sibling(name, call_id, other)


def _arguments(text: Any) -> Any:
    if not isinstance(text, str) or not text:
        return text or None
    try:
        return json.loads(text)
    except ValueError:
        return text
