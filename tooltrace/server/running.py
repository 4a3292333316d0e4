"""The calls that run now: a list above the figures of a page, or nothing."""

from __future__ import annotations

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.analysis.running_calls import elapsed, running_calls
from tooltrace.server.request import app_state
from tooltrace.server.templates import render

SHOWN = 5
"""Maximum number of calls that are listed."""


async def running(request: Request) -> Response:
    """Render the calls of ``?tool=NAME`` that run; without it, those of all tools. Empty where none runs."""
    tool = request.query_params.get("tool") or None
    calls = await to_thread.run_sync(running_calls, app_state(request).site.store, tool)
    rows = [(call, elapsed(call.seconds)) for call in calls[:SHOWN]]
    return render(request, "parts/running.html", rows=rows, more=len(calls) - len(rows), tool=tool)


ROUTES = [Route("/running", running)]
