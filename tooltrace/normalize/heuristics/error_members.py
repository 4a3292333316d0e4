"""Rule for objects that are an error by their shape: ``{"error": …}`` and similar, without other data."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.heuristics.failure_phrases import is_no_error_phrase
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.response_builders import (
    MemberReader,
    build_error,
    build_partial,
    merge_context,
    read_error,
    with_message,
)
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.terms import http_status, lookup_code, snake_case

MESSAGES = (
    "message", "msg", "error_message", "errmsg", "detail", "error_description", "description", "reason", "details",
)  # fmt: skip
"""Members that hold an error's message, the likeliest first."""

DATA = frozenset({"data", "result", "results", "output", "outputs", "content", "response", "value", "items"})
"""Members that hold an answer; an error leaves them empty."""

_ABOUT = frozenset(
    {
        *MESSAGES, "error", "errors", "err", "error_code", "error_type", "error_uri", "error_id", "error_msg", "errcode",
        "code", "status", "status_code", "http_status", "status_text", "type", "kind", "category", "cause", "causes",
        "root_cause", "exception", "exception_message", "inner_exception", "exception_type", "exception_class", "hint", "hints", "suggestion", "suggestions",
        "help", "help_url", "docs", "link", "links", "href", "doc_url", "documentation", "documentation_url", "more_info", "info", "retryable",
        "is_retryable", "retry", "retry_after", "retry_after_ms", "retry_after_s", "request_id", "trace_id", "estimated_time", "debug_id", "conversation_id",
        "correlation_id", "timestamp", "traceback", "stack", "stack_trace", "stacktrace", "param", "params", "parameter",
        "parameters", "field", "fields", "argument", "arguments", "args", "kwargs", "tool", "tool_name", "tool_call_id",
        "call_id", "function", "function_name", "method", "instance", "success", "ok", "is_error", "failed",
        "expected", "received", "available", "available_tools", "valid_options", "allowed", "allowed_values",
        "did_you_mean", "user_message", "debug", "metadata", "meta", "version", "api_version",
        "response_metadata", "next_action", "attempts", "retries", "max_retries", "limit", "retry_count",
    }
)  # fmt: skip
"""Members that describe an error, in snake case."""

_REQUEST_MEMBERS = frozenset(
    {
        "query", "q", "input", "url", "uri", "path", "file", "filename", "file_path", "filepath", "symbol", "ticker",
        "city", "location", "expression", "command", "cmd", "sql", "question", "prompt", "keyword", "search_query",
    }
)  # fmt: skip
"""Members that repeat the input of the call."""
_KNOWN = _ABOUT | _REQUEST_MEMBERS | DATA

_OF_A_ROW = lazy(
    r"(?:.*_)?(?:id|uuid|key|name|at|date|time|on|by|count|total|state|level|duration|progress|score|rate|value|std|mean"
    r"|title|created|updated|started|finished|completed|ended|host|service|owner|author|user|rows|tags"
    r"|job|build|task|run|pipeline|deployment|event|ticket|order|word|term|definition|meaning)"
)
"""Members of an entity whose ``error`` is only one of its attributes."""


def is_empty(value: Any) -> bool:
    """Whether ``value`` is empty: null, "", [], {}, or a list or object of such values."""
    if isinstance(value, dict):
        return all(map(is_empty, value.values()))
    if isinstance(value, list):
        return all(map(is_empty, value))
    return value is None or value == ""


def unknown_members(data: dict[str, Any], besides: Container[str] = ()) -> list[str]:
    """Return the names, in snake case, of the members that hold more than the description of an error.

    ``besides``: further names that do not count.
    """
    return [
        word
        for name, value in data.items()
        if (word := snake_case(name)) not in _KNOWN and word not in besides and not is_empty(value)
    ]


def has_data(data: dict[str, Any]) -> list[str]:
    """Return the names, as spelled in ``data``, of the members that hold an answer."""
    return [
        name for name, value in data.items() if snake_case(name) in DATA and value is not False and not is_empty(value)
    ]


def describes_an_entity(name: str) -> bool:
    """Whether the member ``name``, in snake case, describes an entity."""
    return _OF_A_ROW.fullmatch(name) is not None


_FILE = lazy(r"\S+\.\w{1,5}")
_BODY = "error_response"
"""Member that holds the whole body of an error; only an error fills it."""
_NAMES = (
    *("error", "errors", "err", "error_message", "error_msg", "errmsg", "exception", "exception_message", "fault"),
    _BODY,
)
_CHOICES = ("available_", "supported_", "allowed_", "accepted_", "possible_", "known_", "suggested_")
"""Beginnings of the names of members that list what would have been right."""
_MESSAGE_MEMBERS = (
    "message", "msg", "detail", "description", "reason", "error_message", "title", "text", "faultstring", "error",
)  # fmt: skip
_OF_A_FINDING = frozenset({"line", "lineno", "column", "col", "severity", "rule", "rule_id", "file", "filename", "row"})
"""Members of a linter's or compiler's finding; findings are the tool's answer, not its error."""
_WELL = frozenset({"ok", "success", "succeeded", "completed", "done", "running", "pending", "active", "partial"})


@builtin("error_member", "heuristic", Matches(members=_NAMES))
def RULE(view: ResultView) -> ToolResponse | None:
    """Read an object whose main content is its error.

    The error must report something, and no result may stand beside it. An error beside data, and nothing more, is a
    partial answer.
    """
    data = view.data
    if not isinstance(data, dict) or not data:
        return None
    members = MemberReader(data)
    name = next((name for name in members.present(_NAMES) if _reports_failure(members.get(name), data)), None)
    if name is None or not _is_main(name, data):
        return None
    error = members.pop(name)
    filled = has_data(data)
    if not filled:
        return _failed(error, members)
    if name != "error" or len(filled) > 1 or unknown_members(data) or error is True:
        return None
    result = members.pop(snake_case(filled[0]))
    if not isinstance(result, str | list | dict):  # a figure and its margin of error
        return None
    return build_partial(error, result if isinstance(result, str) else "", result, context=members.remaining())


def _failed(error: Any, members: MemberReader) -> ToolResponse:
    """Build the error with the details in the other members."""
    reading = read_error(None if isinstance(error, bool | int) else error)
    if reading.get("type"):
        reading = with_message(
            reading, members.pop_nonempty(*MESSAGES, only=str) if reading["message"] == reading["type"] else None
        )
    if reading.get("message") in (None, ""):
        reading["message"] = members.pop_nonempty(*MESSAGES, only=str)
    if reading.get("code") is None:
        reading["code"] = members.pop_nonempty("error_code", "errcode", "code", only=(str, int))
    status = members.get("status_code", "http_status", "status") if not isinstance(error, int) else error
    if reading["code"] is None and http_status(status):
        reading["code"] = status
    if reading.get("type") is None:
        reading["type"] = members.pop_nonempty("error_type", "exception_type", "type", only=str)
    for name, names in {"suggestion": ("suggestion", "hint"), "retryable": ("retryable", "is_retryable")}.items():
        reading[name] = members.pop(*names) if reading.get(name) is None else reading[name]
    return build_error(**merge_context(reading, members.remaining()))


def _is_main(name: str, data: dict[str, Any]) -> bool:
    """Whether the error is the main content, and the other members only describe it.

    An ``error`` that stands first may have one unknown member beside it, because tools repeat their input that way. An
    error further behind is likelier to be a column.
    """
    status = next((value for key, value in data.items() if snake_case(key) in ("status", "state", "type")), None)
    if isinstance(status, str) and status.casefold() in _WELL:
        return False
    others = [other for other in unknown_members(data, (name,)) if not _about_the_error(other, data)]
    if name == _BODY:
        return not any(isinstance(value, list | dict) for key, value in data.items() if snake_case(key) in others)
    if not others or name != "error":
        return not others
    if len(others) > 1 or _is_bare_word(data):
        return False
    # Python and JSON keep the order of members, so the first member is what the tool wrote first.
    first = snake_case(next(iter(data))) == name
    values = [value for key, value in data.items() if snake_case(key) in others]
    scalars = not any(isinstance(value, list | dict) for value in values)
    return first and scalars and not any(map(describes_an_entity, others))


def _about_the_error(other: str, data: dict[str, Any]) -> bool:
    """Whether a member beside an ``error`` describes it.

    It lists its parts (``writeErrors``) or what would have been right (``available_tables``), or counts nothing
    (``insertedCount``: 0).
    """
    value = MemberReader(data).get(other)
    if isinstance(value, list):
        return other.endswith("_errors") or (
            other.startswith(_CHOICES) and all(isinstance(item, str | int) for item in value)
        )
    return type(value) is int and value == 0 and other.endswith("_count")


def _is_bare_word(data: dict[str, Any]) -> bool:
    """Whether the error is one word that may have another meaning: low, typo, rounding."""
    error = MemberReader(data).get("error")
    return isinstance(error, str) and len(error.split()) == 1 and not read_error(error).get("type")


def _reports_failure(error: Any, data: dict[str, Any]) -> bool:
    """Whether ``error`` reports a failure.

    A number is a figure, unless it is an HTTP status with a message beside it.
    """
    if isinstance(error, str):
        return not is_no_error_phrase(error) and data.get("fault") is not error
    if error is True or (isinstance(error, int) and http_status(error)):
        return any(isinstance(value, str) and snake_case(key) in MESSAGES for key, value in data.items())
    if isinstance(error, list):
        return bool(error) and all(_is_message(item) for item in error) and not _is_catalogue(error)
    return isinstance(error, dict) and (_is_message(error) or are_fields(error))


def _is_catalogue(errors: list[Any]) -> bool:
    """Whether ``errors`` describes kinds of errors: each has a name and a description, and none a message."""
    return len(errors) > 1 and all(isinstance(item, dict) and {"code", "description"} == set(item) for item in errors)


def _is_message(item: Any) -> bool:
    """Whether ``item`` is a text, or an object with the message, code or type of an error.

    A finding in a file is not an error.
    """
    if isinstance(item, str):  # a name alone may be that of a file
        return not is_no_error_phrase(item) and _FILE.fullmatch(item) is None
    if not isinstance(item, dict):
        return False
    inner = MemberReader(item)
    if _OF_A_FINDING & inner.names():
        return False
    words = inner.pop_nonempty(*_MESSAGE_MEMBERS, only=str)
    if words is None and isinstance(worded := inner.get("message"), dict):  # OData
        words = worded.get("value") if isinstance(worded.get("value"), str) else None
    code, kind = inner.pop_nonempty("code", "error_code"), inner.pop_nonempty("type", "error_type", only=str)
    if words is not None:
        return not is_no_error_phrase(words)
    return isinstance(code, str) or bool(http_status(code)) or (kind is not None and lookup_code(kind) is not None)


def are_fields(error: dict[str, Any]) -> bool:
    """Whether ``error`` holds a list of texts for each field of a form."""
    return bool(error) and all(
        isinstance(value, list) and value and all(isinstance(item, str) for item in value) for value in error.values()
    )
