"""Rule for the error envelopes of web services: one table of member names and of the values that mean success.

An envelope is recognised by members that stand together in no other kind of answer, such as ``errcode`` beside
``errmsg``. Members that are unknown do not matter, because services add their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ToolResponse
from tooltrace.normalize.heuristics import structure
from tooltrace.normalize.heuristics.error_members import describes_an_entity, has_data, is_empty, unknown_members
from tooltrace.normalize.heuristics.failure_phrases import is_no_error_phrase
from tooltrace.normalize.member_reader import MemberReader, Readers
from tooltrace.normalize.response_builders import build_error, build_response, merge_context, read_error
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.terms import guess_code_from_message, http_status, lookup_code, snake_case

_ZERO = frozenset({"0", "00000", "", "ok", "success", "succeed", "200"})


class Envelope(NamedTuple):
    """Two members of a service's answer: a status code, and the message beside it."""

    code: str
    """Member with the service's own code, in snake case."""
    messages: tuple[str, ...]
    """Members that may hold the message, in snake case; at least one must be present."""
    succeeded: frozenset[str] = _ZERO
    """Codes that mean success, in lower case."""
    beside: frozenset[str] = frozenset()
    """Members of which at least one must be present too; empty where code and message are specific enough."""
    without_data: bool = False
    """Whether an answer that holds data is not an error, because other kinds of answers have these members too."""


_REQUEST = frozenset(
    {"request_id", "requestid", "req_id", "log_id", "logid", "sid", "trace_id", "host_id", "more_info", "correlation_id", "help_url"}
)  # fmt: skip
ENVELOPES = (
    Envelope("errcode", ("errmsg", "err_msg")),  # WeCom, DingTalk, WeChat, Youzan
    Envelope("errno", ("errmsg", "err_msg", "error", "show_msg", "msg")),  # Baidu
    Envelope("err_no", ("err_msg", "err_tips", "errmsg")),  # Baidu speech, Douyin
    Envelope("err_code", ("err_msg", "err_code_des", "errmsg", "error_msg")),
    Envelope("error_code", ("error_msg", "reason", "error_message", "error_description", "error_info", "error")),
    Envelope("faultcode", ("faultstring",)),  # SOAP as JSON
    Envelope("sub_code", ("sub_msg",)),  # Alipay, Taobao
    Envelope("return_code", ("return_msg", "message")),  # WeChat Pay 2
    Envelope("code", ("errmsg",)),  # MongoDB
    Envelope("state", ("errmsg",)),
    Envelope("result_code", ("err_code_des",)),
    Envelope("infocode", ("info",), frozenset({"10000"})),  # Amap
    Envelope("resultcode", ("reason",), frozenset({"200"})),  # Juhe
    Envelope(
        "status_code", ("status_msg", "status_message"), frozenset({"0", "1", "200", "12", "13"})
    ),  # MiniMax, TMDB
    Envelope("retcode", ("retmsg", "message", "msg")),
    Envelope("ret", ("msg", "message", "err_msg", "retmsg", "ret_msg", "errmsg"), without_data=True),
    Envelope("rc", ("msg", "message", "err", "error"), without_data=True),
    Envelope("error_number", ("message", "error_message")),  # Xero
    Envelope("error_no", ("error_msg", "errmsg", "msg", "message", "error_message")),
    Envelope(
        "result_code", ("result_msg", "result_message"), frozenset({"0", "00", "0000", "200", "1", "success", "ok"})
    ),
    Envelope("res_code", ("res_msg", "res_message", "msg", "message")),
    Envelope("ret_code", ("ret_msg", "err_msg", "msg", "message", "ret_info")),
    Envelope("rsp_code", ("rsp_msg", "rsp_desc"), frozenset({"0", "00", "0000", "000000", "200", "success"})),
    Envelope("resp_code", ("resp_msg", "resp_desc"), frozenset({"0", "00", "0000", "000000", "200", "success"})),
    Envelope("biz_code", ("biz_msg", "biz_message"), frozenset({"0", "200", "10000", "ok", "success"})),
    Envelope("cod", ("message",), frozenset({"200", "0"})),  # OpenWeather
    Envelope("error_code", ("message", "msg", "title"), beside=_REQUEST | {"success", "status"}, without_data=True),
    Envelope(
        "code",
        ("message", "msg", "desc", "description"),
        beside=_REQUEST | {"details", "detail", "hint"},
        without_data=True,
    ),  # Aliyun, Twilio, iFlytek
)
"""Envelopes whose code states whether the request failed."""


class Fact(NamedTuple):
    """What a member of one service's answer says: that the request failed, or that something is missing."""

    path: str
    """Member, in snake case; with a dot, a member of a member."""
    values: frozenset[str]
    """Values that say so, in lower case; empty: any that is filled."""
    beside: frozenset[str]
    """Members of which one stands beside it in this service's answers alone."""
    messages: tuple[str, ...] = ()
    """Members with the message; the value itself if there is none."""
    partial: bool = False


_PLACES = frozenset({"html_attributions", "candidates", "predictions", "geocoded_waypoints", "routes", "rows"})
_REFUSED = frozenset({"not_found", "invalid_request", "over_query_limit", "over_daily_limit", "request_denied"})
_ANY: frozenset[str] = frozenset()
FACTS = (
    Fact("function_error", _ANY, frozenset({"payload"}), ("payload",)),  # AWS Lambda
    Fact("found", frozenset({"false"}), frozenset({"index"})),  # Elasticsearch
    Fact("status", _REFUSED, _PLACES, ("error_message",)),  # Google Maps
    Fact("message", frozenset({"notok"}), frozenset({"result"}), ("result",)),  # Etherscan
    Fact("data.error", _ANY, frozenset({"workflow_run_id"}), ("data.error",)),  # Dify
    Fact("search_metadata.status", frozenset({"error"}), frozenset({"error"}), ("error",)),  # SerpApi
    Fact("unprocessed_items", _ANY, frozenset({"response_metadata", "responses"}), partial=True),  # DynamoDB
    Fact("unprocessed_keys", _ANY, frozenset({"response_metadata", "responses"}), partial=True),
    Fact("timed_out", frozenset({"true"}), frozenset({"shards"}), partial=True),  # Elasticsearch
    Fact("shards.failures", _ANY, frozenset({"hits"}), partial=True),
)
"""Members of single services that say what no structure says."""

_NAMES = tuple({envelope.code for envelope in ENVELOPES})
_LEAST_CODE = 100
"""Smallest number that is a service's own code where its only other member is a message."""
_MESSAGES = ("message", "msg", "error_message", "errmsg", "error", "errors", "detail", "reason")
_MARKERS = frozenset({"object", "error", "error_messages", "error_summary", "retry_after", "response"})
_HEADS = (
    *("base_resp", "header", "head", "base_response", "response_header", "error_response", "gw_err_resp", "err_resp"),
    *("error_resp", "fault", "queryresult", "item_not_found", "bad_request", "conflicting_request", "over_limit"),
    *("compute_fault", "neutron_error", "identity_fault", "forbidden", "unauthorized"),
)
"""Members that hold only the code and the message of an answer."""
_HOLDERS = frozenset(
    {"output", *_HEADS, "status", "response", "response_metadata", "sys", "chart", "finance", "quote_summary", "sign"}
)
"""Members that hold an error one level down, or stand beside the member that does."""
_FAILED = frozenset({"error", "err"})
_GOOD_STATUS = frozenset({"ok", "zero_results", "success"})
_GRPC = {
    1: ToolErrorCode.EXECUTION_ERROR, 2: ToolErrorCode.EXECUTION_ERROR, 3: ToolErrorCode.INVALID_PARAM,
    4: ToolErrorCode.TIMEOUT, 5: ToolErrorCode.NOT_FOUND, 6: ToolErrorCode.ALREADY_EXISTS,
    7: ToolErrorCode.PERMISSION_DENIED, 8: ToolErrorCode.RATE_LIMIT, 9: ToolErrorCode.CONFLICT,
    10: ToolErrorCode.CONFLICT, 11: ToolErrorCode.INVALID_PARAM, 12: ToolErrorCode.EXECUTION_ERROR,
    13: ToolErrorCode.INTERNAL_ERROR, 14: ToolErrorCode.SERVICE_UNAVAILABLE, 15: ToolErrorCode.INTERNAL_ERROR,
    16: ToolErrorCode.ACCESS_DENIED,
}  # fmt: skip
"""Codes of gRPC's canonical status codes."""


@builtin(
    "service_envelope",
    "certain",
    Matches(
        members=(
            *_NAMES, "status", "object", "error", "error_messages", "error_summary", "retry_after", "response", "kind",
            "data", "output", *_HEADS, *{fact.path.partition(".")[0] for fact in FACTS}, "msg", "chart", "finance", "quote_summary", "sign", "header", "head",
            "response_metadata", "sys",
        ),
    ),
)  # fmt: skip
def RULE(view: ResultView) -> ToolResponse | None:
    """Read an object that is a service's answer to a request that failed."""
    data = view.data
    if not isinstance(data, dict) or not data:
        return None
    members = MemberReader(data)
    for read in members.readers(_READERS):
        if (found := read(data, members)) is not None:
            return found
    return None


def _by_table(data: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    names = members.names()
    # Several envelopes may have the same code: the first whose message is present, and whose code is a failure,
    # counts.
    for envelope in ENVELOPES:
        if envelope.code not in names:
            continue
        code = members.get(envelope.code)
        if (
            not isinstance(code, str | int)
            or isinstance(code, bool)
            or str(code).strip().casefold() in envelope.succeeded
        ):
            continue
        message = next((name for name in envelope.messages if isinstance(members.get(name), str)), None)
        if message is None or (envelope.beside and not envelope.beside & names):
            continue
        if envelope.without_data and (has_data(data) or _is_good(code)):
            continue
        if is_no_error_phrase(members.get(message)):
            continue
        members.pop(envelope.code)
        return _error(members.pop(message), code, members)
    return None


def _by_fact(data: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    names = members.names()
    for fact in FACTS:
        value = _at(members, fact.path)
        if (
            is_empty(value)
            or fact.beside.isdisjoint(names)
            or (fact.values and str(value).casefold() not in fact.values)
        ):
            continue
        said = next((words for path in fact.messages if isinstance(words := _at(members, path), str) and words), None)
        if fact.partial:
            return build_response("partial", "", data, reason=fact.path.replace("_", " "))
        message = said or f"{fact.path}: {value}"
        code = lookup_code(str(value)) or (ToolErrorCode.NOT_FOUND if fact.path == "found" else None)
        return build_error(message, code, type=str(value), context=data)
    return None


def _at(members: MemberReader, path: str) -> Any:
    """Return the member at ``path``; None if there is none, or an object where it ends differently."""
    name, _, rest = path.partition(".")
    value = members.get(name)
    return value if not rest else _at(MemberReader(value), rest) if isinstance(value, dict) else None


def _is_good(code: str | int) -> bool:
    """Whether a code that many services use differently may mean success: 1, 1xx to 3xx, 10000, 20000."""
    number = int(code) if isinstance(code, int) or code.isdigit() else None
    return number is not None and (number in (1, 10000, 20000) or 100 <= number < 400)


def _error(message: Any, code: Any, members: MemberReader) -> ToolResponse:
    """Build the error; a code that the table of codes does not have is kept as it is."""
    if http_status(code):
        return build_error(message, code, context=members.remaining())
    found = build_error(message, _worded(code), type=str(code), context=members.remaining())
    if found.error is None or found.code != ToolErrorCode.EXECUTION_ERROR:
        return found
    error = found.error.model_copy(update={"code": str(code), "retryable": None})
    return found.model_copy(update={"code": str(code), "failure": error})


def _worded(code: Any) -> str | None:
    """Return the code that the words of a service's code suggest: ``InvalidApiKey``, ``Forbidden.AccessDenied``."""
    if not isinstance(code, str) or code.isdigit():
        return None
    found = guess_code_from_message(snake_case(code).replace("_", " "))
    return None if found == ToolErrorCode.EXECUTION_ERROR else found


def _by_status_word(data: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    """Read ``{"status": "error", "message": …}``, ``{"status": "REQUEST_DENIED", "error_message": …}``."""
    status = members.get("status")
    if not isinstance(status, str):
        return None
    failed = status.casefold() in _FAILED
    google = "error_message" in members and status.isupper() and status.casefold() not in _GOOD_STATUS
    kubernetes = status == "Failure" and members.get("kind") == "Status"
    if not (failed or google or kubernetes):
        return None
    message = members.pop_nonempty(*_MESSAGES) or (_only_text(data, members) if failed else None)
    inner = members.get("data")
    if message is None and failed and isinstance(inner, dict) and isinstance(inner.get("error"), str):
        message = inner["error"]
    if message is None or (isinstance(message, str) and is_no_error_phrase(message)):
        return None
    described = [name for name in unknown_members(data) if describes_an_entity(name)]
    # The members of an entity mean that ``status`` is the state of a job or a host; an id beside a null result does
    # not.
    if failed and described and not (described == ["id"] and members.get("error") == message and None in data.values()):
        return None
    members.pop("status")
    error_fields = read_error(message)
    if error_fields.get("code") is None:
        error_fields["code"] = members.pop_nonempty("code", "error_code", only=(str, int))
    if error_fields.get("type") is None:
        error_fields["type"] = members.pop_nonempty("error_type", "reason", "type", only=str) or (
            status if google else None
        )
    return build_error(**merge_context(error_fields, members.remaining()))


def _only_text(data: dict[str, Any], members: MemberReader) -> str | None:
    """Return the text beside a status: Strands's content, or the only other member if it is texts."""
    others = [name for name in data if snake_case(name) not in ("status", "tool_use_id") and not is_empty(data[name])]
    if len(others) != 1:
        return None
    value = members.get(snake_case(others[0]))
    parts = value if isinstance(value, list) else [value]
    texts = [part["text"] if isinstance(part, dict) and set(part) == {"text"} else part for part in parts]
    if all(isinstance(text, str) for text in texts):
        members.pop(snake_case(others[0]))  # else the member remains, with its other parts
    return "\n".join(text for text in texts if isinstance(text, str)) or None


def _by_marker(data: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    """Read the forms of one service each: Notion, Jira, Dropbox, Discord, OMDb, Hugging Face, OAuth, Elasticsearch."""
    if members.get("object") == "error":
        return _named(members, "message", kind=members.pop("code", only=str))
    if isinstance(members.get("error_messages"), list) and (members.get("error_messages") or members.get("errors")):
        return _jira(members)
    if isinstance(members.get("error_summary"), str):
        return _named(members, "error_summary")
    if isinstance(members.get("retry_after"), int | float) and isinstance(members.get("message"), str):
        waits = not has_data(data) and len(data) <= 5
        return _named(members, "message", code=ToolErrorCode.RATE_LIMIT) if waits else None
    return None


def _named(members: MemberReader, message: str, **error_fields: Any) -> ToolResponse | None:
    words = members.pop(message, only=str)
    if words is None or is_no_error_phrase(words):
        return None
    kind = error_fields.pop("kind", None)
    if kind is not None and error_fields.get("code") is None:
        error_fields["code"] = lookup_code(kind) or _worded(kind)
    status = members.get("status")
    if error_fields.get("code") is None and http_status(status):
        error_fields["code"] = members.pop("status")
    return build_error(words, type=kind, **error_fields, context=members.remaining())


def _jira(members: MemberReader) -> ToolResponse:
    texts, fields = members.pop("error_messages"), members.pop("errors")
    texts = [text for text in texts if isinstance(text, str)]
    texts += [f"{name}: {text}" for name, text in fields.items()] if isinstance(fields, dict) else []
    return build_error("; ".join(texts), context={**(members.remaining() or {}), "errors": fields})


def _nested(data: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    """Read an error one level down: Tencent Cloud, Alipay, MiniMax, DashScope, Yahoo, Qdrant."""
    inner = members.get("output")
    if isinstance(inner, dict) and inner.get("task_status") == "FAILED" and isinstance(inner.get("message"), str):
        return _error(inner["message"], inner.get("code"), MemberReader(data))
    found = _by_head(members)
    if found is not None:
        return found
    inner = members.get("sys")
    if (
        isinstance(inner, dict) and inner.get("type") == "Error" and isinstance(members.get("message"), str)
    ):  # Contentful
        return _named(members, "message", kind=inner.get("id"))
    status = members.get("status")
    if isinstance(status, dict) and (found := _by_table(status, MemberReader(status))) is not None:  # CoinGecko
        return found
    if isinstance(status, dict) and set(status) == {"error"} and isinstance(status["error"], str):
        return build_error(status["error"], context={name: value for name, value in data.items() if name != "status"})
    # An answer has one object that holds the error; with lists or several objects it holds data.
    holders = [value for name, value in data.items() if isinstance(value, dict) and name != "data"]
    if len(holders) != 1 or any(isinstance(value, list) for value in data.values()):
        return None
    (inner,) = holders
    error = inner.get("Error", inner.get("error"))
    if {"Response", "ResponseMetadata"} & set(data) and isinstance(error, dict) and {"Code", "Message"} <= set(error):
        rest = {name: value for name, value in inner.items() if name != "Error"}
        return _error(error["Message"], error["Code"], MemberReader(rest))
    if len(data) == 1 and isinstance(error, dict) and set(inner) == {"result", "error"} and is_empty(inner["result"]):
        return build_error(**read_error(error))
    return _by_table(inner, MemberReader(inner)) if any(name.endswith("_response") for name in data) else None


def _by_head(members: MemberReader) -> ToolResponse | None:
    """Read the member that holds only code and message, of the answer or of its ``response``."""
    response = members.get("response")
    for holder in (members, MemberReader(response) if isinstance(response, dict) else None):
        head = holder.get(*_HEADS) if holder is not None else None
        if not isinstance(head, dict):
            continue
        found = _by_table(head, MemberReader(head)) or _by_code_alone(head, MemberReader(head))
        stated = structure.statement(head) if found is None else None
        if found is not None or stated is not None:
            return found if stated is None else build_error(**stated.reading)
    return None


def _by_code_alone(_: dict[str, Any], members: MemberReader) -> ToolResponse | None:
    """Read ``{"code": 99991663, "msg": …}`` with nothing else, and gRPC's status as JSON."""
    code, names = members.get("code"), members.names()
    message = members.get("msg", "message")
    if isinstance(code, bool) or not isinstance(message, str) or is_no_error_phrase(message):
        return None
    if isinstance(code, int) and code in _GRPC and isinstance(members.get("details"), list):
        members.pop("code"), members.pop("message", "msg")
        return build_error(message, _GRPC[code], type=str(code), context=members.remaining())
    number = members.get("code", "status")
    if isinstance(number, str) and number.isdigit():
        number = int(number)
    if not isinstance(number, int) or isinstance(number, bool) or number == 0 or http_status(number):
        return None
    alone = (
        names
        <= {
            "code",
            "status",
            "msg",
            "message",
            "data",
            "result",
            "results",
            "error",
            "type",
            "ttl",
            "success",
            "detail",
            "details",
        }
        | _REQUEST
    )
    if not alone or _is_good(number) or not all(is_empty(members.get(name)) for name in ("data", "result", "results")):
        return None
    if (
        "msg" not in names
        and "status" not in names
        and number > 0
        and (number < _LEAST_CODE or guess_code_from_message(message) == ToolErrorCode.EXECUTION_ERROR)
    ):
        return None
    members.pop("code", "status"), members.pop("msg", "message")
    return _error(message, number, members)


_READERS: Readers[Callable[[dict[str, Any], MemberReader], ToolResponse | None]] = (
    (frozenset(_NAMES), _by_table),
    (frozenset({fact.path.partition(".")[0] for fact in FACTS}), _by_fact),
    (frozenset({"status"}), _by_status_word),
    (_MARKERS, _by_marker),
    (_HOLDERS, _nested),
    (frozenset({"msg", "message"}), _by_code_alone),
)
