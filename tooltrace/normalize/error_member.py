"""An answer that is an error, by its shape: {"error": …} and its relatives, with nothing else to say."""

from __future__ import annotations

from typing import Any

from tooltrace.normalize.company import MESSAGES, answers, is_about_a_thing, strangers
from tooltrace.normalize.failure_words import says_none
from tooltrace.normalize.parts import Taken, beside, explained, failure, flawed, read_error
from tooltrace.normalize.rule import Reads, Seen, builtin
from tooltrace.normalize.words import http_status, known_code, snake
from tooltrace.response import ToolResponse

_NAMES = ("error", "errors", "err", "error_message", "error_msg", "errmsg", "exception", "exception_message", "fault")
_SAYS = ("message", "msg", "detail", "description", "reason", "error_message", "title", "text", "faultstring", "error")
_OF_A_FINDING = frozenset({"line", "lineno", "column", "col", "severity", "rule", "rule_id", "file", "filename", "row"})
"""What a linter or a compiler says of each of its findings, which are its answer."""
_WELL = frozenset({"ok", "success", "succeeded", "completed", "done", "running", "pending", "active", "partial"})


@builtin("error_member", "heuristic", Reads(members=_NAMES))
def RULE(seen: Seen) -> ToolResponse | None:
    """An object whose main content is its error: that says something, and nothing that is a result stands beside it.
    With data beside it, and no more, it is a partial answer."""
    data = seen.data
    if not isinstance(data, dict) or not data:
        return None
    taken = Taken(data)
    name = next((name for name in _NAMES if _speaks(taken.peek(name), data)), None)
    if name is None or not _is_main(name, data):
        return None
    error = taken.first(name)
    held = answers(data)
    if not held:
        return _failed(error, taken)
    if name != "error" or len(held) > 1 or strangers(data) or error is True:
        return None
    result = taken.first(snake(held[0]))
    if not isinstance(result, str | list | dict):  # a figure, and how far it may be off
        return None
    return flawed(error, result if isinstance(result, str) else "", result, context=taken.rest())


def _failed(error: Any, taken: Taken) -> ToolResponse:
    """The error, with what is said of it beside it."""
    said = read_error(None if isinstance(error, bool | int) else error)
    if said.get("type"):
        said = explained(said, taken.filled(*MESSAGES, only=str) if said["message"] == said["type"] else None)
    if said.get("message") in (None, ""):
        said["message"] = taken.filled(*MESSAGES, only=str)
    if said.get("code") is None:
        said["code"] = taken.filled("error_code", "errcode", "code", only=(str, int))
    status = taken.peek("status_code", "http_status", "status") if not isinstance(error, int) else error
    if said["code"] is None and http_status(status):
        said["code"] = status
    if said.get("type") is None:
        said["type"] = taken.filled("error_type", "exception_type", "type", only=str)
    for name, names in {"suggestion": ("suggestion", "hint"), "retryable": ("retryable", "is_retryable")}.items():
        said[name] = taken.first(*names) if said.get(name) is None else said[name]
    return failure(**beside(said, taken.rest()))


def _is_main(name: str, data: dict[str, Any]) -> bool:
    """Whether the rest is company for an error. An error that stands first may have a stranger with it, which
    is how tools repeat what they were asked; one further behind is likelier to be a column."""
    status = next((value for key, value in data.items() if snake(key) in ("status", "state", "type")), None)
    if isinstance(status, str) and status.casefold() in _WELL:
        return False
    others = strangers(data, (name,))
    if not others or name != "error":
        return not others
    if len(others) > 1 or _is_bare_word(data):
        return False
    first = snake(next(iter(data))) == name
    values = [value for key, value in data.items() if snake(key) in others]
    scalars = not any(isinstance(value, list | dict) for value in values)
    return first and scalars and not any(map(is_about_a_thing, others))


def _is_bare_word(data: dict[str, Any]) -> bool:
    """Whether the error is one word, which the service may mean otherwise: low, typo, rounding."""
    error = Taken(data).peek("error")
    return isinstance(error, str) and len(error.split()) == 1 and not read_error(error).get("type")


def _speaks(error: Any, data: dict[str, Any]) -> bool:
    """Whether ``error`` says that something went wrong; a number is a figure, unless it is a status with its words."""
    if isinstance(error, str):
        return not says_none(error) and data.get("fault") is not error
    if error is True or (isinstance(error, int) and http_status(error)):
        return any(isinstance(value, str) and snake(key) in MESSAGES for key, value in data.items())
    if isinstance(error, list):
        return bool(error) and all(_is_message(item) for item in error)
    return isinstance(error, dict) and (_is_message(error) or _are_fields(error))


def _is_message(item: Any) -> bool:
    """A text, or an object with the words, the code or the type of an error; not a finding in somebody's text."""
    if isinstance(item, str):
        return not says_none(item)
    if not isinstance(item, dict):
        return False
    inner = Taken(item)
    if _OF_A_FINDING & inner.names():
        return False
    words = inner.filled(*_SAYS, only=str)
    code, kind = inner.filled("code", "error_code"), inner.filled("type", "error_type", only=str)
    if words is not None:
        return not says_none(words)
    return isinstance(code, str) or bool(http_status(code)) or (kind is not None and known_code(kind) is not None)


def _are_fields(error: dict[str, Any]) -> bool:
    """What is wrong with each field of a form: a list of texts for each."""
    return bool(error) and all(
        isinstance(value, list) and value and all(isinstance(item, str) for item in value) for value in error.values()
    )
