"""Rendering of templates. All text from a trace is escaped: a tool's result is never markup."""

from __future__ import annotations

import shlex
import zlib
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
from tooltrace.report.json_values import json_for_script
from tooltrace.report.templates import templates
from tooltrace.server.prefix import with_prefix
from tooltrace.server.request import LANGUAGE_COOKIE, RANGES, app_state, language_of, time_range
from tooltrace.version import __version__

GLOSSARY = {
    "incidents": "incident",
    "hurt": "baseline",
    "retry_survival": "attempt",
    "reliability": "calibration",
    "confidence_bands": "confidence",
    "thresholds": "threshold",
    "next_action": "next-action",
    "sources": "source",
    "gates": "approval",
    "audit": "rule",
}
"""The term that explains a query's panel best: its anchor on the page of the glossary."""
_YEAR = 365 * 24 * 3600


def render(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """Render ``template`` of the dashboards in the reader's language."""
    state = app_state(request)
    words = Translations(language_of(request))
    window = time_range(request.query_params)
    text = _environment().get_template(template).render(
        t=words,
        language=words.language,
        languages=LANGUAGES,
        window=window,
        window_name=window.since or "all",
        ranges=RANGES,
        links=state.links,
        path=request.url.path,
        address=request.query_params,
        prefix=state.site.prefix,
        state=state.cache.version(),
        store=state.site.store,
        version=__version__,
        **context,
    )  # fmt: skip
    response = HTMLResponse(
        with_prefix(text, state.site.prefix), status, {"Cache-Control": "no-store", "Vary": "Accept-Language, Cookie"}
    )
    if request.query_params.get("lang") in LANGUAGES:
        response.set_cookie(LANGUAGE_COOKIE, words.language, max_age=_YEAR, samesite="strict", path="/")
    return response


@cache
def _environment() -> Environment:
    environment = templates(
        parsed=parsed,
        web=safe_url,
        rows=json_for_script,
        raw=json_text,
        quoted=lambda text: shlex.quote(str(text)),
    )
    environment.globals |= {"glossary": GLOSSARY, "url": url, "mask": MASK, "asset": asset_url}
    return environment


def url(path: str, **query: Any) -> str:
    """Return ``path`` with ``query`` appended, without values that are None or empty."""
    params = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(params)}" if params else path


@cache
def asset_url(name: str) -> str:
    """Return the address of a dashboard file; the address changes with the content."""
    content = (assets.path("dashboards") / name).read_bytes()
    return f"/static/{name}?v={zlib.crc32(content):x}"


def parsed(text: Any) -> Any:
    """Parse JSON text; other text is returned unchanged."""
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


def json_text(value: Any) -> str:
    """Return data as JSON text; data nested too deeply becomes "…"."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return "…"
