"""The mark of loops: those that run now, and on the page of a conversation also its past ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.server.request import app_state
from tooltrace.server.templates import render

PAST = timedelta(hours=1)
"""Age of the calls that are searched for running loops."""
SHOWN = 5
"""Maximum number of loops that are listed."""


async def loops(request: Request) -> Response:
    """Render the loops of ``?conversation=ID``; without it, those that run now. Empty where there are none."""
    conversation = request.query_params.get("conversation") or None
    params: dict[str, Any] = {"conversation": conversation}
    if conversation is None:  # to the minute, so that the cache can answer again
        now = datetime.now(UTC).replace(second=0, microsecond=0)
        params = {"since": (now - PAST).replace(tzinfo=None).isoformat()}
    rows = [row for row in (await app_state(request).cache.query("loops", **params)).dicts() if row["kind"] != "poll"]
    if conversation is None:
        rows = [row for row in rows if row["running"]]
    return render(
        request, "parts/loops.html", rows=rows[:SHOWN], more=max(0, len(rows) - SHOWN), conversation=conversation
    )


ROUTES = [Route("/loops", loops)]
