"""The page of one tool: the panels that have data; what was not recorded yet is one panel."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.server.request import app_state, time_range
from tooltrace.server.templates import render

DOCUMENTATION = "https://github.com/tooltrace-recorder/tooltrace-recorder/blob/main/docs"
HOW_TO_RECORD = {
    "confidence": "how-to/describe-calls.md#return-a-toolresponse",
    "labelled": "how-to/labels.md#add-labels",
    "retries": "how-to/retries.md",
    "sourced": "how-to/describe-calls.md#return-a-toolresponse",
    "advised": "how-to/describe-calls.md#return-a-toolresponse",
    "approvals": "how-to/tools.md#calls-that-wait-for-a-person",
    "versioned": "how-to/describe-calls.md#what-is-recorded",
}
"""For each column of the query ``recorded`` that the panels need: the page of the documentation that says how to record it."""


async def tool(request: Request) -> Response:
    """Render the page of one tool."""
    name = request.query_params.get("name", "")
    if not name:
        raise HTTPException(404, "the address names no tool: open /tool?name=NAME")
    window = time_range(request.query_params)
    app_state(request).cache.prefetch("overview", **window.params, before=window.before, tool=name)
    return render(request, "pages/tool.html", tool=name)


async def more(request: Request) -> Response:
    """Render the panels below the first screen."""
    name = request.query_params.get("name", "")
    params = {**time_range(request.query_params).params, "tool": name}
    rows = (await app_state(request).cache.query("recorded", **params)).dicts()
    has = {column for row in rows for column, value in row.items() if value}
    missing = {column: f"{DOCUMENTATION}/{page}" for column, page in HOW_TO_RECORD.items() if column not in has}
    return render(request, "parts/tool_more.html", tool=name, has=has, missing=missing if rows else {})


ROUTES = [Route("/tool", tool), Route("/tool/more", more)]
