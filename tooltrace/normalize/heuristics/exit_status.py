"""Rule for a finished command as data: {"stdout": …, "stderr": …, "exit_code": 2}."""

from __future__ import annotations

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ToolResponse
from tooltrace.normalize.response_builders import MemberReader, build_error, put_unique
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.transports.completed_process import exit_code

_STATUS = ("exit_code", "returncode", "return_code", "exit_status", "exitcode")
_OUTPUT = frozenset({"stdout", "stderr", "output"})
_LATE = ("timed_out", "timedout", "is_timeout")
_MOST = 2000


@builtin("exit_status", "heuristic", Matches(members=(*_STATUS, *_LATE, "stderr")))
def RULE(view: ResultView) -> ToolResponse | None:
    """Read an exit status other than 0, with the command's output, as an error.

    Heuristic, because some commands report an answer by 1.
    """
    if not isinstance(view.data, dict):
        return None
    members = MemberReader(view.data)
    status = members.pop(*_STATUS, only=int)
    if status is None and {"stdout", "stderr"} <= members.names():
        status = members.pop("code", "rc", only=int)
    late = members.get(*_LATE) is True
    if not (status or late) or not _OUTPUT & members.names():
        return None
    err, out = members.pop("stderr", "error", only=str) or "", members.pop("stdout", "output", only=str) or ""
    if status == 1 and not late and not err.strip():  # grep and diff answer "no" this way
        return None
    context = members.remaining() or {}
    if status is not None:
        put_unique(context, "exit_code", status)
    if err:
        put_unique(context, "stderr", err)
    message = (err.strip() or out.strip())[-_MOST:] or f"exit status {status}"
    if late:
        return build_error("the command timed out", ToolErrorCode.TIMEOUT, text=out or None, context=context)
    return build_error(message, exit_code(status), type=f"exit_{status}", text=out or None, context=context)
