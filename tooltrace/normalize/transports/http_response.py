"""Rule for an HTTP response of httpx, requests, niquests, aiohttp, urllib3 or ``http.client``.

Nothing is read from the network: a body counts only if the tool has read it.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

import orjson

from tooltrace.core.response import ToolResponse
from tooltrace.faults import pass_on_signal
from tooltrace.normalize.exceptions.codes import wait_words
from tooltrace.normalize.exceptions.custom_readers import safe_getattr, safe_int
from tooltrace.normalize.response_builders import build_error, build_response, read_error, text_of
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.terms import SPENT_QUOTA
from tooltrace.normalize.transports.http_status import lower_headers, of_status

KINDS: tuple[str, ...] = (
    "httpx.Response", "httpx2.Response", "requests.models.Response", "niquests.models.Response",
    "aiohttp.client_reqrep.ClientResponse", "http.client.HTTPResponse", "urllib3.response.BaseHTTPResponse",
    "urllib3.response.HTTPResponse",
)  # fmt: skip

_MOST = 1 << 20
"""Maximum bytes of a body that are read."""
_LONGEST_MESSAGE = 500
_RECORDED_HEADERS = (
    r"content-type|location|retry-after(?:-ms)?|(?:x-)?rate-?limit[a-z-]*|(?:x-|x-amzn-|cf-)?(?:request-?id|ray)"
    r"|etag|last-modified|www-authenticate|allow|deprecation|sunset|warning"
)
"""Headers that describe the answer; the others describe its transport, or hold secrets."""
_TEXT = r"text/|.*(?:json|xml|yaml|csv|javascript|graphql|html|x-www-form-urlencoded)"
_CHARSET = r"(?i)charset=[\"']?((?:utf|iso|latin|windows|cp|us-ascii|ascii|gb|big5|shift|sjis|euc|koi8)[\w.:-]{0,20})"
"""Character sets that decode in linear time."""


def form(value: Any) -> dict[str, Any]:
    """Return the parts of a response that are in memory. Never touches the response's stream."""
    status = safe_int(safe_getattr(value, "status_code"))
    headers = _headers(value)
    body = _read(value)
    return {
        "status_code": safe_int(safe_getattr(value, "status")) if status is None else status,
        "reason": _text(safe_getattr(value, "reason_phrase")) or _text(safe_getattr(value, "reason")),
        "method": _text(safe_getattr(value, "request", "method")) or _text(safe_getattr(value, "method")),
        "url": _url(value),
        "headers": headers,
        "body": None if body is None else _decoded(body[:_MOST], headers.get("content-type", "")),
        "body_bytes": None if body is None else len(body),
    }


@builtin("http_response", "certain", Matches(kinds=KINDS), opens="all")
def RULE(view: ResultView) -> ToolResponse | None:
    """Read the response by its status.

    304 is a success, because the caller already has the content. Any other redirect that was not followed is partial:
    the server worked correctly, and the content is at another address.
    """
    response = view.data
    if not view.is_a(*KINDS) or not isinstance(response, dict) or type(response.get("status_code")) is not int:
        return None
    status, body = response["status_code"], response.get("body") or ""
    data = _data(response)
    context = _context(response)
    if 200 <= status < 300 or status in (101, 304):
        return build_response("success", body, data, context=context)
    if 300 <= status < 400:
        to = response["headers"].get("location")
        reason = f"{_phrase(response)}: the redirect{f' to {_without_secrets(to)}' if to else ''} was not followed"
        return build_response("partial", body, data, reason=reason, context=context)
    return _failure(response, data, context)


def _failure(response: dict[str, Any], data: Any, context: dict[str, Any]) -> ToolResponse:
    verdict = of_status(response["status_code"], response["headers"])
    error = _error_members(data)
    text_body = response.get("body") if data is None and _is_not_markup(response) else None
    message = text_of(error.get("message")) or _front(text_body) or _phrase(response)
    error_type = next(
        (word for name in ("type", "code") if isinstance(word := error.get(name), str) and word != "about:blank"), None
    )
    again = False if error.get("code") == SPENT_QUOTA else verdict.retryable
    wait = None if again is False else verdict.retry_after_s
    if data is None and response.get("body"):
        context["body"] = response["body"]
    return build_error(
        message[: _LONGEST_MESSAGE * 4],
        verdict.code,
        type=error_type or str(response["status_code"]),
        retryable=True if again is None and wait is not None else again,
        suggestion=wait_words(wait),
        data=data,
        stats=None if wait is None else {"retry_after_s": wait},
        context=context,
    )


def _error_members(body: Any) -> dict[str, Any]:
    """Return the error that a JSON body describes, by RFC 9457's members or by those in common use."""
    if isinstance(body, list):
        body = body[0] if body else None
    if not isinstance(body, dict):
        return {"message": body} if isinstance(body, str) else {}
    detail = body.get("detail")
    if isinstance(detail, list) and detail and all(isinstance(each, dict) and "msg" in each for each in detail):
        return {"message": "; ".join(map(_invalid_parameter, detail))}
    inner = next((found for name in ("error", "errors", "fault", "Error") if (found := body.get(name))), None)
    if isinstance(inner, dict | list):
        return read_error(inner)
    described = body.get("error_description") or body.get("message") or detail
    if isinstance(inner, str):  # OAuth 2.0: a code, and a message beside it
        return {"message": described or inner, "code": inner if described else None}
    return read_error(body)


def _invalid_parameter(fault: dict[str, Any]) -> str:
    """Return which parameter is wrong and why, from an item in FastAPI's form."""
    place = fault.get("loc")
    where = ".".join(map(str, place)) if isinstance(place, list) else ""
    return f"{where}: {fault['msg']}" if where else str(fault["msg"])


def _context(response: dict[str, Any]) -> dict[str, Any]:
    context = {name: response.get(name) for name in ("status_code", "reason", "method", "url") if response.get(name)}
    headers = {name: value for name, value in response["headers"].items() if re.fullmatch(_RECORDED_HEADERS, name)}
    if "location" in headers:
        headers["location"] = _without_secrets(headers["location"])
    size, body = response.get("body_bytes"), response.get("body")
    if size is None:
        context["body_read"] = False
    elif size > _MOST or (size and body is None):
        context["body_bytes"] = size
    return {**context, "headers": headers} if headers else context


def _data(response: dict[str, Any]) -> Any:
    """Return the body's JSON; None if it has none.

    The body of an error is parsed even if its content type is not JSON.
    """
    body, kind = response.get("body"), response["headers"].get("content-type", "")
    if not body or (response.get("body_bytes") or 0) > _MOST:
        return None
    if "json" not in kind.lower() and not (response["status_code"] >= 400 and body.lstrip()[:1] in ("{", "[")):
        return None
    try:
        return orjson.loads(body)
    except ValueError:
        return None


def _is_not_markup(response: dict[str, Any]) -> bool:
    kind = response["headers"].get("content-type", "").lower()
    return "html" not in kind and (response.get("body") or "").lstrip()[:1] != "<"


def _front(text: str | None) -> str:
    text = (text or "").strip()
    return text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE] + "…"


def _phrase(response: dict[str, Any]) -> str:
    status, reason = response["status_code"], response.get("reason")
    if not reason and status in HTTPStatus._value2member_map_:
        reason = HTTPStatus(status).phrase
    return f"HTTP {status} {reason}" if reason else f"HTTP {status}"


def _headers(value: Any) -> dict[str, str]:
    headers = safe_getattr(value, "headers")
    try:
        return {} if headers is None else lower_headers(headers)
    except BaseException as error:  # not a header object after all, or one that cannot be read
        pass_on_signal(error)
        return {}


def _read(value: Any) -> bytes | None:
    """Return the body that the tool has already read; None if it has not.

    Reads the attributes in which the clients cache a body: their ``content``, ``text`` and ``data`` would read the
    stream.
    """
    attributes = safe_getattr(value, "__dict__")
    if type(attributes) is not dict:
        return None
    for name in ("_content", "_body"):
        body = attributes.get(name)
        if type(body) is bytes:
            return body
    return None


def _decoded(body: bytes, kind: str) -> str | None:
    """Return the text of a body; None if the body is not text."""
    if kind and not re.match(_TEXT, kind.lower()):
        return None
    if not kind and b"\0" in body:
        return None
    charset = re.search(_CHARSET, kind)
    try:
        return body.decode(charset[1] if charset else "utf-8", "replace" if kind else "strict")
    except LookupError:  # an unknown charset
        return body.decode("utf-8", "replace")
    except UnicodeDecodeError:
        return None


def _url(value: Any) -> str | None:
    for path in (("url",), ("_url",), ("_request_url",), ("request", "url")):
        url = safe_getattr(value, *path)
        if url is not None:
            try:
                return _without_secrets(str(url))[:2000] or None
            except BaseException as error:  # str() of a foreign object may raise
                pass_on_signal(error)
                return None
    return None


def _without_secrets(url: str) -> str:
    """Return ``url`` without its possible secrets: user and password, values of the query, fragment.

    The tool's arguments hold those values already.
    """
    address, mark, query = re.sub(r"(?<=://)[^/?#@]*@", "", url.partition("#")[0]).partition("?")
    return address + mark + re.sub(r"=[^&;]*", "=…", query)


def _text(value: Any) -> str | None:
    return value if type(value) is str and value else None
