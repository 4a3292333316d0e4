"""An answer that is an error, by a status: {"status": "error", …}, {"code": 404, "message": …}, JSend, a response of
HTTP as data; and {"detail": …}, which is how Django and FastAPI refuse."""

from __future__ import annotations

from typing import Any

import orjson

from tooltrace.codes import ToolErrorCode
from tooltrace.normalize.company import MESSAGES, answers, strangers
from tooltrace.normalize.failure_words import says_failure, says_none, says_well
from tooltrace.normalize.parts import Taken, beside, failure, read_error
from tooltrace.normalize.rule import Reads, Seen, builtin
from tooltrace.normalize.words import code_in, http_status
from tooltrace.response import ToolResponse

_FAILED = frozenset({"error", "fail", "failed", "failure", "exception"})
_STATES = ("status", "result", "type", "outcome")
_NUMBERS = ("status_code", "http_status", "http_code", "status", "code", "error_code")
_FLAGS = ("failed", "is_error", "has_error")
_DONE = ("success", "ok", "succeeded", "is_success")
_NO = frozenset({"false", "no"})
_WHY = frozenset(
    {ToolErrorCode.TIMEOUT, ToolErrorCode.RATE_LIMIT, ToolErrorCode.ACCESS_DENIED, ToolErrorCode.PERMISSION_DENIED}
)
"""What a status that is the whole answer may say went wrong; of other words it may be the state of a thing."""
_OWN_NUMBERS = ("errcode", "err_code", "errno", "code")
_TELLING = (*_STATES, *_NUMBERS, *_FLAGS, *_DONE, *_OWN_NUMBERS, "detail", "message")
_BODY = ("body", "text", "content", "response")
_OF_HTTP = frozenset({*_BODY, "headers", "cookies", "is_base64_encoded", "multi_value_headers", "url", "reason_phrase"})
_GOOD_CODES = (0, 1, 200, 10000, 20000)
_SHORT = 200


@builtin("error_status", "heuristic", Reads(members=_TELLING))
def RULE(seen: Seen) -> ToolResponse | None:
    """A status that says failed, with nothing but its message beside it: a job whose status was asked has its id."""
    data = seen.data
    if not isinstance(data, dict) or not data:
        return None
    return (
        _by_flag(data)
        or _by_no(data)
        or _by_word(data)
        or _by_reason(data)
        or _by_number(data)
        or _by_own_number(data)
        or _by_detail(data)
    )


def _by_flag(data: dict[str, Any]) -> ToolResponse | None:
    """{"failed": true, "msg": …}."""
    taken = Taken(data)
    if taken.first(*_FLAGS, only=bool) is not True or strangers(data, ("has_error", "changed")):
        return None
    message = taken.filled(*MESSAGES, only=str)
    return None if message is None else _failed(read_error(message), taken)


def _by_word(data: dict[str, Any]) -> ToolResponse | None:
    taken = Taken(data)
    name = next((name for name in _STATES if _is_failed(taken.peek(name))), None)
    if name is None or strangers(data):
        return None
    word = taken.first(name)
    message = taken.filled("error", *MESSAGES)
    held = answers({own: value for own, value in data.items() if value != word})
    if message is None and (name != "status" or (held and (held != ["data"] or word.casefold() != "fail"))):
        return None
    return _failed(read_error(message), taken, word)


def _by_no(data: dict[str, Any]) -> ToolResponse | None:
    """{"success": "false", "message": …}: a flag that is a text."""
    taken = Taken(data)
    word = taken.peek(*_DONE)
    if not isinstance(word, str) or word.strip().casefold() not in _NO or strangers(data, _DONE) or answers(data):
        return None
    message = taken.filled("error", *MESSAGES)
    return None if message is None else _failed(read_error(message), taken)


def _by_reason(data: dict[str, Any]) -> ToolResponse | None:
    """{"status": "timeout"}, and no more."""
    taken = Taken(data)
    word = taken.first("status", only=str)
    if word is None or len(data) != 1 or not says_failure(word) or code_in(word) not in _WHY:
        return None
    return _failed({"message": word}, taken)


def _is_failed(word: Any) -> bool:
    return isinstance(word, str) and word.casefold() in _FAILED


def _failed(said: dict[str, Any], taken: Taken, word: str | None = None) -> ToolResponse:
    """The failure, with what is said of it beside it; JSend's ``fail`` says in its data what was wrong."""
    code, kind = said.get("code"), said.get("type")
    if code is None:
        code = taken.filled("error_code", "code", "status_code", only=(str, int))
    if kind is None:
        kind = taken.filled("error_type", "type", only=str)
    data = taken.first("data")
    if said.get("message") in (None, ""):
        said["message"] = "; ".join(_texts(data)) or word
    return failure(**beside({**said, "code": code, "type": kind}, taken.rest()), data=data)


def _texts(data: Any) -> list[str]:
    values = data.values() if isinstance(data, dict) else [data]
    return [value for value in values if isinstance(value, str)]


def _by_number(data: dict[str, Any]) -> ToolResponse | None:
    """A status of HTTP, with words or a body."""
    taken = Taken(data)
    name = next((name for name in _NUMBERS if http_status(taken.peek(name))), None)
    if name is None or strangers(data, _OF_HTTP):
        return None
    status = taken.first(name)
    message = taken.filled(*MESSAGES, "error", "title", only=str)
    body = taken.filled(*_BODY) if name != "code" else None
    if message is None and body is None:
        return None
    said = read_error(message) if message else _of_body(body)
    if answers({own: value for own, value in data.items() if value is not body}) and name in ("code", "error_code"):
        return None
    kind = said.get("type") if message is None else None
    return failure(said.get("message"), status, type=kind, data=body, context=_rest(taken, status))


def _rest(taken: Taken, status: Any) -> dict[str, Any]:
    kept = taken.rest() or {}
    if "status" not in kept:
        kept["status"] = status
    return kept


def _of_body(body: Any) -> dict[str, Any]:
    """The words of a body: of JSON its message, of a short text the text."""
    if isinstance(body, str) and body.lstrip()[:1] == "{":
        try:
            body = orjson.loads(body)
        except ValueError:
            return {"message": body[:_SHORT]}
    if isinstance(body, dict):
        said = read_error(body.get("error") or body)
        return said if isinstance(said.get("message"), str) else {"message": None}
    return {"message": body[:_SHORT] if isinstance(body, str) else None}


def _by_own_number(data: dict[str, Any]) -> ToolResponse | None:
    """{"errcode": 40013, "errmsg": …}, {"code": 10021, "msg": …, "data": null}: 0 says that all is well."""
    taken = Taken(data)
    code = taken.first(*_OWN_NUMBERS, only=int)
    message = taken.filled("errmsg", "err_msg", "msg", "message", only=str)
    if not code or code in _GOOD_CODES or message is None or says_none(message) or 200 <= code < 400:
        return None
    named = "errcode" in taken or "err_code" in taken or "errno" in taken
    if strangers(data, ("errcode", "err_code", "errno", "err_msg")) or answers(data):
        return None
    if not named and not ("data" in taken or "result" in taken):
        return None
    return failure(message, code, context=taken.rest())


def _by_detail(data: dict[str, Any]) -> ToolResponse | None:
    """{"detail": "Not found."} alone, {"message": "Forbidden"} with a link to the manual, FastAPI's list of what was
    invalid."""
    if len(data) == 1 and isinstance(data.get("detail"), list) and data["detail"]:
        items = data["detail"]
        if all(isinstance(item, dict) and {"loc", "msg", "type"} <= set(item) for item in items):
            message = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in items)
            return failure(message, ToolErrorCode.INVALID_PARAM, type="validation_error", context=data)
    taken = Taken(data)
    text = taken.first("detail", "message", only=str)
    if text is None or len(text) > _SHORT or says_well(text):
        return None
    alone = len(data) == 1
    linked = taken.names() <= {"message", "documentation_url", "status", "request_id"} and "documentation_url" in taken
    coded = code_in(text) != ToolErrorCode.EXECUTION_ERROR
    known = says_failure(text) or (coded and ("detail" in taken or linked))
    return failure(**beside(read_error(text), taken.rest())) if known and (alone or linked) else None
