"""The findings on the pages: what is wrong, as a list and as marks on charts."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.diagnosis.summary import cost, marks, summarize
from tooltrace.report.json_values import json_for_script
from tooltrace.server.request import app_state, time_range
from tooltrace.server.templates import render
from tooltrace.wording.sentences import pieces

SHOWN: Final = 12
"""Findings that are shown at once; the others are folded."""


async def verdict(request: Request) -> Response:
    """Render what is wrong and what was seen, of all tools or of the one in the address."""
    window, tool = time_range(request.query_params).params, request.query_params.get("tool") or None
    state = app_state(request)
    found, ranking = await asyncio.gather(
        state.diagnosis.findings(tool, **window), state.cache.query("ranking", **window, tool=tool)
    )
    shown = summarize(found, ranking)
    worrying = shown.worrying
    rest = [one for one in found if one.severity == "note"]
    return render(
        request,
        "parts/verdict.html",
        summary=shown,
        first=worrying[:SHOWN],
        rest=[*worrying[SHOWN:], *rest],
        tool=tool,
        pieces=pieces,
        cost=cost,
    )


async def data(request: Request) -> Response:
    """Return the times of findings as JSON, for the marks of a chart."""
    window, tool = time_range(request.query_params).params, request.query_params.get("tool") or None
    found = await app_state(request).diagnosis.findings(tool, **window)
    text = json_for_script(marks(found))
    return Response(text, media_type="application/json", headers={"Cache-Control": "no-store"})


ROUTES = [Route("/verdict", verdict), Route("/data/findings", data)]
