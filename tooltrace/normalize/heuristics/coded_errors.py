"""Rule for answers with a service's own error code, under any of the names that services give to a code and its message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ToolResponse
from tooltrace.normalize.heuristics.embedded_error import reads_failure
from tooltrace.normalize.heuristics.error_members import is_empty
from tooltrace.normalize.heuristics.failure_phrases import is_no_error_phrase
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.member_reader import MemberReader, Readers
from tooltrace.normalize.response_builders import build_error
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.terms import guess_code_from_message, http_status, lookup_code, snake_case

_PARTS = (
    "err",
    "error",
    "ret",
    "return",
    "res",
    "result",
    "resp",
    "response",
    "rsp",
    "biz",
    "sub",
    "status",
    "sys",
    "api",
)
_CODES = tuple(
    dict.fromkeys(
        ["code", "errno", "ecode", "status", "errcode", "retcode", "state"]
        + [f"{part}_{word}" for part in _PARTS for word in ("code", "no", "num")]
    )
)
"""Members that hold a code, in snake case; the likeliest first."""
_CODE_NAMES = frozenset(_CODES)
_MESSAGES = tuple(
    dict.fromkeys(
        [f"{part}_{word}" for part in ("sub", "err", "error", "ret", "return", "result", "resp", "rsp", "res", "biz", "status") for word in ("msg", "message", "desc", "description", "info", "reason", "tips", "text", "detail")]
        + ["errmsg", "retmsg", "err", "error", "msg", "message", "info", "description", "desc", "reason", "tips", "detail"]
    )
)  # fmt: skip
"""Members that hold the message beside a code."""
_FAULTY = lazy(r"(?:.*_)?(?:err|error|ecode|errno|errcode|errmsg)(?:_.*)?")
"""Names of members that only an error fills."""
_ABOUT = lazy(
    r"(?:.*_)?(?:id|ids|ttl|time|timestamp|date|ts|version|cost|took|duration|elapsed|sid|host|path|url|type|name|lang|trace|sign|success|ok|flag|count|total|num|retryable|status|state|qps)|"
    + "|".join((*_CODES, *_MESSAGES))
)
"""Members beside a code that do not hold an answer."""
_GOOD = frozenset({"0", "00", "0000", "00000", "000000", "1", "200", "10000", "20000", "", "ok", "success", "succeed", "succeeded", "true", "none", "no_error"})  # fmt: skip
_BAD_FIRST = frozenset(["no", "invalid", "not", "unknown", "missing", "too", "bad", "unsupported", "illegal", "duplicate", "insufficient", "incorrect", "malformed", "cannot"])  # fmt: skip
"""Words that begin the code of a failure."""
_BAD_WORDS = frozenset([
    "error", "exception", "denied", "exceeded", "failed", "failure", "invalid", "expired", "required", "timeout", "unavailable", "mismatch", "conflict",
    "forbidden", "unauthorized", "unauthenticated", "notfound", "throttling", "throttled", "rejected", "refused", "revoked", "disabled", "fault", "missing", "unsupported",
])  # fmt: skip
"""Words of a code that mean a failure wherever they stand."""
_AFTER_NOT = frozenset(["found", "allowed", "authorized", "supported", "available", "permitted", "exist", "exists", "valid", "enabled", "implemented"])  # fmt: skip
"""Words that end the code of a failure after ``not``."""
_LETTERED = lazy(r"[A-Z]{1,3}[-_]?\d{3,6}")
"""A code as Alibaba's manual for Java numbers them: A0401."""
_MOST = 12


@builtin("coded_error", "heuristic", Matches(members=_CODES))
def RULE(view: ResultView) -> ToolResponse | None:
    """Read a code that means a failure, with its message, where nothing else is an answer.

    The names of the members, or the words of the message, must say that it is an error.
    """
    data = view.data
    if not isinstance(data, dict) or not 1 <= len(data) <= _MOST:
        return None
    for read in MemberReader(data).readers(_READERS):
        if (found := read(data)) is not None:
            return found
    return None


def _coded(data: dict[str, Any], *, named: bool = False) -> ToolResponse | None:
    """Read a code and its message. ``named``: the names must say that it is an error."""
    members = MemberReader(data)
    names = members.names()
    if _CODE_NAMES.isdisjoint(names):
        return None
    code_name = next((name for name in members.present(_CODES) if _fails(members.get(name))), None)
    if code_name is None:
        return None
    code = members.get(code_name)
    message_name = next(
        (
            name
            for name in members.present(_MESSAGES)
            if name != code_name and isinstance(members.get(name), str) and members.get(name)
        ),
        None,
    )
    # Empty members do not count: a failed answer often keeps the members of a success.
    beside = {
        name: value for name, value in data.items() if snake_case(name) not in (code_name, message_name) and value
    }
    # An id of the request marks a service's answer, in which a scalar of any name may stand beside the code.
    requested = (
        "request_id" in names and len(data) <= 4 and not any(isinstance(v, list | dict) for v in beside.values())
    )
    if not requested and not all(_is_beside(snake_case(name), value) for name, value in beside.items()):
        return None
    if message_name is None:
        return None
    message = members.get(message_name)
    faulty = _FAULTY.fullmatch(code_name) is not None or message_name.startswith(("err", "sub_"))
    worded = not _is_number(code) and code_name not in ("status", "state") and is_failure_word(code)
    lettered = isinstance(code, str) and _LETTERED.fullmatch(code) is not None and "data" in names
    if is_no_error_phrase(message) or (
        not faulty and not worded and not lettered and (named or not reads_failure(message))
    ):
        return None
    numbered = _is_number(code) or ("data" in names and isinstance(code, str) and _LETTERED.fullmatch(code) is not None)
    if not numbered and not worded and (not faulty or code_name in ("status", "state") or " " in code):
        return None
    members.pop(code_name), members.pop(message_name)
    return _built(message, code, members.remaining())


def is_failure_word(code: str) -> bool:
    """Whether a service's own code is a failure by its words: ``NoRoute``, ``INVALID_TOKEN``, ``user_not_found``."""
    words = snake_case(code).replace("-", "_").replace(".", "_").split("_") if " " not in code else []
    negated = "not" in words and words[-1] in _AFTER_NOT
    return (
        len(words) > 1
        and "no_error" not in "_".join(words)
        and (negated or words[0] in _BAD_FIRST or not _BAD_WORDS.isdisjoint(words))
    )


_READERS: Readers[Callable[[dict[str, Any]], ToolResponse | None]] = ((_CODE_NAMES, _coded),)


def _is_beside(name: str, value: Any) -> bool:
    """Whether a member may stand beside a code that reports a failure: empty, or about the request."""
    if is_empty(value) or value is False:
        return True
    if isinstance(value, dict):
        return all(_is_beside("", each) or snake_case(key) in _MESSAGES for key, each in value.items())
    return isinstance(value, str | int | float) and _ABOUT.fullmatch(name) is not None


def _fails(code: Any) -> bool:
    return isinstance(code, str | int) and not isinstance(code, bool) and str(code).strip().casefold() not in _GOOD


def _is_number(code: Any) -> bool:
    return isinstance(code, int) or (isinstance(code, str) and code.lstrip("-").isdigit())


def _built(message: str, code: Any, context: dict[str, Any] | None) -> ToolResponse:
    """Build the error; a code that no table has is kept, if the words suggest none."""
    if http_status(code):
        return build_error(message, code, context=context)
    known = lookup_code(str(code)) or guess_code_from_message(message)
    found = build_error(message, known, type=str(code), context=context)
    if known != ToolErrorCode.EXECUTION_ERROR or found.error is None:
        return found
    error = found.error.model_copy(update={"code": str(code), "retryable": None})
    return found.model_copy(update={"code": str(code), "failure": error})
