"""Rule for a finished child process: ``subprocess.CompletedProcess``."""

from __future__ import annotations

import signal
from typing import Any

from tooltrace.core.codes import ToolErrorCode as C
from tooltrace.core.response import ToolResponse
from tooltrace.normalize.response_builders import build_error, build_response
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.terms import guess_code_from_message

KINDS: tuple[str, ...] = ("subprocess.CompletedProcess",)

_MOST = 1 << 20
"""Maximum characters kept of an output: the beginning of ``stdout``, the end of ``stderr``."""
_MOST_BYTES = 4 * _MOST + 4
"""Bytes that have more characters than are kept."""
_TAIL = 2000
"""Maximum characters of ``stderr`` (or ``stdout``) that become the message."""
_LINE = 200

_EXITS: dict[int, C] = {124: C.TIMEOUT, 126: C.PERMISSION_DENIED, 127: C.NOT_FOUND}
"""Codes of special exit statuses.

124: the time limit of ``timeout(1)`` ran out; 126: the shell could not run the command; 127: the shell did not find the
command.
"""

_ANSWERS = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "pgrep", "diff", "cmp", "test", "["})
"""Commands for which exit status 1 is an answer: no line matches, the files differ.

Their failures have an exit status of 2 or more (POSIX).
"""
_OPERATORS = frozenset(";|&\n`$")


def form(value: Any) -> dict[str, Any]:
    """Return the arguments, exit status and outputs of a finished process, the outputs as bounded text."""
    out, err = _decoded(value.stdout, slice(_MOST_BYTES)), _decoded(value.stderr, slice(-_MOST_BYTES, None))
    cut = [name for name, text in (("stdout", out), ("stderr", err)) if text is not None and len(text) > _MOST]
    return {
        "args": value.args,
        "returncode": value.returncode,
        "stdout": out and out[:_MOST],
        "stderr": err and err[-_MOST:],
        **({"cut": cut} if cut else {}),
    }


def exit_code(returncode: int) -> C:
    """Return the code of a process that ended with ``returncode``, which is not 0."""
    return _EXITS.get(returncode, C.EXECUTION_ERROR)


@builtin("completed_process", "certain", Matches(kinds=KINDS))
def RULE(view: ResultView) -> ToolResponse | None:
    """Read exit status 0 as a success, any other as an error.

    The text of a success is its ``stdout``. The message of an error is the end of ``stderr``, or else of ``stdout``.
    Exit status 1 of a command in ``_ANSWERS``, with an empty ``stderr``, is a success too (code NO_MATCH).
    """
    if not view.is_a(*KINDS) or not isinstance(view.data, dict) or type(view.data.get("returncode")) is not int:
        return None
    process = dict(view.data)
    status, out, err = process["returncode"], process.pop("stdout", None) or "", process.get("stderr") or ""
    context = {name: value for name, value in process.items() if value not in (None, "")}
    if status == 0:
        return build_response("success", out, context=context)
    if status == 1 and not err.strip() and _command(process.get("args")) in _ANSWERS:
        return build_response("success", out, context=context, code="NO_MATCH")
    message = _tail(err) or _tail(out)
    ended = _ended(status)
    return build_error(
        f"{ended}: {message}" if message and status < 0 else message or ended,
        _code(status, err),
        type=f"exit_{status}" if status > 0 else ended.rpartition(" ")[2],
        text="\n".join(filter(None, (out.strip("\n"), err.strip("\n"), ended))),
        context=context,
    )


def _code(status: int, errors: str) -> C:
    """Return the code of a failed process.

    If the exit status only says that the process failed, the last line of its errors decides, because the system's own
    message stands there: ``cat: f: Permission denied``.
    """
    code = exit_code(status)
    if code != C.EXECUTION_ERROR or status < 0:
        return code
    return guess_code_from_message(errors.strip().rpartition("\n")[2][-_LINE:])


def _decoded(output: Any, part: slice) -> str | None:
    if isinstance(output, bytes | bytearray):
        return bytes(output[part]).decode(errors="replace")
    return output if isinstance(output, str) else None


def _tail(text: str) -> str:
    """Return the last lines of ``text``; the first line of a cut text is dropped unless it is the only one."""
    end = text.strip()
    if len(end) <= _TAIL:
        return end
    cut = end[-_TAIL:]
    return "…" + (cut.partition("\n")[2] or cut)


def _command(args: Any) -> str:
    """Return the program's name, from a list of arguments or from one plain command line."""
    words = args.split() if isinstance(args, str) and _OPERATORS.isdisjoint(args) else args
    first = words[0] if isinstance(words, list) and words else ""
    return first.rpartition("/")[2] if isinstance(first, str) else ""


def _ended(status: int) -> str:
    # Python reports a signal as a negative status, a shell as 128 and the number of the signal.
    number = -status if status < 0 else status - 128 if 128 < status < 160 else 0
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"exit status {status}"
    return f"killed by {name}" if status < 0 else f"exit status {status}: {name}"
