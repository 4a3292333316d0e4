"""Calls that Agno answers itself: an unknown tool, arguments that are no JSON, too many calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tooltrace.integrations.agno import spoken
from tooltrace.integrations.agno.facts import Facts, facts_beside, facts_of, facts_without, span_id
from tooltrace.recorder import UNKNOWN
from tooltrace.response import ToolResponse
from tooltrace.runtime import active


def unusable(tool_calls: Sequence[Mapping[str, Any]], messages: Sequence[Any], functions: Mapping[str, Any]) -> None:
    """Agno answered some of ``tool_calls`` by ``messages``, and will not execute them."""
    asked = {call.get("id"): call.get("function") or {} for call in tool_calls}
    for message in messages:
        name = message.tool_name or "unknown"
        arguments = _arguments(asked.get(message.tool_call_id, {}).get("arguments"))
        if name in functions:
            facts = facts_of(functions[name], message.tool_call_id)
            _record(facts, arguments, ToolResponse.error("INVALID_FORMAT", str(message.content)), message)
        else:
            facts = _of_the_same_agent(functions, name, message.tool_call_id)
            _record(facts, arguments, ToolResponse.error("NOT_FOUND", str(message.content)), message)


def over_the_limit(call: Any, answer: Any) -> None:
    """Agno gave ``answer``, a message, to ``call``, a ``FunctionCall``, instead of executing it."""
    response = ToolResponse.error("CALL_LIMIT", str(answer.content), retryable=False, next_action="stop")
    _record(facts_of(call.function, call.call_id), call.arguments, response, answer)


def _record(facts: Facts, arguments: Any, response: ToolResponse, message: Any) -> None:
    recorder = active()
    attempt = facts.begin(recorder, arguments)
    if attempt is not None:
        recorder.returned(attempt, response, duration_ns=UNKNOWN)
        spoken.told(recorder, message, span_id(attempt))


def _of_the_same_agent(functions: Mapping[str, Any], name: str, call_id: Any) -> Facts:
    """Any tool of the agent knows the agent and its run."""
    other = next(iter(functions.values()), None)
    return facts_without(name, call_id) if other is None else facts_beside(name, call_id, other)


def _arguments(text: Any) -> Any:
    if not isinstance(text, str) or not text:
        return text or None
    try:
        return json.loads(text)
    except ValueError:
        return text
