"""A finished command as data: {"stdout": …, "stderr": …, "exit_code": 2}."""

from __future__ import annotations

from tooltrace.codes import ToolErrorCode
from tooltrace.normalize.completed_process import exit_code
from tooltrace.normalize.parts import Taken, failure, keep
from tooltrace.normalize.rule import Reads, Seen, builtin
from tooltrace.response import ToolResponse

_STATUS = ("exit_code", "returncode", "return_code", "exit_status", "exitcode")
_OUTPUT = frozenset({"stdout", "stderr", "output"})
_LATE = ("timed_out", "timedout", "is_timeout")
_MOST = 2000


@builtin("exit_status", "heuristic", Reads(members=(*_STATUS, *_LATE)))
def RULE(seen: Seen) -> ToolResponse | None:
    """An exit status that is not 0, with what the command printed; a command may mean something else by 1."""
    if not isinstance(seen.data, dict):
        return None
    taken = Taken(seen.data)
    status = taken.first(*_STATUS, only=int)
    late = taken.peek(*_LATE) is True
    if not (status or late) or not _OUTPUT & taken.names():
        return None
    err, out = taken.first("stderr", only=str) or "", taken.first("stdout", "output", only=str) or ""
    if status == 1 and not late and not err.strip():  # how grep and diff say no
        return None
    context = taken.rest() or {}
    if status is not None:
        keep(context, "exit_code", status)
    if err:
        keep(context, "stderr", err)
    message = (err.strip() or out.strip())[-_MOST:] or f"exit status {status}"
    if late:
        return failure("the command timed out", ToolErrorCode.TIMEOUT, text=out or None, context=context)
    return failure(message, exit_code(status), type=f"exit_{status}", text=out or None, context=context)
