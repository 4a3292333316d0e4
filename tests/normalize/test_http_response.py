"""HTTP responses that a tool returned: real ones of httpx and of the standard library, stand-ins for the others."""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Iterator
from http.client import HTTPResponse
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.core.response import ToolResponse
from tooltrace.normalize import normalize
from tooltrace.normalize.transports.http_response import RULE


def read(value: Any) -> ToolResponse:
    return normalize(value, rules=(RULE,))


def answer(status: int, **options: Any) -> httpx.Response:
    return httpx.Response(
        status, request=httpx.Request("GET", "https://user:pw@x.test/a?q=cats&key=s3cret#top"), **options
    )


def raw(text: str) -> HTTPResponse:
    """A response of the standard library, its body not yet read."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(text.encode())
        ours.shutdown(socket.SHUT_WR)
        response = HTTPResponse(theirs)
        response.begin()
    return response


def requests_response(status: int, body: Any, **headers: str) -> Any:
    """The attributes of requests 2.x's class."""
    kind = type("Response", (), {"__module__": "requests.models", "__bool__": lambda self: status < 400})
    response = kind()
    vars(response).update(
        status_code=status, _content=body, _content_consumed=body is not False, headers=headers, url="https://x.test/a?k=v",
        reason="R", encoding=None, raw=None, request=SimpleNamespace(method="POST"),
    )  # fmt: skip
    return response


def aiohttp_response(status: int, body: Any, **headers: str) -> Any:
    """The attributes of aiohttp 3.x's class."""
    response = type("ClientResponse", (), {"__module__": "aiohttp.client_reqrep"})()
    vars(response).update(status=status, reason="R", _body=body, headers=headers, url="https://x.test/a", method="GET")
    return response


def test_a_success_is_its_text_and_its_json() -> None:
    response = read(answer(200, json={"ok": True}))
    assert (response.status, response.text, response.payload) == ("success", '{"ok":true}', {"ok": True})
    assert (response.meta.rule, response.meta.rule_grade) == ("http_response", "certain")
    assert response.context is not None
    assert (response.context["status_code"], response.context["method"]) == (200, "GET")
    plain = read(answer(200, text="words"))
    assert (plain.text, plain.payload) == ("words", None)
    assert read(answer(200, text="{broken", headers={"content-type": "application/json"})).payload is None


def test_secrets_of_the_address_are_removed() -> None:
    response = read(
        answer(302, headers={"location": "https://u:p@y.test/b?token=t0p", "set-cookie": "sid=1", "x-request-id": "r1"})
    )
    assert response.context is not None
    assert response.context["url"] == "https://x.test/a?q=…&key=…"
    assert response.context["headers"] == {"location": "https://y.test/b?token=…", "x-request-id": "r1"}
    assert not any(secret in response.model_dump_json() for secret in ("pw", "s3cret", "t0p", "sid=1"))


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "INVALID_PARAM", False), (401, "ACCESS_DENIED", False), (403, "PERMISSION_DENIED", False), (404, "NOT_FOUND", False),
        (408, "TIMEOUT", True), (409, "CONFLICT", True), (410, "NOT_FOUND", False), (412, "CONFLICT", False), (415, "INVALID_PARAM", False),
        (418, "API_ERROR", False), (422, "INVALID_PARAM", False), (423, "CONFLICT", True), (429, "RATE_LIMIT", True),
        (500, "API_ERROR", True), (501, "API_ERROR", False), (502, "SERVICE_UNAVAILABLE", True), (503, "SERVICE_UNAVAILABLE", True),
        (504, "TIMEOUT", True),
    ],
)  # fmt: skip
def test_a_failure_is_its_status_whichever_the_client(status: int, code: str, retryable: bool) -> None:
    for made in (
        answer(status),
        requests_response(status, b""),
        aiohttp_response(status, b""),
        raw(f"HTTP/1.1 {status} R\r\n\r\n"),
    ):
        response = read(made)
        assert response.error is not None
        assert (response.status, response.code, response.error.retryable) == ("error", code, retryable)
        assert response.error.message.startswith(f"HTTP {status}")
        assert response.error.type == str(status)


@pytest.mark.parametrize(
    ("body", "message", "kind"),
    [
        (
            {"type": "https://x.test/stock", "title": "Out of stock", "detail": "Item 7 is gone"},
            "Item 7 is gone",
            "https://x.test/stock",
        ),
        ({"type": "about:blank", "title": "Out of stock"}, "Out of stock", "400"),
        (
            {"error": {"message": "no such model", "type": "invalid_request_error", "code": "m"}},
            "no such model",
            "invalid_request_error",
        ),
        ({"error": "invalid_grant", "error_description": "token expired"}, "token expired", "invalid_grant"),
        ({"error": "it broke"}, "it broke", "400"),
        ({"message": "Not here", "documentation_url": "https://x.test"}, "Not here", "400"),
        ({"Message": "Azure says no", "Code": "Denied"}, "Azure says no", "Denied"),
        ({"errors": [{"detail": "first"}, {"detail": "second"}]}, "first", "400"),
        ({"detail": [{"loc": ["query", "n"], "msg": "not a number", "type": "int"}]}, "query.n: not a number", "400"),
        ({"detail": "Plain words"}, "Plain words", "400"),
        ({"unknown": 1}, "HTTP 400 Bad Request", "400"),
        ([], "HTTP 400 Bad Request", "400"),
        (None, "HTTP 400 Bad Request", "400"),
        (7, "HTTP 400 Bad Request", "400"),
        ("only words", "only words", "400"),
    ],
)
def test_the_message_comes_from_the_body(body: Any, message: str, kind: str) -> None:
    response = read(answer(400, json=body))
    assert response.error is not None
    assert (response.error.message, response.error.type, response.payload) == (message, kind, body)


def test_a_text_body_is_the_message_and_is_preserved() -> None:
    words, page = read(answer(404, text="no such page, sorry")), read(answer(404, html="<html>404</html>"))
    assert words.error is not None
    assert page.error is not None
    assert words.error.message == "no such page, sorry"
    assert page.error.message == "HTTP 404 Not Found"
    assert page.context is not None
    assert page.context["body"] == "<html>404</html>"
    for made in (requests_response(404, b"gone away"), aiohttp_response(404, b"gone away")):
        assert read(made).text == "gone away"
    untyped = read(answer(500, content=b'{"message": "typed by nobody"}'))
    assert untyped.error is not None
    assert untyped.error.message == "typed by nobody"


def test_when_to_come_again() -> None:
    for made in (answer(429, headers={"Retry-After": "30"}), requests_response(429, b"", **{"Retry-After": "30"})):
        response = read(made)
        assert response.error is not None
        assert (response.stats, response.error.suggestion, response.next_action) == (
            {"retry_after_s": 30.0},
            "retry after 30 s",
            "retry",
        )
    spent = read(
        answer(429, headers={"Retry-After": "30"}, json={"error": {"code": "insufficient_quota", "message": "pay"}})
    )
    assert spent.error is not None
    assert (spent.error.retryable, spent.stats, spent.next_action) == (False, None, "human_review")


def test_an_unfollowed_redirect_is_partial() -> None:
    response = read(answer(302, headers={"location": "/elsewhere"}))
    assert (response.status, response.reason) == (
        "partial",
        "HTTP 302 Found: the redirect to /elsewhere was not followed",
    )
    assert read(answer(304)).status == "success"
    assert read(answer(204)).status == "success"


# bodies


def test_an_unread_stream_is_not_read() -> None:
    given: list[int] = []

    def body() -> Iterator[bytes]:
        for n in range(3):
            given.append(n)
            yield b"part"

    for status in (200, 503):
        streamed = answer(status, content=body())
        response = read(streamed)
        assert given == []
        assert not streamed.is_stream_consumed
        assert response.context is not None
        assert response.context["body_read"] is False
        assert streamed.read() == b"part" * 3
        given.clear()
    assert read(requests_response(200, False)).text == ""
    assert read(aiohttp_response(200, None)).text == ""


def test_a_body_of_the_standard_library_is_not_read() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")
        response = HTTPResponse(theirs)
        response.begin()
        assert read(response).status == "success"
        assert response.read() == b"hello"


def test_a_binary_body_is_not_text() -> None:
    for body, kind in ((b"\x89PNG\0\xff", "image/png"), (b"a\0b", None), (b"\xff\xfe\xfa", None)):
        response = read(answer(200, content=body, headers={} if kind is None else {"content-type": kind}))
        assert (response.status, response.text, response.payload) == ("success", "", None)
        assert response.context is not None
        assert response.context["body_bytes"] == len(body)


def test_text_in_another_charset() -> None:
    for charset in ("latin-1", "utf-16", "gb18030"):
        response = read(
            answer(200, content="größe".encode(charset), headers={"content-type": f"text/plain; charset={charset}"})
        )
        assert response.text == "größe"
    for charset in ("rot13", "no-such", "", "punycode"):
        response = read(
            answer(200, content="größe".encode(), headers={"content-type": f"text/plain; charset={charset}"})
        )
        assert response.text == "größe"


def test_a_huge_body_is_cut_and_its_size_recorded() -> None:
    response = read(answer(200, content=b'["' + b"x" * 5_000_000 + b'"]', headers={"content-type": "application/json"}))
    assert (len(response.text), response.payload) == (1 << 20, None)
    assert response.context is not None
    assert response.context["body_bytes"] == 5_000_004
    failed = read(answer(500, text="e" * 5_000_000))
    assert failed.error is not None
    assert len(failed.error.message) < 1000


# hostile ones


class Trap:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


class Headers:
    def __init__(self, items: Any) -> None:
        self._items = items

    def items(self) -> Any:
        return self._items


def foreign(**members: Any) -> Any:
    return type("Response", (), {"__module__": "httpx", **members})()


def test_a_response_whose_attributes_raise_is_ordinary_data() -> None:
    def furious(self: Any) -> Any:
        raise RuntimeError

    assert read(foreign(__getattribute__=lambda self, name: furious(self))).meta.rule == "plain"
    assert read(foreign(status_code=property(furious), status=property(furious))).meta.rule == "plain"
    assert read(foreign(status_code="200")).meta.rule == "plain"
    assert read(foreign(status_code=True)).meta.rule == "plain"
    assert read(foreign()).meta.rule == "plain"
    for headers in (
        None,
        7,
        "text",
        Trap(),
        Headers(7),
        Headers([(1, 2), ("a",)]),
        Headers([(b"x", b"y")]),
        [("retry-after", Trap())],
    ):
        response = read(
            foreign(status_code=429, headers=headers, _content=b"x", url=property(furious), request=property(furious))
        )
        assert (response.status, response.code) == ("error", "RATE_LIMIT")
    for body in ("text", 7, Trap(), None, bytearray(b"x"), io.BytesIO(b"x")):
        value = foreign(status_code=200, headers={})
        value.__dict__["_content"] = body
        assert (read(value).status, read(value).text) == ("success", "")


@given(
    st.integers(-5, 1000),
    st.binary(max_size=60) | st.recursive(st.none() | st.text() | st.integers(0, 9), lambda x: st.lists(x, max_size=2) | st.dictionaries(st.sampled_from(["error", "errors", "detail", "message", "code", "type", "title"]), x), max_leaves=5).map(lambda x: json.dumps(x).encode()),
    st.dictionaries(st.sampled_from(["content-type", "retry-after", "location", "x-ratelimit-reset", "date"]), st.text(max_size=20)),
)  # fmt: skip
def test_any_response_is_read_according_to_its_status(status: int, body: bytes, headers: dict[str, str]) -> None:
    value = foreign(status_code=status, headers=headers)
    value.__dict__["_content"] = body
    response = read(value)
    assert response.meta.rule == "http_response"
    assert (response.status == "error") == (not (200 <= status < 400 or status == 101))
    assert ToolResponse.model_validate_json(response.model_dump_json()).status == response.status
