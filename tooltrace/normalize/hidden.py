"""A failure that stands where the data should: {"data": "timeout"}, {"result": "Error: …"}, the bare text "timed out"."""

from __future__ import annotations

from typing import Any

from tooltrace.normalize import api_error, error_member, error_status, error_text, flags, hello_agents, problem_json
from tooltrace.normalize.company import empty
from tooltrace.normalize.failure_words import says_failure
from tooltrace.normalize.parts import Taken, failure
from tooltrace.normalize.rule import Reads, Rule, Seen, builtin
from tooltrace.normalize.see import seen as look_at
from tooltrace.normalize.words import snake
from tooltrace.response import ToolResponse

_HOLDERS = frozenset({"data", "result", "results", "output", "response", "message"})
_BESIDE = frozenset(
    {
        "status", "code", "error", "errors", "success", "ok", "meta", "metadata", "query", "source", "sources", "tool",
        "tool_name", "confidence", "cached", "request_id", "tool_call_id", "duration_ms", "execution_time", "time_ms",
    }
)  # fmt: skip
_RULES: tuple[Rule, ...] = (
    problem_json.RULE, api_error.RULE, flags.RULE, error_member.RULE, error_status.RULE, hello_agents.TEXT,
    error_text.RULE,
)  # fmt: skip


@builtin("hidden", "heuristic", Reads(members=tuple(_HOLDERS), texts=True), words=True)
def RULE(seen: Seen) -> ToolResponse | None:
    """A text that is nothing but one of the phrases for a failure; or an object whose one member with something in it
    is such a text, the message of an error, or an error of any shape that the other rules know."""
    if isinstance(seen.data, dict):
        return _in_object(seen.data)
    return _phrase(seen.text) if seen.text is not None else None


def _phrase(text: str) -> ToolResponse | None:
    return failure(text.strip(), text=text) if says_failure(text) else None


def _in_object(data: dict[str, Any]) -> ToolResponse | None:
    full = [name for name, value in data.items() if not empty(value)]
    holders = [name for name in full if snake(name) in _HOLDERS]
    if len(holders) != 1 or any(snake(name) not in _BESIDE for name in full if name not in holders):
        return None
    found = _failed(data[holders[0]])
    if found is None or found.status == "success":
        return None
    taken = Taken(data)
    taken.first(snake(holders[0]))
    return found.model_copy(update={"context": {**(taken.rest() or {}), **(found.context or {})} or None})


def _failed(value: Any) -> ToolResponse | None:
    """The failure that a text or an object is."""
    if not isinstance(value, str | dict):
        return None
    look = look_at(value) if isinstance(value, str) else Seen(value)
    if isinstance(value, str) and says_failure(value):
        return _phrase(value)
    readings = (rule.read(look) for rule in _RULES)
    return next((found for found in readings if found is not None), None)
