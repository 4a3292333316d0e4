"""The mark of loops: those that run now, and on the page of a conversation also its past ones."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.analysis.running_calls import SEARCHED, running, stuck, with_arguments
from tooltrace.server.request import app_state
from tooltrace.server.templates import render

SHOWN = 5
"""Maximum number of loops that are listed."""


async def loops(request: Request) -> Response:
    """Render the loops of ``?conversation=ID``; without it, those that run now. Empty where there are none."""
    conversation = request.query_params.get("conversation") or None
    params: dict[str, Any] = {"conversation": conversation}
    if conversation is None:  # to the minute, so that the cache can answer again
        now = datetime.now(UTC).replace(second=0, microsecond=0)
        params = {"since": (now - SEARCHED).replace(tzinfo=None).isoformat()}
    found = (await app_state(request).cache.query("loops", **params)).dicts()
    rows = running(found) if conversation is None else stuck(found)
    listed = await to_thread.run_sync(with_arguments, app_state(request).site.store, rows[:SHOWN])
    return render(request, "parts/loops.html", rows=listed, more=len(rows) - len(listed), conversation=conversation)


ROUTES = [Route("/loops", loops)]
