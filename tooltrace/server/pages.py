"""The pages: each renders immediately, and its panels load their data afterwards."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.server.request import app_state, time_range
from tooltrace.server.templates import render
from tooltrace.server.waterfall import bars

TOOLS = 50
"""Rows of the table of tools before a reader requests all."""


async def overview(request: Request) -> Response:
    """Render the overview of the tools that need attention first."""
    cache = app_state(request).cache
    cache.prefetch("overview", **_periods(request))
    cache.prefetch("hurt", **time_range(request.query_params).params)
    return render(request, "pages/overview.html")


async def tiles(request: Request) -> Response:
    """Render the headline figures: the window, and the one before."""
    return render(request, "parts/tiles.html", missing=False, **await _compared(request, "overview"))


async def gap(request: Request) -> Response:
    """Render the headline figure ``gap`` separately, because it is slower: it reads the labels."""
    return render(request, "parts/gap.html", **await _compared(request, "gap"))


async def _compared(request: Request, name: str) -> dict[str, Any]:
    params = _periods(request)
    result = await app_state(request).cache.query(name, **params)
    periods = {row["period"]: row for row in result.dicts()}
    return {"now": periods.get("now"), "before": periods.get("before"), "tool": params["tool"]}


def _periods(request: Request, tool: str | None = None) -> dict[str, Any]:
    window = time_range(request.query_params)
    return {**window.params, "before": window.before, "tool": tool or request.query_params.get("tool") or None}


async def tools(request: Request) -> Response:
    """Render the table of tools, in the order of the query ``hurt``."""
    result = await app_state(request).cache.query("hurt", **time_range(request.query_params).params)
    limit = len(result.rows) if request.query_params.get("rows") == "all" else TOOLS
    return render(request, "parts/tools.html", tools=result.dicts(), limit=limit)


async def tool(request: Request) -> Response:
    """Render the page of one tool."""
    name = request.query_params.get("name", "")
    if not name:
        raise HTTPException(404, "the address names no tool: open /tool?name=NAME")
    app_state(request).cache.prefetch("overview", **_periods(request, name))
    return render(request, "pages/tool.html", tool=name)


async def call(request: Request) -> Response:
    """Render the page of one call: its attempts, labels and gates."""
    return render(request, "pages/call.html", **await call_data(request, request.query_params.get("id", "")))


async def call_data(request: Request, call_id: str) -> dict[str, Any]:
    """Return all data about a call, by its id or a span id. Raises HTTPException if there is none."""
    cache = app_state(request).cache
    found = (await cache.query("call", id=call_id)).dicts() if call_id else []
    if not found:
        raise HTTPException(
            404,
            f"no call or span has an id that begins with {call_id!r}"
            if call_id
            else "the address names no call: open /call?id=ID",
        )
    place = _place(request, found)
    attempts = [row for row in found if row["place"] == place]
    queries = [cache.query(name, call_id=attempts[0]["call_id"]) for name in ("labels", "call_gates")]
    labels, gates = (result.dicts() for result in await asyncio.gather(*queries))
    spans = {row["span_id"] for row in attempts}
    return {
        "requested_id": call_id,
        "others": [row for row in found if row["place"] != place and row["attempt"] == 1],
        "attempts": attempts,
        "bars": bars(attempts),
        "labels": [row for row in labels if row["span_id"] is None or row["span_id"] in spans],
        "gates": [row for row in gates if row["span_id"] in spans],
    }


def _place(request: Request, found: list[dict[str, Any]]) -> int:
    """Return the place of the call that the address selects, else of the newest call that matches the id."""
    chosen = request.query_params.get("place", "1")
    places = {row["place"] for row in found}
    return int(chosen) if chosen.isdecimal() and int(chosen) in places else min(places)


async def glossary(request: Request) -> Response:
    """Render the meanings of the terms."""
    return render(request, "pages/glossary.html")


ROUTES = [
    Route("/", overview),
    Route("/glossary", glossary),
    Route("/tiles", tiles),
    Route("/tiles/gap", gap),
    Route("/tools", tools),
    Route("/tool", tool),
    Route("/call", call),
]
