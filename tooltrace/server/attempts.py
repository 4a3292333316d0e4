"""The list of attempts: filtered, paged, with new attempts added on top."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.errors import StoreMissing
from tooltrace.report.templates import iso
from tooltrace.server.templates import app_state, render
from tooltrace.server.time_range import TimeRange

FILTERS = ("tool", "status", "code", "ending", "agent", "conversation", "min_confidence", "max_confidence", "text")
STATUSES = ("success", "partial", "error")
ENDINGS = ("returned", "raised", "cancelled", "abandoned", "paused", "declined", "expired")
PAGE = 50
MOST_NEW = 500
"""Maximum rows added on top of an open list; with more, the list starts again at the first page."""


async def calls(request: Request) -> Response:
    """Render the page of the list with its current filters."""
    chosen = {name: request.query_params.get(name, "") for name in FILTERS}
    app_state(request).cache.prefetch("attempts", **_newest(request, PAGE))
    return render(request, "pages/calls.html", chosen=chosen, statuses=STATUSES, endings=ENDINGS)


async def first(request: Request) -> Response:
    """Render the newest rows: the first page, or with ``down_to`` all rows down to that one."""
    hall = app_state(request)
    state, address = hall.cache.version(), request.query_params
    if address.get("seen") == state:
        return Response(status_code=204)
    bottom = (address.get("down_to") or None, address.get("down_to_span") or None)
    rows = await _rows(request, bottom, PAGE if bottom[0] is None else MOST_NEW)
    if bottom[0] is not None and len(rows) == MOST_NEW:
        bottom = (None, None)
        rows = await _rows(request, bottom, PAGE)
    if bottom[0] is None and len(rows) == PAGE:
        bottom = (iso(rows[-1]["ended_at"]), rows[-1]["span_id"])
    shown: dict[str, Any] = {
        "rows": rows,
        "filters": _filters(request),
        "missing": not rows and not hall.cache.has_data(),
    }
    return render(request, "parts/newest.html", **shown, bottom=bottom, seen=state)


async def more(request: Request) -> Response:
    """Render the page after a row."""
    answer = await app_state(request).cache.ask(
        "attempts",
        **{**_window(request), **_filters(request)},
        before=request.query_params.get("before") or None,
        before_span=request.query_params.get("before_span") or None,
        limit=PAGE,
    )
    return render(
        request, "parts/more.html", rows=answer.dicts(), filters=_filters(request), full=len(answer.rows) == PAGE
    )


async def _rows(request: Request, bottom: tuple[str | None, str | None], limit: int) -> list[dict[str, Any]]:
    """Return the newest rows down to the last row of the first page.

    The list is empty while the store does not exist; a recording may still create it.
    """
    given = _newest(request, limit)
    if bottom[0] is not None:
        given |= {"since": bottom[0], "until_span": bottom[1]}
    try:
        return (await app_state(request).cache.ask("attempts", **given)).dicts()
    except StoreMissing:
        return []


def _newest(request: Request, limit: int) -> dict[str, Any]:
    return {**_window(request), **_filters(request), "limit": limit}


def _filters(request: Request) -> dict[str, str]:
    return {name: value for name in FILTERS if (value := request.query_params.get(name, "").strip())}


def _window(request: Request) -> dict[str, Any]:
    return TimeRange.of(request.query_params).given


ROUTES = [Route("/calls", calls), Route("/calls/newest", first), Route("/calls/more", more)]
