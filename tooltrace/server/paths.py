"""The page of what follows what: a graph of successive steps, and the table beside it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.report.path_graph import path_edges
from tooltrace.server.path_drawing import chosen_edges, draw
from tooltrace.server.request import app_state, time_range
from tooltrace.server.templates import render

EDGES = 18
"""Number of pairs in the graph."""
ROWS = 200


async def paths(request: Request) -> Response:
    """Render the page: the most frequent pairs as a graph, and all of them as a table."""
    given = {name: request.query_params.get(name) or None for name in ("tool", "agent")}
    params = {**time_range(request.query_params).params, **given, "limit": ROWS}
    result = await app_state(request).cache.query("paths", **params)
    return render(
        request,
        "pages/paths.html",
        params=params,
        chosen=given,
        rows=result.dicts(),
        drawing=draw(chosen_edges(path_edges(result), EDGES)),
    )


ROUTES = [Route("/paths", paths)]
