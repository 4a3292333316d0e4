"""Values that every handler reads from a request: the application's state, the language, the time range, a form."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from urllib.parse import parse_qsl

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from tooltrace.report.history_window import ALL, DEFAULT_SPAN, HistoryWindow, history_window
from tooltrace.report.templates import iso
from tooltrace.report.time_range import TimeRange
from tooltrace.server.diagnosis import Diagnosis
from tooltrace.server.health import HealthCheck
from tooltrace.server.query_cache import QueryCache
from tooltrace.server.site import Site
from tooltrace.store.base import SqlSandbox
from tooltrace.wording.i18n import LANGUAGES, preferred_language

LANGUAGE_COOKIE = "tooltrace_lang"
RANGES = ("1h", "24h", "7d", "30d", "all")
"""Time ranges that every page offers."""


@dataclass(slots=True)
class AppState:
    """Shared state of the application: the site, and the cache that executes its queries."""

    site: Site
    cache: QueryCache
    diagnosis: Diagnosis
    health: HealthCheck
    links: list[tuple[str, str]] = field(default_factory=list)
    """Navigation links: the path, and the translation key of the name."""
    most_unfolded: int = 0
    """Most journal bytes that were unfolded at once since folding was last complete."""
    _sandbox: SqlSandbox | None = None

    @property
    def sandbox(self) -> SqlSandbox:
        """The sandbox for SQL that a visitor typed. Raises UnsupportedByStore."""
        if self._sandbox is None:
            self._sandbox = self.site.store.sandbox(self.site.limits)
        return self._sandbox

    async def close(self) -> None:
        """Release the lease on the store and the resources of the sandbox."""
        self.cache.close()
        if self._sandbox is not None:
            await self._sandbox.close()


def app_state(request: Request) -> AppState:
    """Return the state of the application that handles ``request``."""
    state: AppState = request.app.state.tooltrace
    return state


def time_range(query: QueryParams) -> TimeRange[str]:
    """Return the range in the address: ``since`` and ``until``, a span or a time; ``all`` is the complete history."""
    since, until = query.get("since", "").strip() or DEFAULT_SPAN, query.get("until", "").strip() or None
    return TimeRange(since=None if since == ALL else since, until=until)


async def stated_window(request: Request) -> HistoryWindow:
    """Return the window that the page states for the range in the address. Raises BadParameter and StoreError."""
    chosen = time_range(request.query_params)
    return await app_state(request).cache.read(partial(history_window, since=chosen.since or ALL, until=chosen.until))


async def charted_range(request: Request) -> TimeRange[str]:
    """Return the range that a chart draws: that in the address, from the first record on where the history is shorter.

    Raises BadParameter and StoreError.
    """
    chosen = time_range(request.query_params)
    if chosen.since != DEFAULT_SPAN or not app_state(request).cache.has_data():
        return chosen
    stated = await stated_window(request)
    return replace(chosen, since=iso(stated.since)) if stated.begins == "first" and stated.since else chosen


async def missing_data(request: Request) -> str | None:
    """Return what is missing where a page has nothing to show: ``store``, ``nothing`` recorded in it, or None."""
    cache = app_state(request).cache
    if not cache.has_data():
        return "store"
    return None if (await cache.query("recent", limit=1)).rows else "nothing"


def language_of(request: Request) -> str:
    """Return the language of the address, else of the cookie, else of the browser."""
    for chosen in (request.query_params.get("lang"), request.cookies.get(LANGUAGE_COOKIE)):
        if chosen in LANGUAGES:
            return str(chosen)
    return preferred_language(request.headers.get("accept-language", ""))


async def read_form(request: Request, most_bytes: int) -> dict[str, str]:
    """Return the fields of an HTML form by name.

    Raises HTTPException for an invalid form or one above ``most_bytes``.
    """
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > most_bytes:
                raise HTTPException(413, f"the form is larger than {most_bytes:,} bytes; nothing was recorded")
    except ClientDisconnect:
        raise HTTPException(
            400, "the connection was closed before the form was complete; nothing was recorded"
        ) from None
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20))
    except ValueError:
        raise HTTPException(400, "the request body is not a URL-encoded form in UTF-8; nothing was recorded") from None
