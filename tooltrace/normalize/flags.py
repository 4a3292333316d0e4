"""A flag that says whether the tool did it: {"ok": false, …}, {"success": true, …}."""

from __future__ import annotations

from typing import Any

from tooltrace.codes import ToolErrorCode
from tooltrace.normalize.parts import Taken, answer, beside, explained, failure, flawed, read_error
from tooltrace.normalize.rule import Reads, Seen, builtin
from tooltrace.normalize.words import code_in, known_code
from tooltrace.response import ToolResponse

_FLAGS = ("success", "ok", "is_success", "succeeded")
_WEAK = ("successful", "is_successful")
"""Flags of a thing that was asked about, too; they count where data and an error stand beside them, as Composio says it."""
_MESSAGES = (
    "error",
    "error_message",
    "message",
    "msg",
    "reason",
    "detail",
    "details",
    "description",
    "errors",
    "stderr",
)
_DATA = ("data", "result", "results", "output", "value", "payload")
_DETAILS = {
    "code": ("code", "error_code", "status_code"),
    "type": ("type", "error_type"),
    "retryable": ("retryable", "is_retryable", "retriable"),
    "suggestion": ("suggestion", "hint"),
    "user_message": ("user_message",),
}


@builtin("flags", "certain", Reads(members=(*_FLAGS, *_WEAK)), opens="all")
def RULE(seen: Seen) -> ToolResponse | None:
    """An object with such a member that is true or false, beside whatever else."""
    if not isinstance(seen.data, dict):
        return None
    taken = Taken(seen.data)
    flag = taken.first(*_FLAGS, only=bool)
    if flag is None and {"data", "error"} <= taken.names():
        flag = taken.first(*_WEAK, only=bool)
    if flag is None:
        return None
    return _succeeded(taken) if flag else _failed(taken)


def _failed(taken: Taken) -> ToolResponse:
    said = read_error(taken.filled(*_MESSAGES))
    word = said.get("type") if said.get("type") == said["message"] else None
    if word:
        said = explained(said, taken.filled("message", "error_description", "detail", only=str))
    for name, names in _DETAILS.items():
        if said.get(name) is None:
            said[name] = taken.first(*names, only=(str, int) if name == "code" else object)
    if said["code"] is None:
        said["code"] = taken.first("status", only=int) or _own_code(word, said["message"])
    data = taken.first(*_DATA)
    if said.get("message") is None and isinstance(data, str):
        said["message"] = data
    return failure(**beside(said, taken.rest()), data=data)


def _own_code(word: Any, message: Any) -> str | None:
    """The ``word`` in snake_case that a service says an error by, where the table has no code for it nor for the
    ``message``: it is the service's own code."""
    if not isinstance(word, str) or "_" not in word or not word.islower() or known_code(word):
        return None
    said = (word, word.replace("_", " "), message)
    known = any(isinstance(each, str) and code_in(each) != ToolErrorCode.EXECUTION_ERROR for each in said)
    return None if known else word


def _succeeded(taken: Taken) -> ToolResponse:
    """The data, where one member holds it; else all that stands beside the flag."""
    error = taken.filled("error")
    data = taken.first(*_DATA)
    text = taken.first("message", "text", "msg", only=str) if data is not None else None
    rest = taken.rest()
    context: dict[str, Any] | None = rest if data is not None else None
    data = rest if data is None else data
    text = data if text is None and isinstance(data, str) else text
    if error:
        return flawed(error, text, data, context=context)
    return answer("success", text, data, context=context)
