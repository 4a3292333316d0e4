"""The pages: each renders immediately, and its panels load their data afterwards."""

from __future__ import annotations

import asyncio
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from tooltrace.diagnosis.summary import summarize
from tooltrace.server.request import app_state, language_of, missing_data, stated_window, time_range
from tooltrace.server.templates import render
from tooltrace.wording.i18n import Translations

TOOLS = 50
"""Rows of the table of tools before a reader requests all."""


async def overview(request: Request) -> Response:
    """Render the overview of the tools that need attention first."""
    cache = app_state(request).cache
    cache.prefetch("overview", **_periods(request))
    window = time_range(request.query_params).params
    cache.prefetch("ranking", **window)
    return render(request, "pages/overview.html")


async def tiles(request: Request) -> Response:
    """Render the headline figures: the window, and the one before."""
    compared = await _compared(request, "overview")
    missing = None if compared["now"] else await missing_data(request)
    return render(request, "parts/tiles.html", missing=missing, **compared)


async def gap(request: Request) -> Response:
    """Render the headline figure ``gap`` separately, because it is slower: it reads the labels."""
    return render(request, "parts/gap.html", **await _compared(request, "gap"))


async def _compared(request: Request, name: str) -> dict[str, Any]:
    params = _periods(request)
    result = await app_state(request).cache.query(name, **params)
    periods = {row["period"]: row for row in result.dicts()}
    return {"now": periods.get("now"), "before": periods.get("before"), "tool": params["tool"]}


def _periods(request: Request) -> dict[str, Any]:
    window = time_range(request.query_params)
    return {**window.params, "before": window.before, "tool": request.query_params.get("tool") or None}


async def window(request: Request) -> Response:
    """Render the sentence that states the time range in the address."""
    if not app_state(request).cache.has_data():
        return HTMLResponse("")
    return HTMLResponse(escape((await stated_window(request)).sentence(Translations(language_of(request)))))


async def tools(request: Request) -> Response:
    """Render the table of tools, in the order of the query ``ranking``; those without a finding are folded."""
    window, state = time_range(request.query_params).params, app_state(request)
    result, found = await asyncio.gather(
        state.cache.query("ranking", **window), state.diagnosis.findings(None, **window)
    )
    named = summarize(found, result).tools
    rows = result.dicts()
    worrying, healthy = ([row for row in rows if (row["tool"] in named) == wanted] for wanted in (True, False))
    limit = len(rows) if request.query_params.get("rows") == "all" else TOOLS
    return render(request, "parts/ranking.html", worrying=worrying, healthy=healthy, limit=limit)


async def glossary(request: Request) -> Response:
    """Render the meanings of the terms."""
    return render(request, "pages/glossary.html")


ROUTES = [
    Route("/", overview),
    Route("/glossary", glossary),
    Route("/tiles", tiles),
    Route("/tiles/gap", gap),
    Route("/tools", tools),
    Route("/window", window),
]
