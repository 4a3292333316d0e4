"""The list of attempts: filtered, sorted, paged, counted; new attempts are announced, and added when the reader asks."""

from __future__ import annotations

from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.errors import StoreMissing
from tooltrace.report.templates import iso
from tooltrace.report.time_range import TimeRange
from tooltrace.server.histogram import PARTS, histogram, interval_of
from tooltrace.server.list_export import MAX_ROWS
from tooltrace.server.list_state import CHOICES, SORTABLE, ListState
from tooltrace.server.request import app_state, charted_range, missing_data, time_range
from tooltrace.server.templates import render

PAGE: Final = 50
MAX_NEW_ROWS: Final = 500
"""Maximum rows added on top of an open list; with more, the list starts again at the first page."""
MAX_RESTORED_ROWS: Final = 2_000
"""Maximum rows of a list to which the reader goes back."""
MAX_ANNOUNCED: Final = 999
"""Largest number of new attempts that is counted."""


async def calls(request: Request) -> Response:
    """Render the page of the list with its current filters."""
    state = ListState.read(request.query_params)
    cache = app_state(request).cache
    cache.prefetch("attempts", **_newest(request, state, PAGE))
    # for a history that fills the window: its first record is not read before the page is sent
    cache.prefetch("attempt_counts", **_counted(request, state, time_range(request.query_params)))
    return render(request, "pages/calls.html", list=state, choices=CHOICES, sortable=SORTABLE)


async def first(request: Request) -> Response:
    """Render the first rows: a page, or with ``down_to`` all rows down to that one.

    ``up_to``: the list to which the reader goes back, without the attempts that ended later; in an order other than by
    time, ``rows`` is their number.
    """
    state, cache, address = ListState.read(request.query_params), app_state(request).cache, request.query_params
    version = cache.version()
    if not state.is_live:
        return await _sorted(request, state, version)
    bottom = (address.get("down_to") or None, address.get("down_to_span") or None)
    restored = bool(bottom[0] and address.get("up_to"))
    limit = MAX_RESTORED_ROWS if restored else PAGE if bottom[0] is None else MAX_NEW_ROWS
    rows = await _rows(request, state, bottom, limit)
    # The new attempts would make the list too long: it starts again.
    if bottom[0] is not None and len(rows) == limit and not restored:
        bottom = (None, None)
        rows = await _rows(request, state, bottom, PAGE)
    whole = bottom[0] is None and len(rows) < PAGE
    if rows and not whole and (restored or bottom[0] is None):
        bottom = (iso(rows[-1]["ended_at"]), rows[-1]["span_id"])
    more = bottom[0] is not None and (restored or not address.get("down_to"))
    return await _first(request, state, version, rows, top=_top(rows), bottom=bottom, more=more)


async def _sorted(request: Request, state: ListState, version: str) -> Response:
    """Render the first rows in an order other than by time; new attempts are only announced."""
    asked = request.query_params.get("rows", "")
    limit = min(max(int(asked), PAGE), MAX_RESTORED_ROWS) if asked.isdecimal() else PAGE
    rows = await _rows(request, state, (None, None), limit)
    newest = await _rows(request, ListState(filters=state.filters), (None, None), 1)
    return await _first(request, state, version, rows, top=_top(newest), offset=limit, more=len(rows) == limit)


async def _first(
    request: Request,
    state: ListState,
    version: str,
    rows: list[dict[str, Any]],
    *,
    top: tuple[str | None, str | None],
    bottom: tuple[str | None, str | None] = (None, None),
    offset: int | None = None,
    more: bool,
) -> Response:
    """Render the first rows. The next ones follow the row ``bottom``, or in another order than by time ``offset``."""
    return render(
        request,
        "parts/newest.html",
        list=state,
        rows=rows,
        top=top,
        bottom=bottom,
        offset=offset,
        more=more,
        version_shown=version,
        missing=None if rows else await missing_data(request),
    )


async def more(request: Request) -> Response:
    """Render the page after a row."""
    state, address = ListState.read(request.query_params), request.query_params
    place: dict[str, Any] = {name: address.get(name) or None for name in ("before", "before_span", "offset")}
    window = time_range(address).params
    result = await app_state(request).cache.query("attempts", **window, **state.params, **place, limit=PAGE)
    offset = int(place["offset"]) + PAGE if place["offset"] else None
    return render(
        request, "parts/more.html", list=state, rows=result.dicts(), full=len(result.rows) == PAGE, offset=offset
    )


async def news(request: Request) -> Response:
    """Render the number of attempts that ended after the first row of the list; 204 where the store is unchanged."""
    state, cache, address = ListState.read(request.query_params), app_state(request).cache, request.query_params
    version = cache.version()
    if address.get("state") == version:  # not "version": that is a filter
        return Response(status_code=204)
    top = (address.get("top") or None, address.get("top_span") or None)
    # the answer states its version, so it must not come from an older one: that would hide the news until the next
    rows = await _rows(request, ListState(filters=state.filters), top, MAX_ANNOUNCED + 2, current=True)
    new = len([row for row in rows if row["span_id"] != top[1]])
    return render(
        request, "parts/arrivals.html", list=state, top=top, new=new, most=MAX_ANNOUNCED, version_shown=version
    )


async def counts(request: Request) -> Response:
    """Render the number of attempts and their histogram over the window."""
    state = ListState.read(request.query_params)
    drawn = await charted_range(request)
    params = _counted(request, state, drawn)
    rows = (await app_state(request).cache.query("attempt_counts", **params)).dicts()
    without = {name: value for name, value in params.items() if name != "status"}
    other = (await app_state(request).cache.query("attempt_counts", **without)).dicts() if "status" in params else rows
    shown = histogram(rows, drawn, legend=other)
    return render(request, "parts/counts.html", list=state, histogram=shown, most=MAX_ROWS)


async def preview(request: Request) -> Response:
    """Render one attempt for the drawer beside the list."""
    span_id = request.query_params.get("id", "")
    found = (await app_state(request).cache.query("call", id=span_id)).dicts() if span_id else []
    row = next((row for row in found if row["span_id"] == span_id), found[-1] if found else None)
    if row is None:
        raise HTTPException(404, f"no attempt has the span id {span_id[:40]!r}")
    return render(request, "parts/preview.html", row=row, list=ListState.read(request.query_params))


async def _rows(
    request: Request, state: ListState, bottom: tuple[str | None, str | None], limit: int, *, current: bool = False
) -> list[dict[str, Any]]:
    """Return the first rows down to the row ``bottom``, its time and its span id.

    The list is empty while the store does not exist; a recording may still create it. ``current``: without the cache.
    """
    cache = app_state(request).cache
    params = _newest(request, state, limit)
    if bottom[0] is not None:
        params |= {"down_to": bottom[0], "down_to_span": bottom[1]}
    try:
        return (await (cache.query_once if current else cache.query)("attempts", **params)).dicts()
    except StoreMissing:
        return []


def _newest(request: Request, state: ListState, limit: int) -> dict[str, Any]:
    params = {**time_range(request.query_params).params, **state.params, "limit": limit}
    if up_to := request.query_params.get("up_to"):
        params |= {"before": up_to, "before_span": ""}  # up to this time, it included
    return params


def _counted(request: Request, state: ListState, drawn: TimeRange[str]) -> dict[str, Any]:
    window = time_range(request.query_params).params
    return {**window, **state.filters, "parts": PARTS, "seconds": interval_of(drawn)}


def _top(rows: list[dict[str, Any]]) -> tuple[str | None, str | None]:
    return (iso(rows[0]["ended_at"]), rows[0]["span_id"]) if rows else (None, None)


ROUTES = [
    Route("/calls", calls),
    Route("/calls/newest", first),
    Route("/calls/more", more),
    Route("/calls/news", news),
    Route("/calls/counts", counts),
    Route("/calls/preview", preview),
]
