"""Checks on every request, and security headers on every response.

A foreign page must not read the store through the visitor's browser: the ``Host`` must be one of the site's names (DNS
rebinding), a request that changes something must come from a page of this site, and where others can reach the server,
a visitor must present the token.

The token is in two cookies. ``COOKIE`` is sent when a person follows a link from another site (``SameSite=Lax``), so that
shared links work; it permits reading alone. ``CHANGE_COOKIE`` is never sent with a request that another site causes
(``SameSite=Strict``); a request that changes something needs it, besides an ``Origin`` of this site.
"""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from starlette.datastructures import URL, Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tooltrace.server.refusals import log_refusal
from tooltrace.server.site import Site

COOKIE = "tooltrace_token"
CHANGE_COOKIE = "tooltrace_change"

POLICY = "Content-Security-Policy"


def policy(style_nonce: str | None = None) -> str:
    """Return the content security policy; ``style_nonce`` permits the style elements that have it, never a script."""
    styles = "" if style_nonce is None else f"style-src 'self' 'nonce-{style_nonce}'; "
    return (
        f"default-src 'self'; {styles}img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    )


HEADERS = {
    POLICY: policy(),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Security headers: no inline scripts, no inline styles, no foreign resources."""

_PARTS = (
    "/panel/", "/data/", "/tiles", "/tools", "/verdict", "/options/", "/calls/", "/question/", "/compare/",
    "/loops", "/conversations/", "/find/",
)  # fmt: skip
"""Paths whose answers are parts of pages, and which a person never opens from a link."""

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class SecurityMiddleware:
    """Middleware that checks every request and adds the security headers to every response."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond, or refuse the request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = _refusal(self._site, HTTPConnection(scope), scope["method"])
        if refusal is not None and refusal.status_code >= 400:
            _log(scope, refusal)
        await (refusal or self._app)(scope, receive, _with_headers(send))


def _refusal(site: Site, request: HTTPConnection, method: str) -> Response | None:
    host = request.headers.get("host", "")
    # Before the token: under a foreign name even the login must not work.
    if not site.accepts(host):
        return PlainTextResponse(
            f"421: {host[:100]!r} is not a name of this server; to allow it, use --allow-host\n", 421
        )
    if method not in _SAFE and not _is_same_site(request.headers, host):
        return PlainTextResponse("403: a page of another site sent this request; nothing was changed\n", 403)
    if method in _SAFE and not _may_load(request):
        return PlainTextResponse("403: a page of another site requested this part of a page\n", 403)
    if site.token is None:
        return None
    if not _has_token(site.token, request, method):
        return _log_in(site.token, request, method)
    # the link was opened again: links of a page would repeat the token, and a person may copy its address
    return _without_token(request) if method in ("GET", "HEAD") and "token" in request.query_params else None


def _is_same_site(headers: Headers, host: str) -> bool:
    """Whether the request comes from this site or a program.

    Programs send neither header; browsers send one with every change.
    """
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc.lower() == host.lower()


def _may_load(request: HTTPConnection) -> bool:
    """Whether the request is for a page, or comes from this site or a program.

    Another site may link to a page. It must not load parts of pages: they run queries, and it could not read them.
    """
    headers = request.headers
    if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return True
    is_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest", "document") == "document"
    return is_link and not request.url.path.startswith(_PARTS)


def _log(scope: Scope, refusal: Response) -> None:
    peer = scope["client"][0] if scope.get("client") else "a peer"
    reason = bytes(refusal.body).decode(errors="replace").strip()
    log_refusal(str(refusal.status_code), f"refused {scope['method']} {scope['path'][:100]!a} of {peer}: {reason}")


def _has_token(token: str, request: HTTPConnection, method: str) -> bool:
    """Whether the request has the token: as a bearer token, or in the cookie for its method."""
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    cookie = COOKIE if method in _SAFE else CHANGE_COOKIE
    presented = credentials.strip() if scheme.lower() == "bearer" else request.cookies.get(cookie, "")
    # The time of the comparison must not depend on how many characters are right.
    return hmac.compare_digest(presented.encode(), token.encode())


def _log_in(token: str, request: HTTPConnection, method: str) -> Response:
    """Accept the link with the token that the terminal printed.

    The response stores the token in the cookies, and removes it from the address.
    """
    presented = request.query_params.get("token", "")
    if method == "GET" and hmac.compare_digest(presented.encode(), token.encode()):
        response = _without_token(request)
        response.set_cookie(COOKIE, token, httponly=True, samesite="lax", path="/")
        response.set_cookie(CHANGE_COOKIE, token, httponly=True, samesite="strict", path="/")
        return response
    text = (
        "401: a token is required: open the link that tooltrace serve printed, or send 'Authorization: Bearer TOKEN'\n"
    )
    return PlainTextResponse(text, 401, {"WWW-Authenticate": "Bearer"})


def _without_token(request: HTTPConnection) -> Response:
    """Return a redirection to the same address without the token."""
    url = URL(scope=request.scope).remove_query_params("token")
    path = "/" + url.path.lstrip("/\\")  # two leading slashes would address another server
    return RedirectResponse(f"{path}?{url.query}" if url.query else path, 303)


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                if name != POLICY or POLICY not in headers:  # a page may have a policy of its own, made by policy()
                    headers[name] = value
        await send(message)

    return send_with_headers
