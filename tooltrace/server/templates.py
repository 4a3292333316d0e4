"""Templates to answers. All that comes from a trace is escaped: a tool's result is text, whatever it looks like."""

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
    """What every page has at hand: the site, and the desk where its questions are put."""

    site: Site
    cache: QueryCache
    links: list[tuple[str, str]] = field(default_factory=list)
    """Pages of the navigation: the path, and the key of its name."""
    _sandbox: SqlSandbox | None = None

    @property
    def sandbox(self) -> SqlSandbox:
        """What answers SQL that a visitor typed. Raises UnsupportedByStore."""
        if self._sandbox is None:
            self._sandbox = self.site.store.sandbox(self.site.limits)
        return self._sandbox

    async def close(self) -> None:
        """Release what the sandbox holds."""
        if self._sandbox is not None:
            await self._sandbox.close()


def app_state(request: Request) -> AppState:
    """The hall of the app that ``request`` came to."""
    hall: AppState = request.app.state.hall
    return hall


def render(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """The answer made from ``template`` of the dashboards, in the reader's language."""
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
    """``path`` with ``query`` behind it; what is None or empty is left out."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


@cache
def asset_url(name: str) -> str:
    """The address of a file of the dashboards: another one where its content is."""
    content = (assets.path("dashboards") / name).read_bytes()
    return f"/static/{name}?v={zlib.crc32(content):x}"


def parsed(text: Any) -> Any:
    """JSON text as data; what cannot be read stays the text."""
    if not isinstance(text, str | bytes):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def safe_url(address: Any) -> str | None:
    """``address`` where a browser may be led there: http and https only."""
    if not isinstance(address, str):
        return None
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return None
    return address.strip() if parts.scheme.lower() in ("http", "https") and parts.netloc else None


def json_for_script(rows: Any) -> str:
    """Rows as JSON that may stand between script tags."""
    text = orjson.dumps(rows, default=_plain, option=orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS)
    return text.decode().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def json_text(value: Any) -> str:
    """Data as JSON text; what is nested too deep to be written is left out."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return "…"


def quoted(text: Any) -> str:
    """``text`` as one word of a shell."""
    return shlex.quote(str(text))


def _plain(value: Any) -> Any:
    return float(value) if hasattr(value, "__float__") else str(value)
