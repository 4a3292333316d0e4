"""HTTP responses: of httpx itself, and of requests in its shape."""

from __future__ import annotations

import collections
import json
from typing import Any

import httpx

from .entries import given


def httpx_response(status: int, body: Any = None, *, text: str | None = None, **headers: str) -> httpx.Response:
    request = httpx.Request("GET", "https://api.example.com/v1/orders/17")
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    content = {"text": text} if text is not None else {} if body is None else {"json": body}
    return httpx.Response(status, headers=fields, request=request, **content)


class Headers(collections.UserDict[str, str]):
    """Names compare without case, as those of requests do."""

    def __getitem__(self, name: str) -> str:
        return next(value for key, value in self.data.items() if key.lower() == name.lower())

    def __contains__(self, name: object) -> bool:
        return any(key.lower() == str(name).lower() for key in self.data)


class RequestsResponse:
    """False when it reports an error, as that of requests is."""

    def __init__(self, status: int, reason: str, content: str = "", headers: dict[str, str] | None = None) -> None:
        self.status_code, self.reason, self.headers = status, reason, Headers(headers or {})
        self._content, self.url, self.encoding = content.encode(), "https://api.example.com/v1/orders/17", "utf-8"
        self.history: list[Any] = []

    def __bool__(self) -> bool:
        return self.ok

    @property
    def ok(self) -> bool:
        return self.status_code < 400

    @property
    def content(self) -> bytes:
        return self._content

    @property
    def text(self) -> str:
        return self._content.decode()

    def json(self) -> Any:
        return json.loads(self._content)

    def raise_for_status(self) -> None:
        if not self.ok:
            raise OSError(f"{self.status_code} Client Error")


RequestsResponse.__module__, RequestsResponse.__name__, RequestsResponse.__qualname__ = (
    "requests.models",
    "Response",
    "Response",
)

for _status, _body in {
    200: {"id": 17, "state": "sent"},
    201: {"id": 18},
    202: {"job": "j-9", "status": "queued"},
    400: {"message": "field 'limit' must be at most 100"},
    401: {"message": "Bad credentials"},
    403: {"message": "Resource not accessible by personal access token"},
    404: {"message": "Not Found"},
    409: {"message": "version 3 is not the latest"},
    410: {"message": "this endpoint was removed"},
    422: {"detail": [{"loc": ["query", "n"], "msg": "value is not a valid integer", "type": "type_error.integer"}]},
    500: {"message": "Internal Server Error"},
}.items():
    given(f"httpx_{_status}", lambda status=_status, body=_body: httpx_response(status, body))
given("httpx_204", lambda: httpx_response(204))
given("httpx_206", lambda: httpx_response(206, text="bytes 0 to 99", content_range="bytes 0-99/1200"))
given("httpx_207", lambda: httpx_response(207, text="<multistatus/>"))
given("httpx_301", lambda: httpx_response(301, location="https://example.com/new"))
given("httpx_302_login", lambda: httpx_response(302, location="https://example.com/login?next=/orders/17"))
given("httpx_304", lambda: httpx_response(304, etag='"a1"'))
given("httpx_408", lambda: httpx_response(408, text="Request Timeout"))
given("httpx_429", lambda: httpx_response(429, {"message": "Too Many Requests"}, retry_after="30"))
given("httpx_502", lambda: httpx_response(502, text="<html><title>502 Bad Gateway</title></html>"))
given("httpx_503", lambda: httpx_response(503, text="Service Unavailable", retry_after="Wed, 21 Oct 2026 07:28:00 GMT"))
given("httpx_504", lambda: httpx_response(504, text="upstream request timeout"))
given(
    "httpx_404_problem",
    lambda: httpx_response(
        404,
        {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "no order 17"},
        content_type="application/problem+json",
    ),
)
given("httpx_200_slack", lambda: httpx_response(200, {"ok": False, "error": "channel_not_found"}))
given("httpx_200_null_error", lambda: httpx_response(200, {"data": [1, 2], "error": None}))
given(
    "httpx_200_status_page",
    lambda: httpx_response(
        200,
        text="<html><h1>HTTP status codes</h1><p>404 Not Found: no such resource. 500 Internal Server Error.</p></html>",
        content_type="text/html",
    ),
)
given("httpx_200_soft_404", lambda: httpx_response(200, text="<html><title>Page not found</title></html>"))
given("httpx_404_head", lambda: httpx.Response(404, request=httpx.Request("HEAD", "https://example.com/a")))

given("requests_200", lambda: RequestsResponse(200, "OK", '{"id": 17}', {"Content-Type": "application/json"}))
given("requests_200_errors_page", lambda: RequestsResponse(200, "OK", "<h1>Common errors and how to fix them</h1>"))
given("requests_204", lambda: RequestsResponse(204, "No Content"))
given("requests_304", lambda: RequestsResponse(304, "Not Modified"))
given("requests_404", lambda: RequestsResponse(404, "Not Found", "no such order"))
given("requests_429", lambda: RequestsResponse(429, "Too Many Requests", "", {"Retry-After": "120"}))
given("requests_401", lambda: RequestsResponse(401, "Unauthorized"))
given("requests_500", lambda: RequestsResponse(500, "Internal Server Error", '{"error": "boom"}'))
given("requests_503", lambda: RequestsResponse(503, "Service Unavailable", "down for maintenance"))
