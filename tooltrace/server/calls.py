"""The page of one call: what went wrong, what went in and out, its labels, and its attempts."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.server.label_forms import label_state
from tooltrace.server.queue import queue_of
from tooltrace.server.request import app_state
from tooltrace.server.templates import render
from tooltrace.server.waterfall import bars


async def call(request: Request) -> Response:
    """Render the page of one call: its attempts, labels and gates."""
    found, queue = await asyncio.gather(
        call_data(request, request.query_params.get("id", "")), queue_of(request, request.query_params)
    )
    return render(request, "pages/call.html", queue=queue, **found)


async def call_data(request: Request, call_id: str) -> dict[str, Any]:
    """Return all data about a call, by its id or a span id. Raises HTTPException if there is none."""
    cache = app_state(request).cache
    result = await cache.query("call", id=call_id) if call_id else None
    found = result.dicts() if result else []
    if result is None or not found:
        raise HTTPException(
            404,
            f"no call or span has an id that begins with {call_id!r}"
            if call_id
            else "the address names no call: open /call?id=ID",
        )
    place = _place(request, found)
    attempts = [row for row in found if row["place"] == place]
    queries = [cache.query(name, call_id=attempts[0]["call_id"]) for name in ("labels", "call_gates")]
    labels, gates = (result.dicts() for result in await asyncio.gather(*queries))
    spans = {row["span_id"] for row in attempts}
    target = ([row for row in attempts if row["status"] is not None] or attempts)[-1]
    labels = [row for row in labels if row["span_id"] is None or row["span_id"] in spans]
    return {
        "requested_id": call_id,
        "others": [row for row in found if row["place"] != place and row["attempt"] == 1],
        "attempts": attempts,
        "note": result.note,
        "target": target,
        "bars": bars(attempts),
        "labels": labels,
        "label_state": label_state(labels, target["span_id"]),
        "gates": [row for row in gates if row["span_id"] in spans],
    }


async def attempt_of(request: Request, span_id: str) -> dict[str, Any] | None:
    """Return the row of one attempt in the query ``call``; None if there is none."""
    rows = (await app_state(request).cache.query("call", id=span_id)).dicts() if span_id else []
    return next((row for row in rows if row["span_id"] == span_id), None)


def _place(request: Request, found: list[dict[str, Any]]) -> int:
    """Return the place of the call that the address selects, else of the newest call that matches the id."""
    places = {row["place"] for row in found}
    chosen = safe_place(request.query_params.get("place"))
    return chosen if chosen in places else min(places)


def safe_place(text: str | None) -> int:
    """Return the number that ``text`` states, 0 if it states none or an unreasonable one."""
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 8 else 0


ROUTES = [Route("/call", call)]
