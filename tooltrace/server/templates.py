"""Rendering of templates. All text from a trace is escaped: a tool's result is never markup."""

from __future__ import annotations

import shlex
import zlib
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlencode, urlsplit

import orjson
from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse

from tooltrace import assets
from tooltrace.redact.secret_hints import MASK
from tooltrace.report.i18n import LANGUAGES, Translations
from tooltrace.report.templates import templates
from tooltrace.server.i18n import COOKIE, language_of
from tooltrace.server.query_cache import QueryCache
from tooltrace.server.site import Site
from tooltrace.server.time_range import CHOICES, TimeRange
from tooltrace.store.base import SqlSandbox
from tooltrace.version import __version__

_YEAR = 365 * 24 * 3600


@dataclass(slots=True)
class AppState:
    """Shared state of the application: the site, and the cache that executes its queries."""

    site: Site
    cache: QueryCache
    links: list[tuple[str, str]] = field(default_factory=list)
    """Navigation links: the path, and the translation key of the name."""
    _sandbox: SqlSandbox | None = None

    @property
    def sandbox(self) -> SqlSandbox:
        """The sandbox for SQL that a visitor typed. Raises UnsupportedByStore."""
        if self._sandbox is None:
            self._sandbox = self.site.store.sandbox(self.site.limits)
        return self._sandbox

    async def close(self) -> None:
        """Release the resources of the sandbox."""
        if self._sandbox is not None:
            await self._sandbox.close()


def app_state(request: Request) -> AppState:
    """Return the state of the application that handles ``request``."""
    hall: AppState = request.app.state.hall
    return hall


def render(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """Render ``template`` of the dashboards in the reader's language."""
    hall = app_state(request)
    words = Translations(language_of(request))
    text = _environment().get_template(template).render(
        t=words,
        language=words.language,
        languages=LANGUAGES,
        window=TimeRange.of(request.query_params),
        choices=CHOICES,
        links=hall.links,
        path=request.url.path,
        address=request.query_params,
        state=hall.cache.version(),
        store=hall.site.store,
        version=__version__,
        **context,
    )  # fmt: skip
    response = HTMLResponse(text, status, {"Cache-Control": "no-store", "Vary": "Accept-Language, Cookie"})
    if request.query_params.get("lang") in LANGUAGES:
        response.set_cookie(COOKIE, words.language, max_age=_YEAR, samesite="strict", path="/")
    return response


@cache
def _environment() -> Environment:
    environment = templates(parsed=parsed, web=safe_url, rows=json_for_script, raw=json_text, quoted=quoted)
    environment.globals |= {"url": url, "mask": MASK, "asset": asset_url}
    return environment


def url(path: str, **query: Any) -> str:
    """Return ``path`` with ``query`` appended, without values that are None or empty."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


@cache
def asset_url(name: str) -> str:
    """Return the address of a dashboard file; the address changes with the content."""
    content = (assets.path("dashboards") / name).read_bytes()
    return f"/static/{name}?v={zlib.crc32(content):x}"


def parsed(text: Any) -> Any:
    """Parse JSON text; text that is not JSON stays as it is."""
    if not isinstance(text, str | bytes):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def safe_url(address: Any) -> str | None:
    """Return ``address`` if it is safe for a link (http and https only), else None."""
    if not isinstance(address, str):
        return None
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return None
    return address.strip() if parts.scheme.lower() in ("http", "https") and parts.netloc else None


def json_for_script(rows: Any) -> str:
    """Return rows as JSON that is safe inside a script element."""
    text = orjson.dumps(rows, default=_plain, option=orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS)
    return text.decode().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def json_text(value: Any) -> str:
    """Return data as JSON text; data nested too deeply becomes "…"."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return "…"


def quoted(text: Any) -> str:
    """Return ``text`` as one word of a shell."""
    return shlex.quote(str(text))


def _plain(value: Any) -> Any:
    return float(value) if hasattr(value, "__float__") else str(value)
