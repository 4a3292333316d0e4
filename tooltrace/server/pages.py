"""The pages: each renders at once, and its panels load their own data."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.server.templates import app_state, render
from tooltrace.server.time_range import TimeRange
from tooltrace.server.waterfall import bars

TOOLS = 50
"""Rows of the table of tools before a reader requests all."""


async def overview(request: Request) -> Response:
    """Render the overview of the tools that need attention first."""
    desk, window = app_state(request).cache, TimeRange.of(request.query_params)
    desk.prefetch("overview", **_periods(request))
    desk.prefetch("hurt", **window.given)
    return render(request, "pages/overview.html")


async def tiles(request: Request) -> Response:
    """Render the headline figures: the window, and the one before."""
    return render(request, "parts/tiles.html", missing=False, **await _compared(request, "overview"))


async def gap(request: Request) -> Response:
    """Render the headline figure ``gap`` separately, because it is slower: it reads the labels."""
    return render(request, "parts/gap.html", **await _compared(request, "gap"))


async def _compared(request: Request, name: str) -> dict[str, Any]:
    given = _periods(request)
    answer = await app_state(request).cache.ask(name, **given)
    periods = {row["period"]: row for row in answer.dicts()}
    return {"now": periods.get("now"), "before": periods.get("before"), "tool": given["tool"]}


def _periods(request: Request, tool: str | None = None) -> dict[str, Any]:
    window = TimeRange.of(request.query_params)
    return {**window.given, "before": window.before, "tool": tool or request.query_params.get("tool") or None}


async def tools(request: Request) -> Response:
    """Render the table of tools, in the order of the query ``hurt``."""
    answer = await app_state(request).cache.ask("hurt", **TimeRange.of(request.query_params).given)
    limit = len(answer.rows) if request.query_params.get("rows") == "all" else TOOLS
    return render(request, "parts/tools.html", tools=answer.dicts(), limit=limit)


async def tool(request: Request) -> Response:
    """Render the page of one tool."""
    name = request.query_params.get("name", "")
    if not name:
        raise HTTPException(404, "which tool? /tool?name=…")
    app_state(request).cache.prefetch("overview", **_periods(request, name))
    return render(request, "pages/tool.html", tool=name)


async def call(request: Request) -> Response:
    """Render the page of one call: its attempts, labels and gates."""
    return render(request, "pages/call.html", **await about(request, request.query_params.get("id", "")))


async def about(request: Request, named: str) -> dict[str, Any]:
    """Return all data about the call with that id. Raises HTTPException if there is none."""
    desk = app_state(request).cache
    found = (await desk.ask("call", id=named)).dicts() if named else []
    if not found:
        raise HTTPException(
            404, f"no call or span has an id that begins with {named!r}" if named else "which call? /call?id=…"
        )
    place = _place(request, found)
    attempts = [row for row in found if row["place"] == place]
    known = [desk.ask(name, call_id=attempts[0]["call_id"]) for name in ("labels", "call_gates")]
    labels, gates = (answer.dicts() for answer in await asyncio.gather(*known))
    spans = {row["span_id"] for row in attempts}
    return {
        "named": named,
        "others": [row for row in found if row["place"] != place and row["attempt"] == 1],
        "attempts": attempts,
        "bars": bars(attempts),
        "labels": [row for row in labels if row["span_id"] is None or row["span_id"] in spans],
        "gates": [row for row in gates if row["span_id"] in spans],
    }


def _place(request: Request, found: list[dict[str, Any]]) -> int:
    """Return the place of the call that the address selects, else the newest, if several calls match the id."""
    asked = request.query_params.get("place", "1")
    places = {row["place"] for row in found}
    return int(asked) if asked.isdecimal() and int(asked) in places else min(places)


ROUTES = [
    Route("/", overview),
    Route("/tiles", tiles),
    Route("/tiles/gap", gap),
    Route("/tools", tools),
    Route("/tool", tool),
    Route("/call", call),
]
