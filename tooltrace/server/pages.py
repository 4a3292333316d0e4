"""The pages: each renders immediately, and its panels load their data afterwards."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.server.request import app_state, time_range
from tooltrace.server.templates import render

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


ROUTES = [
    Route("/", overview),
    Route("/tiles", tiles),
    Route("/tiles/gap", gap),
    Route("/tools", tools),
    Route("/tool", tool),
]
