"""Rule for the Eino RFC's ``toolutil.Result``: success, data, error {code, message, retryable, suggestion}."""

from __future__ import annotations

from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.response_builders import (
    MemberReader,
    build_error,
    build_partial,
    build_response,
    merge_context,
    read_error,
)
from tooltrace.normalize.rule import Matches, ResultView, builtin

_ERROR = frozenset({"code", "message", "retryable", "suggestion"})


@builtin("eino", "certain", Matches(members=("success",)), opens="all")
def RULE(view: ResultView) -> ToolResponse | None:
    """Read an object with only these members.

    A code that the table does not contain is the tool's own, and is kept.
    """
    if not isinstance(view.data, dict) or not view.data:
        return None
    members = MemberReader(view.data)
    success, error = members.pop("success", only=bool), members.pop("error")
    if success is None or not _is_result(members, error):
        return None
    data = members.pop("data")
    context = members.remaining()
    if not success:
        return build_error(**merge_context(read_error(error or {}), context), data=data)
    text = data if isinstance(data, str) else ""
    return (
        build_partial(error, text, data, context=context)
        if error
        else build_response("success", text, data, context=context)
    )


def _is_result(members: MemberReader, error: Any) -> bool:
    names = members.names()
    if not names <= {"success", "data", "error"} or len(names) < 2:
        return False
    return error in (None, {}) or (isinstance(error, dict) and MemberReader(error).names() <= _ERROR)
