"""What a finished child process says: ``subprocess.CompletedProcess``."""

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
"""Characters of an output that are kept: its beginning, and of the errors the end."""
_TAIL = 2000
"""Characters of the errors that become the message."""
_LINE = 200

_EXITS: dict[int, C] = {124: C.TIMEOUT, 126: C.PERMISSION_DENIED, 127: C.NOT_FOUND}
"""``timeout(1)`` ran out; the shell could not run the command; it found none."""

_ANSWERS = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "pgrep", "diff", "cmp", "test", "["})
"""Commands that answer "no" with 1: no line matches, the files differ. Failures of theirs are 2 and more (POSIX)."""
_OPERATORS = frozenset(";|&\n`$")


def form(value: Any) -> dict[str, Any]:
    """What a finished process left, the outputs as text and bounded."""
    out, err = _words(value.stdout), _words(value.stderr)
    cut = [name for name, text in (("stdout", out), ("stderr", err)) if text is not None and len(text) > _MOST]
    return {
        "args": value.args,
        "returncode": value.returncode,
        "stdout": out and out[:_MOST],
        "stderr": err and err[-_MOST:],
        **({"cut": cut} if cut else {}),
    }


def exit_code(returncode: int) -> C:
    """The code of a process that ended with ``returncode``, which is not 0."""
    return _EXITS.get(returncode, C.EXECUTION_ERROR)


@builtin("completed_process", "certain", Matches(kinds=KINDS))
def RULE(seen: ResultView) -> ToolResponse | None:
    """Exit status 0 is a success, and what it printed the text; any other an error, and the last that it said in
    ``stderr`` the message."""
    if not seen.is_a(*KINDS) or not isinstance(seen.data, dict) or type(seen.data.get("returncode")) is not int:
        return None
    said = dict(seen.data)
    status, out, err = said["returncode"], said.pop("stdout", None) or "", said.get("stderr") or ""
    context = {name: value for name, value in said.items() if value not in (None, "")}
    if status == 0:
        return build_response("success", out, context=context)
    if status == 1 and not err.strip() and _command(said.get("args")) in _ANSWERS:
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
    """By the exit status; where that only says that it failed, by the last line of the errors, where the system's own
    message stands: ``cat: f: Permission denied``."""
    code = exit_code(status)
    if code != C.EXECUTION_ERROR or status < 0:
        return code
    return guess_code_from_message(errors.strip().rpartition("\n")[2][-_LINE:])


def _words(output: Any) -> str | None:
    if isinstance(output, bytes | bytearray):
        return bytes(output).decode(errors="replace")
    return output if isinstance(output, str) else None


def _tail(text: str) -> str:
    """The last lines, whole where they are not too long."""
    end = text.strip()
    if len(end) <= _TAIL:
        return end
    cut = end[-_TAIL:]
    return "…" + (cut.partition("\n")[2] or cut)


def _command(args: Any) -> str:
    """The name of the program, of a list of arguments or of one plain command line."""
    words = args.split() if isinstance(args, str) and _OPERATORS.isdisjoint(args) else args
    first = words[0] if isinstance(words, list) and words else ""
    return first.rpartition("/")[2] if isinstance(first, str) else ""


def _ended(status: int) -> str:
    number = -status if status < 0 else status - 128 if 128 < status < 160 else 0
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"exit status {status}"
    return f"killed by {name}" if status < 0 else f"exit status {status}: {name}"
