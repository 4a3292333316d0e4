"""Serving below a path prefix, behind a reverse proxy: ``https://example.com/tooltrace/calls``.

The routes and templates know no prefix. It is removed from the path of a request, where the proxy has not done so, and
added to the addresses in the response.
"""

from __future__ import annotations

import re
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tooltrace.errors import ConfigError

_VALID: Final = re.compile(r"(/[A-Za-z0-9._~-]+)+")
_ADDRESSES: Final = re.compile(
    r'(\s(?:href|src|action|formaction|hx-(?:get|post|put|delete)|data-(?:run|marks|sparks|schema|to|from|text|calls|copy-from|call-page|tool-page))=")/(?!/)'
)
"""Attributes of our templates with an address of this site. Text from a trace cannot look like one: its quotes are escaped."""
_HEADERS: Final = ("location", "hx-redirect", "hx-location", "hx-push-url", "hx-replace-url")


def checked_prefix(text: str) -> str:
    """Return the prefix without a slash at its end; "" for none. Raises ConfigError."""
    prefix = text.strip().rstrip("/")
    if prefix and not _VALID.fullmatch(prefix):
        raise ConfigError(f"the root path {text!r} is not a path such as /tooltrace: begin it with / and use no ? or #")
    return prefix


def with_prefix(html: str, prefix: str) -> str:
    """Return ``html``, made of our templates, with ``prefix`` before every address of this site."""
    return _ADDRESSES.sub(rf"\1{prefix}/", html) if prefix else html


class PathPrefix:
    """Middleware that removes the prefix from paths, and adds it to redirects and cookies."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request as if it had no prefix."""
        if scope["type"] != "http" or not self._prefix:
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        if path == self._prefix or path.startswith(f"{self._prefix}/"):
            rest = path[len(self._prefix) :] or "/"
            # A proxy may remove the prefix itself; then the path is left as it is.
            scope = {**scope, "path": rest, "raw_path": rest.encode()}
        await self._app(scope, receive, self._sending(send))

    def _sending(self, send: Send) -> Send:
        async def send_with_prefix(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name in _HEADERS:
                    address = headers.get(name, "")
                    if address.startswith("/") and not address.startswith("//"):
                        headers[name] = f"{self._prefix}{address}"
                message["headers"] = [
                    (name, self._in_cookie(value) if name.lower() == b"set-cookie" else value)
                    for name, value in message["headers"]
                ]
            await send(message)

        return send_with_prefix

    def _in_cookie(self, value: bytes) -> bytes:
        return re.sub(rb"(?i)(;\s*path=)/(?=;|$)", rb"\g<1>" + self._prefix.encode(), value)
