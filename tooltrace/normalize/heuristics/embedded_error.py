"""Rule for a failure in the place of data.

Examples: {"data": "timeout"}, {"result": "Error: …"}, the bare text "timed out".
"""

from __future__ import annotations

from typing import Any

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ToolResponse
from tooltrace.normalize.engine import index_of
from tooltrace.normalize.heuristics import error_members, error_status, error_text, flags
from tooltrace.normalize.heuristics.error_members import is_empty, unknown_members
from tooltrace.normalize.heuristics.failure_phrases import is_failure_phrase
from tooltrace.normalize.heuristics.report_signs import may_be_read
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.protocols import api_error, hello_agents, problem_json
from tooltrace.normalize.response_builders import MemberReader, build_error
from tooltrace.normalize.result_view import view_of
from tooltrace.normalize.rule import Matches, ResultView, Rule, builtin
from tooltrace.normalize.terms import lookup_code, snake_case

_HOLDERS = frozenset({"data", "result", "results", "output", "response", "message"})
_SENTENCES = (
    "error", "error_message", "message", "msg", "detail", "details", "reason", "errmsg", "note", "text", "result",
)  # fmt: skip
"""Members that may hold the tool's report of a failure in words."""
_NOT_BESIDE = frozenset(
    {"level", "severity", "logger", "line", "from", "to", "subject", "author", "ts", "sender", "role", "valid"}
)
"""Members of a log entry, a finding or a message of a person."""
_MOST_BESIDE = 10
_DETAILS = frozenset({"details", "detail", "context", "meta", "metadata", "errors", "error"})
_FAILED = frozenset({"error", "fail", "failed", "failure", "exception", "not_found"})
_REFUSED = frozenset({"denied", "rejected", "refused", "unauthorized", "forbidden", "invalid", "timed_out", "expired"})
"""Statuses of a failure, if the message reports one too; an entity may have them as well."""
_OF_A_RECORD = lazy(
    r"(?:id|uuid|.*_(?:at|on|by|time|date|duration)|created|updated|started|finished|duration|progress|score|tags|rows|total|count|job.*|title)"
)
"""Members of an entity, whose error is one of its attributes."""
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


@builtin(
    "hidden",
    "heuristic",
    Matches(members=tuple({*_HOLDERS, *_SENTENCES}), texts=True, texts_with=may_be_read),
    words=True,
)
def RULE(view: ResultView) -> ToolResponse | None:
    """Read a failure that stands where the data should.

    The result is a text that is one of the phrases for a failure; or an object whose only non-empty member is such a
    text, an error message, or an error that another rule recognises.
    """
    if isinstance(view.data, dict):
        return _in_object(view.data) or _in_words(view.data)
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
    inner = _with_number(inner, members.get("status", "code"))
    return inner.model_copy(update={"context": {**(members.remaining() or {}), **(inner.context or {})} or None})


def _in_words(data: dict[str, Any]) -> ToolResponse | None:
    """Read a report of a failure in words, beside members that hold no answer.

    The members beside ``error`` may be any scalars but those of an entity; those beside a message only plumbing, unless
    a status or a code names a failure.
    """
    members = MemberReader(data)
    names = [name for name in members.present(_SENTENCES) if isinstance(members.get(name), str)]
    if not names or len(data) > _MOST_BESIDE or members.names() & _NOT_BESIDE:
        return None
    if any("successfully" in members.get(name) for name in names):
        return None
    readings = ((name, error_text.read_text(members.get(name)) or _phrase(members.get(name))) for name in names)
    name, inner = next(((name, found) for name, found in readings if found is not None), (names[0], None))
    status = members.get("status", "state", "code", "operation")
    failed = isinstance(status, str) and (snake_case(status) in _FAILED or lookup_code(status) is not None)
    refused = isinstance(status, str) and snake_case(status) in _REFUSED and inner is not None
    # Any other status states that the call did not fail, or is the state of an entity.
    if isinstance(status, str) and not failed and not refused:
        return None
    # A manual describes an error in the same words as a tool that reports it.
    if "description" in members and name != "error":
        return None
    beside = {other: value for other, value in data.items() if snake_case(other) != name and not is_empty(value)}
    if any(isinstance(value, list | dict) and snake_case(other) not in _DETAILS for other, value in beside.items()):
        return None
    unknown = [other for other in unknown_members(data) if other != name]
    unknown = [other for other in unknown if other not in ("operation", "enabled", "step") and members.get(other) != 0]
    if any(map(_OF_A_RECORD.fullmatch, unknown)):
        return None
    if unknown and name != "error" and not ((failed or refused) and name in ("message", "error_message", "msg")):
        return None
    words = members.pop(name)
    if inner is None and not (failed and name not in ("text", "result")):
        return None
    if inner is None:
        inner = build_error(words, lookup_code(str(status)))
    inner = _with_number(inner, members.get("status", "code"))
    return inner.model_copy(update={"context": {**(members.remaining() or {}), **(inner.context or {})} or None})


def _with_number(found: ToolResponse, number: Any) -> ToolResponse:
    """Return the error with the service's own number as its code, if its words suggest no code."""
    if found.code != ToolErrorCode.EXECUTION_ERROR or type(number) is not int or not number or found.error is None:
        return found
    error = found.error.model_copy(update={"code": str(number)})
    return found.model_copy(update={"code": str(number), "failure": error})


def _failed(value: Any) -> ToolResponse | None:
    """Return the response to a failure phrase, or of the first rule that recognises ``value``; else None."""
    if not isinstance(value, str | dict):
        return None
    view = view_of(value) if isinstance(value, str) else ResultView(value)
    if isinstance(value, str) and is_failure_phrase(value):
        return _phrase(value)
    readings = (rule.read(view) for rule in index_of(_RULES).candidates(view))
    return next((inner for inner in readings if inner is not None), None)


@builtin("false_and_message", "heuristic", Matches(arrays=True))
def FALSE_AND_MESSAGE(view: ResultView) -> ToolResponse | None:
    """Read a pair of false, or of an empty value, and the texts that report the failure."""
    data = view.data
    if not isinstance(data, list) or not 2 <= len(data) <= 3 or not (data[0] is False or data[0] in (None, [], {}, "")):
        return None
    if len(data) == 3 and not is_empty(data[2]):
        return None
    texts = data[1] if isinstance(data[1], list) else [data[1]]
    if not texts or not all(isinstance(text, str) for text in texts):
        return None
    readings = [error_text.read_text(text) or _phrase(text) for text in texts]
    return readings[0] if all(readings) else None
