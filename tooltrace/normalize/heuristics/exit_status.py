"""Rule for the exit status that a result declares, as a member or in a line of its text: it decides.

A status of 0 is a success, whatever the output says. Any other is a failure; of 1 with the findings of a checker, or with
an output and no error, the output is the answer.
"""

from __future__ import annotations

from typing import Any

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ToolResponse
from tooltrace.normalize.heuristics import partial_results
from tooltrace.normalize.heuristics.error_text import read_text
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.response_builders import MemberReader, build_error, build_response, put_unique
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.terms import guess_code_from_message
from tooltrace.normalize.transports.completed_process import exit_code

_STATUS = ("exit_code", "returncode", "return_code", "exit_status", "exitcode", "exit")
_OUTPUT = frozenset({"stdout", "stderr", "output", "content", "result", "command", "cmd"})
_HOLDERS = ("metadata", "meta", "result", "data")
_LATE = ("timed_out", "timedout", "is_timeout")
_MOST = 2000
_LINE = 300

_SUBJECT = r"(?:(?:the )?(?:process|command|program|script|shell|task|cell|execution|code) )?"
_ENDED = r"(?:has )?(?:finished|completed|ended|terminated|failed|exited)(?: (?:un)?successfully)?,? with (?:an? )?(?:non-?zero )?"
_WORD = r"(?:exit(?:ed)?(?: with)?[ _-]?(?:code|status)?|return[ _-]?(?:code|value|status))"
_NUMBER = r"\s*[:=]?\s*(?P<exit>-?\d{1,3})(?: \((?:execution failed|error|success|failed|ok)\))?\.?\s*[\])>]?\.?"
_DECLARED = lazy(rf"(?i)[\[(<]?\s*{_SUBJECT}(?:(?:{_ENDED})?{_WORD}|{_ENDED}(?:code|status)){_NUMBER}")
"""A line that declares the exit status of a command."""
_TAG = lazy(r"(?is)<(?P<tag>exit_?code|return_?code|exit_?status)>\s*(?P<exit>-?\d{1,3})\s*</(?P=tag)>")
_FINDING = lazy(
    r"(?i)\S{1,200}:\d+(?::\d+)?:? |(?=.*\b\d+ (?:passed|failed)\b)[=\w\s,.:;()]*\d+ (?:passed|failed)\b.*|(?:tests?|ran|found) .*\b\d+ (?:failed|failures?|tests?|errors?)\b.*"
)
"""A line of a checker that names a place in a file, or counts what it found."""
_CHECKED = (1, 2)
"""Statuses with which checkers report findings."""
_CAPTION = lazy(
    r"(?i)\[?(?:wall[ _-]time|duration|chunk id|original token count|total output lines|(?:code )?output|std(?:out|err))\]?\s*[:：]?.{0,60}|</?(?:stdout|stderr|output|wall_time)>"
)
"""A line with which a shell tool announces the output, or says more about it."""
_HEAD = 5
"""Lines among which a shell tool declares the status before the output."""


def _declares(text: str) -> bool:
    """Whether the first or the last lines of a text may declare an exit status."""
    ends = f"{text[:_LINE]}\n{text[-_LINE:]}".lower()
    return "exit" in ends or ("return" in ends and "code" in ends)


@builtin(
    "exit_status",
    "heuristic",
    Matches(members=(*_STATUS, *_LATE, "stderr", *_HOLDERS), texts=True, texts_with=_declares),
    words=True,
)
def RULE(view: ResultView) -> ToolResponse | None:
    """Read a declared exit status: 0 as a success, any other as an error."""
    if isinstance(view.data, dict):
        return _of_object(view.data)
    return _of_text(view.text) if view.text is not None and isinstance(view.data, str) else None


def _of_object(data: dict[str, Any]) -> ToolResponse | None:
    members = MemberReader(data)
    status = members.pop(*_STATUS, only=int)
    if status is None and {"stdout", "stderr"} <= members.names():
        status = members.pop("code", "rc", only=int)
    if status is None:
        holder = members.get(*_HOLDERS)
        status = MemberReader(holder).get(*_STATUS) if isinstance(holder, dict) else None
        status = status if type(status) is int else None
        declared = status is not None
    else:
        declared = bool(_OUTPUT & members.names())
    late = members.get(*_LATE) is True and bool(_OUTPUT & members.names())
    if not late and not declared:
        return None
    err = members.pop("stderr", "error", only=str) or ""
    out = members.pop("stdout", "output", only=str) or ""
    if status == 0 and not late:
        return None if partial_results.RULE.read(ResultView(data)) else build_response("success", out or err, data)
    if status in _CHECKED and not late and not err.strip() and any(map(_FINDING.match, out.splitlines()[:50])):
        return None
    context = members.remaining() or {}
    if status is not None:
        put_unique(context, "exit_code", status)
    if err:
        put_unique(context, "stderr", err)
    if late:
        return build_error("the command timed out", ToolErrorCode.TIMEOUT, text=out or None, context=context)
    message = (err.strip() or out.strip())[-_MOST:] or f"exit status {status}"
    return build_error(message, coded(status, message), type=f"exit_{status}", text=out or None, context=context)


def coded(status: int | None, message: str) -> ToolErrorCode:
    """Return the code of an exit status, or the one that the last line of the message suggests."""
    code = exit_code(status or 0)
    return code if code != ToolErrorCode.EXECUTION_ERROR else guess_code_from_message(_last(message))


def _last(text: str) -> str:
    return text.strip().rpartition("\n")[2][-_LINE:]


def _of_text(text: str) -> ToolResponse | None:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    found = _TAG.search(text[-_LINE:]) or _TAG.match(text[:_LINE])
    place = -1
    if found is None:
        place, found = next(
            ((place, match) for place in (-1, 0) if (match := _DECLARED.fullmatch(lines[place].strip()[:_LINE]))),
            (0, None),
        )
    if found is None and len(lines) > 2 and _CAPTION.fullmatch(lines[2].strip()[:_LINE]):
        place, found = 1, _DECLARED.fullmatch(lines[1].strip()[:_LINE])
    if found is None and _CAPTION.fullmatch(lines[0].strip()[:_LINE]):
        head = (line.strip()[:_LINE] for line in lines[:_HEAD])
        place, after = next(((at, line) for at, line in enumerate(head) if not _CAPTION.fullmatch(line)), (0, ""))
        found = _DECLARED.fullmatch(after)
    if found is None:
        return None
    status = int(found["exit"])
    rest = lines if found.re is _TAG else (lines[:-1] if place < 0 else lines[place + 1 :])
    printed = [line for line in rest if not _CAPTION.fullmatch(line.strip()) and not _TAG.search(line)]
    if status == 0:
        cut = partial_results.RULE.read(ResultView(text, (), text))
        return None if cut else build_response("success", text, text)
    inner = read_text("\n".join(printed)) if printed else None
    if inner is not None and inner.status == "error" and inner.error is not None:
        error = inner.error.model_copy(update={"type": inner.error.type or f"exit_{status}"})
        return inner.model_copy(update={"text": text, "failure": error})
    if status in _CHECKED and any(map(_FINDING.match, printed)):
        return None
    message = printed[-1].strip()[-_MOST:] if printed else f"exit status {status}"
    return build_error(message, coded(status, message), type=f"exit_{status}", text=text)


__all__ = ["RULE", "coded"]
