"""The list of conversations: filtered, sorted, paged, live, those in a loop marked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.analysis.running_calls import running, stuck
from tooltrace.errors import BadParameter, StoreMissing
from tooltrace.report.templates import iso
from tooltrace.server.list_state import ConversationListState
from tooltrace.server.request import app_state, missing_data, time_range
from tooltrace.server.templates import render
from tooltrace.server.time_navigation import navigate
from tooltrace.server.tool_page import DOCUMENTATION

PAGE: Final = 50
MAX_ANNOUNCED: Final = 99
"""Largest number of new conversations that is counted."""
MAX_LOOPS: Final = 10_000
"""Maximum number of loops whose conversations the filter by loops finds."""


async def conversations(request: Request) -> Response:
    """Render the page of the list with its filters."""
    state = ConversationListState.read(request.query_params)
    if state.loop is None:
        app_state(request).cache.prefetch("conversations", **await _params(request, state))
    return render(request, "pages/conversations.html", list=state, page=PAGE)


async def rows(request: Request) -> Response:
    """Render one page of rows. The first page also has the announcement of later ones."""
    state, cache = ConversationListState.read(request.query_params), app_state(request).cache
    version = cache.version()
    found = await _rows(request, state)
    offset = _offset(request)
    return render(
        request,
        "parts/conversation_rows.html",
        list=state,
        rows=[{**row, "mark": loop_mark_id(row["conversation"])} for row in found],
        offset=offset,
        next_offset=offset + PAGE if len(found) == PAGE else None,
        top=None if offset else await _top(request, state, found),
        version_shown=version,
        missing=None if found or offset else await missing_data(request),
        documentation=f"{DOCUMENTATION}/how-to/describe-calls.md#what-is-recorded",
    )


async def loops(request: Request) -> Response:
    """Render the marks of those conversations of a page of the list that are, or were, in a loop."""
    listed = await _rows(request, ConversationListState.read(request.query_params))
    marks: dict[str, dict[str, Any]] = {}
    if listed:
        params: dict[str, Any] = {
            "conversations": _lines(row["conversation"] for row in listed),
            "since": iso(min(row["started_at"] for row in listed)),
            "until": time_range(request.query_params).params.get("until"),
            "limit": MAX_LOOPS,
        }
        for row in stuck((await app_state(request).cache.query("loops", **params)).dicts()):
            marks.setdefault(loop_mark_id(row["conversation"]), row)  # running loops come first
    return render(request, "parts/conversation_loops.html", marks=marks)


async def news(request: Request) -> Response:
    """Render the number of conversations that began after the newest of the list; 204 where the store is unchanged.

    The page refreshes its rows then, while nobody reads them: a listed conversation may have gone on.
    """
    state, cache, address = (
        ConversationListState.read(request.query_params),
        app_state(request).cache,
        request.query_params,
    )
    version = cache.version()
    if address.get("state") == version:
        return Response(status_code=204)
    top = address.get("top") or None
    after = None if top is None else _time(top)
    params = {**await _filters(request, state), **({"since": top} if top else {})}
    try:
        began = (await cache.query_once("conversations", **params, limit=MAX_ANNOUNCED + 1)).dicts()
    except StoreMissing:
        began = []
    new = sum(after is None or row["started_at"] > after for row in began)
    return render(
        request,
        "parts/conversation_news.html",
        list=state,
        top=top,
        new=new,
        most=MAX_ANNOUNCED,
        changed=True,
        version_shown=version,
    )


def _time(text: str) -> datetime:
    """Return the time that the list wrote into its address. Raises BadParameter."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        raise BadParameter(f"parameter 'top' must be a time such as 2026-01-31T12:00:00Z; got {text[:80]!r}") from None


def loop_mark_id(conversation: str) -> str:
    """Return the id of the element for the loop mark of ``conversation``, whose name may have any characters."""
    # A lone surrogate, which a recorded id may have, has no UTF-8 form of its own.
    return f"loop-{hashlib.blake2b(conversation.encode(errors='surrogatepass'), digest_size=8).hexdigest()}"


async def _rows(request: Request, state: ConversationListState) -> list[dict[str, Any]]:
    """Return a page of rows; none while the store does not exist, which a recording may still create."""
    try:
        return (await app_state(request).cache.query("conversations", **await _params(request, state))).dicts()
    except StoreMissing:
        return []


async def _params(request: Request, state: ConversationListState) -> dict[str, Any]:
    order = {"sort": state.sort} if state.sort else {}
    return {**await _filters(request, state), **order, "limit": PAGE, "offset": _offset(request)}


async def _filters(request: Request, state: ConversationListState) -> dict[str, Any]:
    """Return the window and the filters as parameters of the query conversations. Raises StoreMissing."""
    window = time_range(request.query_params).params
    filters = {name: value for name, value in state.params.items() if name != "sort"}
    if state.loop is None:
        return {**window, **filters}
    found = stuck((await app_state(request).cache.query("loops", **window, limit=MAX_LOOPS)).dicts())
    rows = running(found) if state.loop == "running" else found
    return {**window, **filters, "conversations": _lines(row["conversation"] for row in rows)}


def _lines(conversations: Iterable[str]) -> str:
    """Return the ids as lines: a parameter of the queries conversations and loops."""
    return "\n".join(dict.fromkeys(conversations))


def _offset(request: Request) -> int:
    asked = request.query_params.get("offset", "")
    return int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 10 else 0


async def _top(request: Request, state: ConversationListState, found: list[dict[str, Any]]) -> str | None:
    """Return the time after which a conversation is new: the newest start, or the start of the window if it is later."""
    if found and not state.is_live:
        newest = {**await _filters(request, state), "limit": 1}
        found = (await app_state(request).cache.query("conversations", **newest)).dicts()
    ends = navigate(time_range(request.query_params))
    newest_start: datetime | None = found[0]["started_at"] if found else None
    window_start = None if ends is None else ends.since
    times = [time for time in (newest_start, window_start) if time is not None]
    return iso(max(times)) if times else None


ROUTES = [
    Route("/conversations", conversations),
    Route("/conversations/rows", rows),
    Route("/conversations/loops", loops),
    Route("/conversations/news", news),
]
