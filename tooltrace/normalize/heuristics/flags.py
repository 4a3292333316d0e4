"""Rule for objects with a success flag: {"ok": false, …}, {"success": true, …}."""

from __future__ import annotations

from typing import Any

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ToolResponse
from tooltrace.normalize.response_builders import (
    MemberReader,
    build_error,
    build_partial,
    build_response,
    merge_context,
    read_error,
    with_message,
)
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.terms import guess_code_from_message, lookup_code

_FLAGS = ("success", "ok", "is_success", "succeeded")
_WEAK = ("successful", "is_successful", "successfull")
"""Flags that may also describe the subject of a query.

They count only if ``data`` and ``error`` stand beside them, as in Composio's results.
"""
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


@builtin("flags", "certain", Matches(members=(*_FLAGS, *_WEAK)), opens="all")
def RULE(seen: ResultView) -> ToolResponse | None:
    """Read an object with a flag that is true or false, whatever its other members."""
    if not isinstance(seen.data, dict):
        return None
    taken = MemberReader(seen.data)
    flag = taken.pop(*_FLAGS, only=bool)
    if flag is None and {"data", "error"} <= taken.names():
        flag = taken.pop(*_WEAK, only=bool)
    if flag is None:
        return None
    return _succeeded(taken) if flag else _failed(taken)


def _failed(taken: MemberReader) -> ToolResponse:
    said = read_error(taken.pop_nonempty(*_MESSAGES))
    word = said.get("type") if said.get("type") == said["message"] else None
    if word:
        said = with_message(said, taken.pop_nonempty("message", "error_description", "detail", only=str))
    for name, names in _DETAILS.items():
        if said.get(name) is None:
            said[name] = taken.pop(*names, only=(str, int) if name == "code" else object)
    if said["code"] is None:
        said["code"] = taken.pop("status", only=int) or _own_code(word, said["message"])
    data = taken.pop(*_DATA)
    if said.get("message") is None and isinstance(data, str):
        said["message"] = data
    return build_error(**merge_context(said, taken.remaining()), data=data)


def _own_code(word: Any, message: Any) -> str | None:
    """Return ``word`` if it is the service's own code in snake_case; else None.

    It is one if the table of codes has a code neither for it nor for the ``message``.
    """
    if not isinstance(word, str) or "_" not in word or not word.islower() or lookup_code(word):
        return None
    said = (word, word.replace("_", " "), message)
    known = any(
        isinstance(each, str) and guess_code_from_message(each) != ToolErrorCode.EXECUTION_ERROR for each in said
    )
    return None if known else word


def _succeeded(taken: MemberReader) -> ToolResponse:
    """Read a success: its data is the member that holds it, else all members beside the flag."""
    error = taken.pop_nonempty("error")
    data = taken.pop(*_DATA)
    text = taken.pop("message", "text", "msg", only=str) if data is not None else None
    rest = taken.remaining()
    context: dict[str, Any] | None = rest if data is not None else None
    data = rest if data is None else data
    text = data if text is None and isinstance(data, str) else text
    if error:
        return build_partial(error, text, data, context=context)
    return build_response("success", text, data, context=context)
