"""Rule for a failure in the place of data.

Examples: {"data": "timeout"}, {"result": "Error: …"}, the bare text "timed out".
"""

from __future__ import annotations

from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.heuristics import api_error, error_members, error_status, error_text, flags
from tooltrace.normalize.heuristics.error_members import is_empty
from tooltrace.normalize.heuristics.failure_phrases import is_failure_phrase
from tooltrace.normalize.protocols import hello_agents, problem_json
from tooltrace.normalize.response_builders import MemberReader, build_error
from tooltrace.normalize.result_view import view_of as look_at
from tooltrace.normalize.rule import Matches, ResultView, Rule, builtin
from tooltrace.normalize.terms import snake_case

_HOLDERS = frozenset({"data", "result", "results", "output", "response", "message"})
_OTHER_MEMBERS = frozenset(
    {
        "status", "code", "error", "errors", "success", "ok", "meta", "metadata", "query", "source", "sources", "tool",
        "tool_name", "confidence", "cached", "request_id", "tool_call_id", "duration_ms", "execution_time", "time_ms",
    }
)  # fmt: skip
_RULES: tuple[Rule, ...] = (
    problem_json.RULE, api_error.RULE, flags.RULE, error_members.RULE, error_status.RULE, hello_agents.TEXT,
    error_text.RULE,
)  # fmt: skip


@builtin("hidden", "heuristic", Matches(members=tuple(_HOLDERS), texts=True), words=True)
def RULE(view: ResultView) -> ToolResponse | None:
    """Read a failure that stands where the data should.

    The result is a text that is one of the phrases for a failure; or an object whose only non-empty member is such a
    text, an error message, or an error that another rule recognises.
    """
    if isinstance(view.data, dict):
        return _in_object(view.data)
    return _phrase(view.text) if view.text is not None else None


def _phrase(text: str) -> ToolResponse | None:
    return build_error(text.strip(), text=text) if is_failure_phrase(text) else None


def _in_object(data: dict[str, Any]) -> ToolResponse | None:
    full = [name for name, value in data.items() if not is_empty(value)]
    holders = [name for name in full if snake_case(name) in _HOLDERS]
    if len(holders) != 1 or any(snake_case(name) not in _OTHER_MEMBERS for name in full if name not in holders):
        return None
    inner = _failed(data[holders[0]])
    if inner is None or inner.status == "success":
        return None
    members = MemberReader(data)
    members.pop(snake_case(holders[0]))
    return inner.model_copy(update={"context": {**(members.remaining() or {}), **(inner.context or {})} or None})


def _failed(value: Any) -> ToolResponse | None:
    """Return the response to a failure phrase, or of the first rule that recognises ``value``; else None."""
    if not isinstance(value, str | dict):
        return None
    view = look_at(value) if isinstance(value, str) else ResultView(value)
    if isinstance(value, str) and is_failure_phrase(value):
        return _phrase(value)
    readings = (rule.read(view) for rule in _RULES)
    return next((inner for inner in readings if inner is not None), None)
