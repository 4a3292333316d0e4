"""The list of attempts: filtered, paged, with new attempts added on top."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.errors import StoreMissing
from tooltrace.report.templates import iso
from tooltrace.server.request import app_state, time_range
from tooltrace.server.templates import render

FILTERS = ("tool", "status", "code", "ending", "agent", "conversation", "min_confidence", "max_confidence", "text")
STATUSES = ("success", "partial", "error")
ENDINGS = ("returned", "raised", "cancelled", "abandoned", "paused", "declined", "expired")
PAGE = 50
MAX_NEW_ROWS = 500
"""Maximum rows added on top of an open list; with more, the list starts again at the first page."""


async def calls(request: Request) -> Response:
    """Render the page of the list with its current filters."""
    chosen = {name: request.query_params.get(name, "") for name in FILTERS}
    app_state(request).cache.prefetch("attempts", **_newest(request, PAGE))
    return render(request, "pages/calls.html", chosen=chosen, statuses=STATUSES, endings=ENDINGS)


async def first(request: Request) -> Response:
    """Render the newest rows: the first page, or with ``down_to`` all rows down to that one."""
    cache, address = app_state(request).cache, request.query_params
    version = cache.version()
    if address.get("version") == version:
        return Response(status_code=204)
    bottom = (address.get("down_to") or None, address.get("down_to_span") or None)
    rows = await _rows(request, bottom, PAGE if bottom[0] is None else MAX_NEW_ROWS)
    if bottom[0] is not None and len(rows) == MAX_NEW_ROWS:
        bottom = (None, None)
        rows = await _rows(request, bottom, PAGE)
    if bottom[0] is None and len(rows) == PAGE:
        bottom = (iso(rows[-1]["ended_at"]), rows[-1]["span_id"])
    shown: dict[str, Any] = {
        "rows": rows,
        "filters": _filters(request),
        "missing": not rows and not cache.has_data(),
    }
    return render(request, "parts/newest.html", **shown, bottom=bottom, version_shown=version)


async def more(request: Request) -> Response:
    """Render the page after a row."""
    result = await app_state(request).cache.query(
        "attempts",
        **{**time_range(request.query_params).params, **_filters(request)},
        before=request.query_params.get("before") or None,
        before_span=request.query_params.get("before_span") or None,
        limit=PAGE,
    )
    return render(
        request, "parts/more.html", rows=result.dicts(), filters=_filters(request), full=len(result.rows) == PAGE
    )


async def _rows(request: Request, bottom: tuple[str | None, str | None], limit: int) -> list[dict[str, Any]]:
    """Return the newest rows down to the last row of the first page.

    The list is empty while the store does not exist; a recording may still create it.
    """
    params = _newest(request, limit)
    if bottom[0] is not None:
        params |= {"since": bottom[0], "until_span": bottom[1]}
    try:
        return (await app_state(request).cache.query("attempts", **params)).dicts()
    except StoreMissing:
        return []


def _newest(request: Request, limit: int) -> dict[str, Any]:
    return {**time_range(request.query_params).params, **_filters(request), "limit": limit}


def _filters(request: Request) -> dict[str, str]:
    return {name: value for name in FILTERS if (value := request.query_params.get(name, "").strip())}


ROUTES = [Route("/calls", calls), Route("/calls/newest", first), Route("/calls/more", more)]
