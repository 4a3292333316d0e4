"""The pages: each is there at once, and its panels ask for themselves."""

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
"""Rows of the table of tools, before somebody asks for all."""


async def overview(request: Request) -> Response:
    """Show which tools to look at first."""
    desk, window = app_state(request).cache, TimeRange.of(request.query_params)
    desk.prefetch("overview", **_periods(request))
    desk.prefetch("hurt", **window.given)
    return render(request, "pages/overview.html")


async def tiles(request: Request) -> Response:
    """The figures at the top: the window, and the one before."""
    return render(request, "parts/tiles.html", missing=False, **await _compared(request, "overview"))


async def gap(request: Request) -> Response:
    """One of them that takes longer: it needs what was judged."""
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
    """Show the tools, in the order of the query ``hurt``."""
    answer = await app_state(request).cache.ask("hurt", **TimeRange.of(request.query_params).given)
    limit = len(answer.rows) if request.query_params.get("rows") == "all" else TOOLS
    return render(request, "parts/tools.html", tools=answer.dicts(), limit=limit)


async def tool(request: Request) -> Response:
    """One tool in full."""
    name = request.query_params.get("name", "")
    if not name:
        raise HTTPException(404, "which tool? /tool?name=…")
    app_state(request).cache.prefetch("overview", **_periods(request, name))
    return render(request, "pages/tool.html", tool=name)


async def call(request: Request) -> Response:
    """One call in full: its attempts, and what stood around them."""
    return render(request, "pages/call.html", **await about(request, request.query_params.get("id", "")))


async def about(request: Request, named: str) -> dict[str, Any]:
    """All that is known of the call that an id names. Raises HTTPException where it names none."""
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
    """Of several calls with that id, the one that the address names, else the newest."""
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
