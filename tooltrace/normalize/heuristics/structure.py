"""Rule for objects and lists that state their own failure by their structure, whatever service sent them.

An object states a failure by a filled error member, a failed status word, a flag, an HTTP status, or a code that is no
success beside a message. The statement may stand one level down. A record about an error has other members: those of a
log entry, a finding, an entity. Its error is data.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ToolResponse
from tooltrace.normalize.heuristics.error_members import (
    DATA,
    MESSAGES,
    are_fields,
    describes_an_entity,
    has_data,
    is_empty,
    unknown_members,
)
from tooltrace.normalize.heuristics.error_text import read_text
from tooltrace.normalize.heuristics.failure_phrases import (
    is_failure_phrase,
    is_failure_word,
    is_no_error_phrase,
    is_success_phrase,
)
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.member_reader import MemberReader
from tooltrace.normalize.response_builders import build_error, build_partial, build_response, merge_context, read_error
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.terms import guess_code_from_message, http_status, lookup_code, snake_case

_ERRORS = (
    "error", "errors", "user_errors", "non_field_errors", "error_messages", "error_summary", "err", "exception",
    "fault", "error_message", "error_msg", "errmsg",
)  # fmt: skip
_STATES = ("status", "state", "result", "outcome", "type")
_STATUSES = ("status_code", "http_status", "http_code", "status", "code", "error_code", "statuscode")
_CODES = ("code", "error_code", "err_code", "errcode", "errno", "status_code", "error_type", "name", "reason", "type")
_MESSAGES = ("message", "msg", "error_message", "detail")
_FLAGS = ("success", "ok", "is_success", "succeeded")
_WORDED_FLAGS = (*_FLAGS, "response")
_FAILURE_FLAGS = ("failed", "is_error", "has_error", "did_error", "errored", "has_failed", "unreachable")
_GOOD_NUMBERS = frozenset({0, 1, 200, 10000, 20000})
_NUMBERS = ("code", "errno", "err_no", "errcode", "err_code", "error_code", "retcode", "status")
_WORDS = ("code", "error_code", "errcode", "type", "kind", "id", "name", "status")
"""Members in which a code may be in words."""
_FAILED = frozenset({"error", "fail", "failed", "failure", "exception", "failed_with_error", "失败", "错误"})
_WELL = frozenset({"ok", "success", "succeeded", "completed", "done", "running", "pending", "active", "partial"})
_HOLDERS = frozenset({*DATA, "body", "payload", "meta", "metadata", "status", "error_response", "head", "header"})
"""Members whose object may state the failure of the object around it."""
_ASIDE = frozenset({"extensions", "extra", "meta", "links", "warnings", "headers", "response_metadata"})
"""Members that stand beside an answer and are none."""
_CONTENT = ("content", "data", "result", "results", "output", "value", "text")
"""Members of an item that hold what the tool found for it."""
_ROWS = ("results", "items", "responses", "data", "output", "outputs", "files", "documents", "operations", "records")
_OF_A_LOG = frozenset(
    {"level", "severity", "logger", "line", "lineno", "column", "rule", "rule_id", "test", "test_name", "nodeid", "valid", "passed"}
)  # fmt: skip
"""Members of a log entry, of a finding, of a test, of a validation."""
_OF_A_REQUEST = frozenset({"id", "index", "key", "source", "input", "request", "requested", "count", "time", "took"})
"""Members of a record that an answer repeats from its request too."""
_COUNTS = frozenset({"count", "total"})
_MOST = 40
_WORKED = lazy(r"(?i)(?<!un)(?<!not )success|(?<![不未])成功")
"""Words of the message of a request that worked, whatever its number."""
_FILE = lazy(r"\S+\.\w{1,5}")
"""A name of a file, which is no message."""
_MOST_ROWS = 1000
_OF_A_FAILED_ROW = frozenset(
    {*_FLAGS, *_FAILURE_FLAGS, "error", "error_message", "error_code", "code", "status", "status_code"}
)
"""Members of which an item that states its failure has one."""


class _Statement(NamedTuple):
    """What an object says of its own failure: arguments for :func:`build_error`."""

    reading: dict[str, Any]
    partial: Any = None
    """The answer beside the error, if there is one."""


@builtin(
    "structure",
    "heuristic",
    Matches(
        members=(
            *_ERRORS,
            *_STATES,
            *_STATUSES,
            *_CODES,
            *_ROWS,
            *_MESSAGES,
            *_WORDED_FLAGS,
            *_FAILURE_FLAGS,
            *_NUMBERS,
            *_WORDS,
            *_HOLDERS,
        ),
        arrays=True,
    ),
)
def RULE(view: ResultView) -> ToolResponse | None:
    """Read an object that states its own failure, or a list whose items do."""
    if isinstance(view.data, list):
        return _of_rows(view.data, view.data)
    if not isinstance(view.data, dict) or not 0 < len(view.data) <= _MOST:
        return None
    found = statement(view.data)
    if found is not None:
        return _response(found)
    if _states_success(view.data) or {"body", "headers"} <= MemberReader(view.data).names():
        return None
    return _inside(view.data)


def _response(found: _Statement) -> ToolResponse:
    if found.partial is not None:
        text = found.partial if isinstance(found.partial, str) else ""
        return build_partial(found.reading.pop("error"), text, found.partial, context=found.reading.get("context"))
    return build_error(**found.reading)


def statement(data: dict[str, Any]) -> _Statement | None:
    """Return what ``data`` states of its own failure; None if it states none."""
    members = MemberReader(data)
    # A manual describes an error in the same words as a tool that reports it.
    if members.names() & _OF_A_LOG or {"message", "description"} <= members.names() or _flag(members) is True:
        return None
    readers = (_by_flag, _by_error, _by_http_status, _by_code, _by_number)
    return next((found for read in readers if (found := read(data, MemberReader(data))) is not None), None)


def _by_flag(data: dict[str, Any], members: MemberReader) -> _Statement | None:
    """Read a flag that says that the call failed, and why."""
    worded = members.get(*_WORDED_FLAGS)
    denied = isinstance(worded, str) and worded.strip().casefold() in ("false", "no")
    failed = members.get(*_FAILURE_FLAGS) is True or members.get(*_FLAGS) is False
    answer = {name: value for name, value in data.items() if value is not worded}
    if (
        not (failed or denied)
        or (denied and has_data(answer))
        or unknown_members(data, (*_WORDED_FLAGS, *_FAILURE_FLAGS, "changed", "rc", "numpods"))
    ):
        return None
    error = members.pop_nonempty("error", "errors", *MESSAGES)
    return None if error is None else _Statement(_read(error, members))


def _by_number(data: dict[str, Any], members: MemberReader) -> _Statement | None:
    """Read a number that is no success beside a message, where the members for data are empty."""
    code = members.get(*_NUMBERS)
    number = int(code) if isinstance(code, str) and code.isascii() and code.isdigit() else code
    if not isinstance(number, int) or isinstance(number, bool) or number in _GOOD_NUMBERS or 200 <= number < 400:
        return None
    message = members.get("errmsg", "err_msg", *_MESSAGES, "description")
    empty = (
        "data" in members.names()
        or "result" in members.names()
        or members.get("errno", "errcode", "err_code", "error_code") is not None
    )
    if not isinstance(message, str) or not empty or is_no_error_phrase(message) or _WORKED.search(message):
        return None
    if has_data(data) or unknown_members(data, ("errno", "errcode", "err_code", "err_no", "retcode", "err_msg", "ttl")):
        return None
    members.pop("errmsg", "err_msg", *_MESSAGES, "description"), members.pop(*_NUMBERS)
    return _Statement({"message": message, "code": code, "context": members.remaining()})


def _flag(members: MemberReader) -> bool | None:
    value = members.get(*_FLAGS)
    return value if isinstance(value, bool) else None


def _states_success(data: dict[str, Any]) -> bool:
    members = MemberReader(data)
    state = members.get("status", "state")
    return _flag(members) is True or (isinstance(state, str) and state.casefold() in _WELL)


def _beside(data: dict[str, Any], *read: str) -> tuple[list[str], list[str]]:
    """Return the unknown members beside a statement: those of an entity, and those that hold lists or objects."""
    others = unknown_members(data, read)
    filled = {snake_case(name): value for name, value in data.items()}
    entity = [name for name in others if describes_an_entity(name)]
    return entity, [name for name in others if isinstance(filled[name], list | dict)]


def _by_error(data: dict[str, Any], members: MemberReader) -> _Statement | None:
    name = next((name for name in members.present(_ERRORS) if _is_filled(members.get(name))), None)
    if name is None or _states_success(data):
        return None
    error = members.pop(name)
    coded = "error_description" in members.names() or (isinstance(error, dict) and _is_coded(error))
    coded = coded or (isinstance(error, list) and all(isinstance(each, dict) and _is_coded(each) for each in error))
    spoken = isinstance(error, str) and " " in error.strip() and reports(error)
    first = snake_case(next(iter(data))) == name
    beside = unknown_members(data, (name,))
    entity, containers = _beside(data, name)
    # A code beside the message, or a sentence that stands first, is the answer's own, whatever stands beside it.
    allowed = _OF_A_REQUEST if coded else _COUNTS if spoken and first else frozenset()
    if set(entity) - allowed - ({"timestamp"} if coded else set()) or (containers and not coded):
        return None
    if (
        not (coded or spoken)
        and beside
        and not (first and len(beside) == 1 and isinstance(error, str) and " " in error)
    ):
        return None
    answer = [
        each for each in data if snake_case(each) in DATA and not is_empty(data[each]) and data[each] is not False
    ]
    if not answer:
        return _Statement(_read(error, members))
    value = data[answer[0]]
    if beside or len(answer) > 1 or name not in ("error", "errors") or not isinstance(value, str | list | dict):
        return None
    members.pop(snake_case(answer[0]))
    return _Statement({"error": error, "context": members.remaining()}, value)


def _is_filled(error: Any) -> bool:
    if isinstance(error, str):
        return not is_no_error_phrase(error)
    if isinstance(error, list):
        return bool(error) and all(_is_item(each) for each in error)
    return isinstance(error, dict) and (_is_item(error) or are_fields(error))


def _is_item(error: Any) -> bool:
    """Whether one error of a list, or an error object, has words of its own."""
    if isinstance(error, str):
        return not is_no_error_phrase(error) and _FILE.fullmatch(error) is None
    if not isinstance(error, dict) or MemberReader(error).names() & _OF_A_LOG:
        return False
    # A catalogue of errors describes each; an error says its message.
    return _message(MemberReader({name: value for name, value in error.items() if name != "description"})) is not None


def _is_coded(error: dict[str, Any]) -> bool:
    members = MemberReader(error)
    return (
        _message(members) is not None
        and members.get("code", "error_code", "type", "error_type", "status", "name", "reason") is not None
    )


def _message(members: MemberReader) -> str | None:
    words = members.pop_nonempty(*MESSAGES, "title", "text", "faultstring", "error_msg", "errmsg", "error", only=str)
    return words if words is not None and not is_no_error_phrase(words) else None


def reports(words: str) -> bool:
    """Whether ``words``, as a whole, report a failure."""
    return (
        read_text(words) is not None
        or is_failure_phrase(words)
        or guess_code_from_message(words) != ToolErrorCode.EXECUTION_ERROR
    )


def _by_http_status(data: dict[str, Any], members: MemberReader) -> _Statement | None:
    name = next((name for name in members.present(_STATUSES) if http_status(members.get(name))), None)
    if name is None:
        return None
    message = _message(MemberReader(data))
    entity, containers = _beside(data, name, "headers", "body", "title", "name")
    if message is None or entity or containers:
        return None
    status = members.pop(name)
    return _Statement({**merge_context(read_error(message), members.remaining()), "code": status})


def _by_code(data: dict[str, Any], members: MemberReader) -> _Statement | None:
    """Read a code in words beside a message, ``{"code": "rest_no_route", "message": …}``, or a message and nothing else."""
    message = members.get(*_MESSAGES)
    named = next((name for name in _WORDS if isinstance(word := members.get(name), str) and is_failure_word(word)), "")
    code = members.get(named) or members.get("code", "error_code", "errcode", "type", "id")
    if not isinstance(message, str) or is_no_error_phrase(message) or is_success_phrase(message):
        return None
    entity, containers = _beside(data)
    inner = members.get("data", "details")
    inner = inner if isinstance(inner, dict) else None
    status = _http_status_of(inner) if inner is not None else None
    if (
        set(entity) - {"id", named}
        or containers
        or has_data({name: value for name, value in data.items() if value is not inner})
    ):
        return None
    if not isinstance(code, str) or " " in code:
        # An empty list beside a message is a search that found nothing.
        lists = any(isinstance(value, list) for value in data.values())
        alone = not unknown_members(data) and len(data) <= 2 and inner is None and not lists
        words = (
            read_text(message)
            if alone and (code is None or isinstance(code, int)) and members.get("status") is None
            else None
        )
        if words is None:
            return None
        members.pop(*_MESSAGES)
        return _Statement(merge_context(read_error(message), members.remaining()))
    if status is None and (
        inner is not None or not (is_failure_word(code) or (lookup_code(code) is not None and reports(message)))
    ):
        return None
    members.pop(*_MESSAGES)
    standard = lookup_code(code) or (status if status is not None else _coded_by(code, message))
    return _Statement({"message": message, "type": code, "code": standard, "context": members.remaining()})


def _http_status_of(data: dict[str, Any]) -> Any:
    return next((data[name] for name in ("status", "status_code", "statusCode") if http_status(data.get(name))), None)


def _coded_by(code: str, message: str) -> str | None:
    """Return the code that the words of a service's code, or of its message, suggest."""
    found = guess_code_from_message(snake_case(code).replace("_", " "))
    found = guess_code_from_message(message) if found == ToolErrorCode.EXECUTION_ERROR else found
    return None if found == ToolErrorCode.EXECUTION_ERROR else found


def _read(error: Any, members: MemberReader) -> dict[str, Any]:
    """Return the arguments of the error in a member ``error``, completed from the members beside it."""
    reading = read_error(error)
    words = reading.get("message")
    if not isinstance(words, str) or not words or words == reading.get("type") or words.casefold() in _FAILED:
        reading["message"] = members.pop_nonempty(*MESSAGES, only=str) or words
    if reading.get("code") is None:
        reading["code"] = members.pop_nonempty("error_code", "errcode", "code", only=(str, int))
    first = error[0] if isinstance(error, list) and error else error
    status = first.get("status") if isinstance(first, dict) else None
    status = status if http_status(status) else members.get("status_code", "http_status", "status")
    if reading["code"] is None and http_status(status):
        reading["code"] = status
    of_fields = isinstance(error, dict) and are_fields(error)
    if reading["code"] is None and reading.get("type") is None and (of_fields or _names_fields(error)):
        reading["code"] = ToolErrorCode.INVALID_PARAM
    if reading.get("type") is None:
        reading["type"] = members.pop_nonempty("error_type", "exception_type", "type", only=str)
    for name, names in {"suggestion": ("suggestion", "hint"), "retryable": ("retryable", "is_retryable")}.items():
        reading[name] = members.pop(*names) if reading.get(name) is None else reading[name]
    return merge_context(reading, members.remaining())


def _names_fields(error: Any) -> bool:
    """Whether ``error`` lists messages about fields of the request."""
    return isinstance(error, list) and all(isinstance(each, dict) and "field" in each for each in error)


def _inside(data: dict[str, Any], depth: int = 1) -> ToolResponse | None:
    """Read a statement in the only object that the answer holds, or in the only member of that."""
    filled = {
        name: value
        for name, value in data.items()
        if isinstance(value, list | dict) and not is_empty(value) and snake_case(name) not in _ASIDE
    }
    if len(filled) != 1:
        return None
    ((name, value),) = filled.items()
    if isinstance(value, list):
        return _of_rows(value, data) if snake_case(name) in _ROWS else None
    alone = len(data) == 1
    if not alone and (
        snake_case(name) not in _HOLDERS or any(map(describes_an_entity, unknown_members(data, (snake_case(name),))))
    ):
        return None
    found = statement(value)
    if found is None and depth and (alone or snake_case(name) in _HOLDERS) and len(value) == 1:
        return _inside(value, depth - 1)
    if found is None or found.partial is not None:
        return None
    rest = {other: each for other, each in data.items() if other != name}
    return build_error(**merge_context(found.reading, rest), data=None)


def _of_rows(rows: list[Any], data: Any) -> ToolResponse | None:
    """Read items that each state whether they failed: an error if all did, partial if some did."""
    if not rows or len(rows) > _MOST_ROWS or not all(isinstance(row, dict) and row for row in rows):
        return None
    readers = [MemberReader(row) for row in rows]
    if all(members.names().isdisjoint(_OF_A_FAILED_ROW) for members in readers):
        return None
    if any(members.names() & _OF_A_LOG for members in readers):
        return None
    failed = [
        found for row, members in zip(rows, readers, strict=True) if (found := _failed_row(row, members)) is not None
    ]
    flagged = all(_flag(members) is not None or isinstance(members.get(*_FAILURE_FLAGS), bool) for members in readers)
    if not failed or (not flagged and any(_flag(members) is not None for members in readers)):
        return None
    if len(failed) < len(rows):
        return build_response("partial", "", data, reason=f"{len(failed)} of {len(rows)} failed")
    # Rows without a flag that are all about errors may be the answer to a question about errors.
    if not flagged and any(
        unknown_members(row) or "id" in members.names() for row, members in zip(rows, readers, strict=True)
    ):
        return None
    return build_error(**{**failed[0], "context": None}, data=data)


def _failed_row(row: dict[str, Any], members: MemberReader) -> dict[str, Any] | None:
    """Return the error of an item that failed, by its flag or by its error; None for an entity."""
    if http_status(members.get("status")) and "body" in members.names():
        return {"message": None, "code": members.get("status"), "context": members.remaining()}
    flag = _flag(members)
    entity = [
        name
        for name in unknown_members(row)
        if describes_an_entity(name) and (flag is None or name not in _OF_A_REQUEST)
    ]
    if flag is True or entity:
        return None
    if flag is None and members.get(*_FAILURE_FLAGS) is True:
        flag = False
    if flag is False:
        error = members.pop_nonempty("error", "errors", "error_message", "failure", "message", "msg", "detail")
        return None if error is None else _read(error, members)
    word = members.get("error_code", "code", "status_code")
    if isinstance(word, str) and (is_failure_word(word) or lookup_code(word)) and not unknown_members(row):
        found = _by_code({**row, "code": word}, MemberReader({**row, "code": word}))
        return found.reading if found is not None else None
    error = members.pop("error", "error_message")
    if not _is_filled(error) or members.get(*_CONTENT):
        return None
    return _read(error, members) if not isinstance(error, str) or " " in error else None


__all__ = ["RULE", "reports"]
