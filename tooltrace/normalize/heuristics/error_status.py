"""Rule for answers that are an error by a status.

Forms: {"status": "error", …}, {"code": 404, "message": …}, JSend, an HTTP response as data, and {"detail": …}, the form
of Django and FastAPI.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import orjson

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ToolResponse
from tooltrace.normalize.heuristics.error_members import MESSAGES, has_data, unknown_members
from tooltrace.normalize.heuristics.failure_phrases import is_failure_phrase, is_success_phrase
from tooltrace.normalize.member_reader import MemberReader, Readers
from tooltrace.normalize.response_builders import build_error, merge_context, read_error
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.terms import guess_code_from_message, http_status

_FAILED = frozenset({"error", "fail", "failed", "failure", "exception", "失败", "错误"})
_STATES = ("status", "result", "type", "outcome")
_NUMBERS = ("status_code", "http_status", "http_code", "status", "code", "error_code")
_TELLING = (*_STATES, *_NUMBERS, "detail", "message")
_BODY = ("body", "text", "content", "response")
_OF_HTTP = frozenset({*_BODY, "headers", "cookies", "is_base64_encoded", "multi_value_headers", "url", "reason_phrase"})
_SHORT = 200


@builtin("error_status", "heuristic", Matches(members=_TELLING))
def RULE(view: ResultView) -> ToolResponse | None:
    """Read a failed status whose only other member is its message.

    The answer to a query for a job's status differs: it has the job's id.
    """
    data = view.data
    if not isinstance(data, dict) or not data:
        return None
    for read in MemberReader(data).readers(_READERS):
        if (found := read(data)) is not None:
            return found
    return None


def _by_word(data: dict[str, Any]) -> ToolResponse | None:
    members = MemberReader(data)
    name = next((name for name in members.present(_STATES) if _is_failed(members.get(name))), None)
    if name is None or unknown_members(data):
        return None
    word = members.pop(name)
    message = members.pop_nonempty("error", *MESSAGES)
    filled = has_data({key: value for key, value in data.items() if value != word})
    if message is None and filled in (["result"], ["output"]) and isinstance(data[filled[0]], str) and name == "status":
        message, filled = members.pop(filled[0]), []
    message = message or members.pop("error_type", only=str)
    # Without a message only ``status`` itself counts, and beside data only JSend's ``fail``, whose data describe the
    # failure.
    if message is None and (name != "status" or (filled and (filled != ["data"] or word.casefold() != "fail"))):
        return None
    return _failed(read_error(message), members, word)


def _is_failed(word: Any) -> bool:
    return isinstance(word, str) and word.casefold() in _FAILED


def _failed(reading: dict[str, Any], members: MemberReader, word: str | None = None) -> ToolResponse:
    """Build the error with the details in the other members.

    JSend's ``fail`` reports in its data what was wrong.
    """
    code, kind = reading.get("code"), reading.get("type")
    if code is None:
        code = members.pop_nonempty("error_code", "code", "status_code", only=(str, int))
    if kind is None:
        kind = members.pop_nonempty("error_type", "type", only=str)
    data = members.pop("data")
    if reading.get("message") in (None, ""):
        reading["message"] = "; ".join(_texts(data)) or word
    return build_error(**merge_context({**reading, "code": code, "type": kind}, members.remaining()), data=data)


def _texts(data: Any) -> list[str]:
    values = data.values() if isinstance(data, dict) else [data]
    return [value for value in values if isinstance(value, str)]


def _by_number(data: dict[str, Any]) -> ToolResponse | None:
    """Read an HTTP status with a message or a body."""
    members = MemberReader(data)
    name = next((name for name in members.present(_NUMBERS) if http_status(members.get(name))), None)
    if name is None:
        return None
    phrase = _phrase(members.get(name))
    worded = {other for other in ("name", "title", "status_text") if phrase and members.get(other) == phrase}
    if worded == {"name"} and not members.get("description", "message", "detail"):
        return None
    if unknown_members(data, {*_OF_HTTP, "http_code", *worded}):
        return None
    status = members.pop(name)
    message = members.pop_nonempty(*MESSAGES, "error", "title", only=str) or (phrase if worded else None)
    body = members.pop_nonempty(*_BODY) if name != "code" else None
    if message is None and body is None:
        return None
    reading = read_error(message) if message else _of_body(body)
    if has_data({other: value for other, value in data.items() if value is not body}) and name in (
        "code",
        "error_code",
    ):
        return None
    kind = reading.get("type") if message is None else None
    return build_error(reading.get("message"), status, type=kind, data=body, context=_rest(members, status))


def _phrase(status: Any) -> str | None:
    """Return the reason phrase of an HTTP status: "Not Found" for 404."""
    try:
        return HTTPStatus(int(status)).phrase
    except ValueError:
        return None


def _rest(members: MemberReader, status: Any) -> dict[str, Any]:
    context = members.remaining() or {}
    if "status" not in context:
        context["status"] = status
    return context


def _of_body(body: Any) -> dict[str, Any]:
    """Return the message of a body: the message in its JSON, else the beginning of the text."""
    if isinstance(body, str) and body.lstrip()[:1] == "{":
        try:
            body = orjson.loads(body)
        except ValueError:
            return {"message": body[:_SHORT]}
    if isinstance(body, dict):
        reading = read_error(body.get("error") or body)
        return reading if isinstance(reading.get("message"), str) else {"message": None}
    return {"message": body[:_SHORT] if isinstance(body, str) else None}


def _by_detail(data: dict[str, Any]) -> ToolResponse | None:
    """Read a message that is the whole refusal.

    Forms: {"detail": "Not found."} alone, {"message": "Forbidden"} with a link to the manual, FastAPI's list of invalid
    parameters.
    """
    if len(data) == 1 and isinstance(data.get("detail"), list) and data["detail"]:
        items = data["detail"]
        if all(isinstance(item, dict) and {"loc", "msg", "type"} <= set(item) for item in items):
            message = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in items)
            return build_error(message, ToolErrorCode.INVALID_PARAM, type="validation_error", context=data)
    members = MemberReader(data)
    text = members.pop("detail", "message", only=str)
    if text is None or len(text) > _SHORT or is_success_phrase(text):
        return None
    alone = len(data) == 1
    linked = (
        members.names() <= {"message", "documentation_url", "status", "request_id"} and "documentation_url" in members
    )
    coded = guess_code_from_message(text) != ToolErrorCode.EXECUTION_ERROR
    known = is_failure_phrase(text) or (coded and ("detail" in members or linked))
    return build_error(**merge_context(read_error(text), members.remaining())) if known and (alone or linked) else None


_READERS: Readers[Callable[[dict[str, Any]], ToolResponse | None]] = (
    (frozenset(_STATES), _by_word),
    (frozenset(_NUMBERS), _by_number),
    (frozenset(("detail", "message")), _by_detail),
)
