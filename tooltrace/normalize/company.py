"""What may stand beside an error where the error is the whole answer, and not a member of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tooltrace.normalize.lazy import lazy
from tooltrace.normalize.words import snake

MESSAGES = (
    "message",
    "msg",
    "error_message",
    "errmsg",
    "detail",
    "error_description",
    "description",
    "reason",
    "details",
)
"""Where the words of an error stand, the likeliest first."""

DATA = frozenset({"data", "result", "results", "output", "outputs", "content", "response", "value", "items"})
"""Where an answer stands, which an error leaves empty."""

_ABOUT = frozenset(
    {
        *MESSAGES, "error", "errors", "err", "error_code", "error_type", "error_uri", "error_id", "error_msg", "errcode",
        "code", "status", "status_code", "http_status", "status_text", "type", "kind", "category", "cause", "causes",
        "root_cause", "exception", "exception_message", "inner_exception", "exception_type", "exception_class", "hint", "hints", "suggestion", "suggestions",
        "help", "help_url", "docs", "doc_url", "documentation", "documentation_url", "more_info", "info", "retryable",
        "is_retryable", "retry", "retry_after", "retry_after_ms", "retry_after_s", "request_id", "trace_id",
        "correlation_id", "timestamp", "traceback", "stack", "stack_trace", "stacktrace", "param", "params", "parameter",
        "parameters", "field", "fields", "argument", "arguments", "args", "kwargs", "tool", "tool_name", "tool_call_id",
        "call_id", "function", "function_name", "method", "instance", "success", "ok", "is_error", "failed",
        "expected", "received", "available", "available_tools", "valid_options", "allowed", "allowed_values",
        "did_you_mean", "user_message", "debug", "metadata", "meta", "version", "api_version",
        "response_metadata", "next_action", "attempts", "retries", "max_retries", "limit", "retry_count",
    }
)  # fmt: skip
"""What is said of an error, by its names in snake_case."""

_ASKED = frozenset(
    {
        "query", "q", "input", "url", "uri", "path", "file", "filename", "file_path", "filepath", "symbol", "ticker",
        "city", "location", "expression", "command", "cmd", "sql", "question", "prompt", "keyword", "search_query",
    }
)  # fmt: skip
"""What was asked, said again."""

_OF_A_ROW = lazy(
    r"(?:.*_)?(?:id|uuid|key|name|at|date|time|on|by|count|total|state|level|duration|progress|score|rate|value|std|mean"
    r"|title|created|updated|started|finished|completed|ended|host|service|owner|author|user|rows|tags)"
)
"""Members of a thing that is described, and whose error is one of the things said of it."""


def empty(value: Any) -> bool:
    """Whether ``value`` says nothing: null, "", [], {}, or a list or object of such."""
    if isinstance(value, dict):
        return all(map(empty, value.values()))
    if isinstance(value, list):
        return all(map(empty, value))
    return value is None or value == ""


def strangers(data: dict[str, Any], besides: Iterable[str] = ()) -> list[str]:
    """The names, in snake_case, of the members that say something else than what went wrong."""
    known = _ABOUT | _ASKED | DATA | set(besides)
    return [word for name, value in data.items() if (word := snake(name)) not in known and not empty(value)]


def answers(data: dict[str, Any]) -> list[str]:
    """The members, by their own names, that hold an answer."""
    return [name for name, value in data.items() if snake(name) in DATA and value is not False and not empty(value)]


def is_about_a_thing(name: str) -> bool:
    """Whether the member ``name``, in snake_case, describes a thing."""
    return _OF_A_ROW.fullmatch(name) is not None
