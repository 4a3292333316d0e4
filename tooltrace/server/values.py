"""One recorded value of a step: in the view that a reader chose, or as plain text to copy."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tooltrace.server.calls import attempt_of
from tooltrace.server.request import app_state
from tooltrace.server.templates import render
from tooltrace.server.value_view import view_value

ATTEMPT_PARTS = ("arguments", "result", "text", "seen_text", "error_message", "traceback")
SPAN_PARTS = ("attributes", "events", "links")


async def value(request: Request) -> Response:
    """Render one value of a step; without htmx, return it as plain text. Raises HTTPException if there is none."""
    address = request.query_params
    span_id, part = address.get("span", ""), address.get("part", "")
    if part in ATTEMPT_PARTS:
        row = await attempt_of(request, span_id)
    elif part in SPAN_PARTS:
        rows = (await app_state(request).cache.query("span", span_id=span_id)).dicts()
        row = rows[0] if rows else None
    else:
        raise HTTPException(404, f"part must be one of {', '.join((*ATTEMPT_PARTS, *SPAN_PARTS))}. Got {part[:40]!r}")
    if row is None or row[part] is None:
        raise HTTPException(404, f"no step with the span id {span_id!r} has a value {part}")
    if not request.headers.get("hx-request"):
        return PlainTextResponse(row[part], headers={"Cache-Control": "no-store"})
    shown = view_value(row[part], part, address.get("view"), whole=True)
    return render(request, "parts/value.html", shown=shown, span_id=span_id)


ROUTES = [Route("/value", value)]
