"""The Eino RFC's ``toolutil.Result``: success, data, error {code, message, retryable, suggestion}."""

from __future__ import annotations

from typing import Any

from tooltrace.normalize.parts import Taken, answer, beside, failure, flawed, read_error
from tooltrace.normalize.rule import Reads, Seen, builtin
from tooltrace.response import ToolResponse

_ERROR = frozenset({"code", "message", "retryable", "suggestion"})


@builtin("eino", "certain", Reads(members=("success",)), opens="all")
def RULE(seen: Seen) -> ToolResponse | None:
    """An object with exactly these members. A code that the table does not know is the tool's own, and kept."""
    if not isinstance(seen.data, dict) or not seen.data:
        return None
    taken = Taken(seen.data)
    success, error = taken.first("success", only=bool), taken.first("error")
    if success is None or not _is_result(taken, error):
        return None
    data = taken.first("data")
    context = taken.rest()
    if not success:
        return failure(**beside(read_error(error or {}), context), data=data)
    text = data if isinstance(data, str) else ""
    return flawed(error, text, data, context=context) if error else answer("success", text, data, context=context)


def _is_result(taken: Taken, error: Any) -> bool:
    names = taken.names()
    if not names <= {"success", "data", "error"} or len(names) < 2:
        return False
    return error in (None, {}) or (isinstance(error, dict) and Taken(error).names() <= _ERROR)
