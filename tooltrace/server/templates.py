"""Rendering of templates. All text from a trace is escaped: a tool's result is never markup."""

from __future__ import annotations

import shlex
from datetime import timedelta
from functools import cache
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import orjson
from jinja2 import Environment, pass_context
from jinja2.runtime import Context
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse

from tooltrace.analysis.normal_forms import row_message_parts
from tooltrace.errors import BadParameter
from tooltrace.redact.plain_data import json_of
from tooltrace.redact.texts import MASK
from tooltrace.report.json_values import json_for_script
from tooltrace.report.templates import templates
from tooltrace.server.axis import ticks
from tooltrace.server.list_state import ConversationListState, ListState
from tooltrace.server.prefix import with_prefix
from tooltrace.server.request import LANGUAGE_COOKIE, RANGES, app_state, language_of, time_range
from tooltrace.server.static_files import asset_url
from tooltrace.server.time_navigation import navigate
from tooltrace.server.value_view import view_value
from tooltrace.version import __version__
from tooltrace.wording.i18n import LANGUAGES, Translations

_YEAR = 365 * 24 * 3600
PAGES = frozenset({"/", "/tool", "/calls", "/call", "/sql", "/compare", "/conversations", "/find"})
CARRIED = frozenset({"since", "until"})
"""Parameters of an address that every link to a page keeps, unless it sets one of them."""


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
        navigation=navigate(window),
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
    # The same address has another answer in each language; a cache on the way must know that.
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
        later=lambda time, seconds: time + timedelta(seconds=seconds),
        field=lambda time: time.isoformat(timespec="seconds"),
        message_parts=row_message_parts,
        zip=zip,
    )
    environment.globals |= {
        "panel_terms": PANEL_TERMS,
        "column_terms": COLUMN_TERMS,
        "url": page_url,
        "list_address": list_address,
        "id_path": id_path,
        "mask": MASK,
        "asset": asset_url,
        "view_value": view_value,
        "ticks": ticks,
    }
    return environment


def url(path: str, **query: Any) -> str:
    """Return ``path`` with ``query`` appended, without values that are None or empty."""
    params = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(params)}" if params else path


@pass_context
def page_url(context: Context, path: str, **query: Any) -> str:
    """Return ``url(path, **query)``; a link to a page keeps the time range of the present one."""
    if path in PAGES and not query.keys() & CARRIED:
        address = context["address"]
        query |= {name: address[name] for name in CARRIED if address.get(name)}
    return url(path, **query)


def list_address(address: QueryParams, path: str = "/calls") -> str:
    """Return the address of the list at ``path`` from which this page was opened, as its parameter ``list`` says."""
    window = {name: address[name] for name in sorted(CARRIED) if address.get(name)}
    kind = ConversationListState if path == "/conversations" else ListState
    try:
        state = kind.read(QueryParams(address.get("list", "")))
    except BadParameter:  # an address that somebody typed
        state = kind()
    return url(path, **{**state.address, **window})


def id_path(folder: str, identifier: str, **query: Any) -> str:
    """Return the address of the page of ``identifier`` in ``folder``, such as a trace or a conversation."""
    if identifier in (".", ".."):  # browsers resolve these segments, even escaped
        return url(f"/{folder}", id=identifier, **query)
    return url(f"/{folder}/{quote(identifier, safe='')}", **query)


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
        return json_of(value).decode()
    except (TypeError, RecursionError):
        return "…"


PANEL_TERMS: Final = {
    "incidents": "incident",
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

_COLUMNS_OF: Final = {
    "accuracy": "accuracy band_low precision",
    "approval": "approved approved_share declined expired waiting wait_p50 wait_p95",
    "attempt": "attempt attempts attempts_failed",
    "baseline": "before_rate",
    "calibration": "auroc ece ece_null_p95 miscalibrated",
    "call": "calls call_id",
    "confidence": "band confidence mean_confidence",
    "conversation": "conversation clusters counted",
    "ending": "ending",
    "failure-rate": "rate call_rate failed_calls failures",
    "gap": "gap confidence_gap",
    "incident": "by_chance",
    "interval": "interval",
    "label": "label labelled labelled_share",
    "latency": "duration_ms p50 p90 p95 p99",
    "next-action": "advice followed_share succeeded_when_followed",
    "retryable": "retryable retryable_share",
    "rule": "heuristic rule rule_grade unread",
    "source": "missing_id_share source",
    "status": "status",
    "threshold": "lower_bound threshold",
    "time-lost": "hurt_ms",
    "trace": "span_id trace_id",
}
COLUMN_TERMS: Final = {column: term for term, columns in _COLUMNS_OF.items() for column in columns.split()}
"""The term that explains a column of a table; ``interval`` is every interval."""
