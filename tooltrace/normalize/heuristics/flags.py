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
    "error", "error_message", "message", "msg", "reason", "detail", "details", "description", "errors", "stderr",
)  # fmt: skip
_DATA = ("data", "result", "results", "output", "value", "payload")
_DETAILS = {
    "code": ("code", "error_code", "status_code"),
    "type": ("type", "error_type"),
    "retryable": ("retryable", "is_retryable", "retriable"),
    "suggestion": ("suggestion", "hint"),
    "user_message": ("user_message",),
}


@builtin("flags", "certain", Matches(members=(*_FLAGS, *_WEAK)), opens="all")
def RULE(view: ResultView) -> ToolResponse | None:
    """Read an object with a flag that is true or false, whatever its other members."""
    if not isinstance(view.data, dict):
        return None
    members = MemberReader(view.data)
    flag = members.pop(*_FLAGS, only=bool)
    if flag is None and {"data", "error"} <= members.names():
        flag = members.pop(*_WEAK, only=bool)
    if flag is None:
        return None
    return _succeeded(members) if flag else _failed(members)


def _failed(members: MemberReader) -> ToolResponse:
    error = read_error(members.pop_nonempty(*_MESSAGES))
    word = error.get("type") if error.get("type") == error["message"] else None
    if word:
        error = with_message(error, members.pop_nonempty("message", "error_description", "detail", only=str))
    for name, names in _DETAILS.items():
        if error.get(name) is None:
            error[name] = members.pop(*names, only=(str, int) if name == "code" else object)
    if error["code"] is None:
        # Only after ``code`` and its other names: a ``status`` beside them is of HTTP and less specific.
        error["code"] = members.pop("status", only=int) or _specific_code(word, error["message"])
    data = members.pop(*_DATA)
    if error.get("message") is None and isinstance(data, str):
        error["message"] = data
    return build_error(**merge_context(error, members.remaining()), data=data)


def _specific_code(word: Any, message: Any) -> str | None:
    """Return ``word`` if it is the service's own code in snake_case; else None.

    It is one if the table of codes has a code neither for it nor for the ``message``.
    """
    if not isinstance(word, str) or "_" not in word or not word.islower() or lookup_code(word):
        return None
    texts = (word, word.replace("_", " "), message)
    known = any(
        isinstance(each, str) and guess_code_from_message(each) != ToolErrorCode.EXECUTION_ERROR for each in texts
    )
    return None if known else word


def _succeeded(members: MemberReader) -> ToolResponse:
    """Read a success: its data is the member that holds it, else all members beside the flag."""
    error = members.pop_nonempty("error")
    data = members.pop(*_DATA)
    text = members.pop("message", "text", "msg", only=str) if data is not None else None
    rest = members.remaining()
    context: dict[str, Any] | None = rest if data is not None else None
    data = rest if data is None else data
    text = data if text is None and isinstance(data, str) else text
    if error:
        return build_partial(error, text, data, context=context)
    return build_response("success", text, data, context=context)
