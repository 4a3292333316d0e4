"""The forms that label a result as right or wrong, and take a label back."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tooltrace.server.calls import call_data
from tooltrace.server.label_forms import (
    MAX_BODY_BYTES,
    form_text,
    labeler_of,
    outcome_of,
    outcome_of_undo,
    store_label,
)
from tooltrace.server.queue import proposals, queue_of
from tooltrace.server.request import read_form
from tooltrace.server.templates import render, url


async def label(request: Request) -> Response:
    """Store the label of a form and show the call's labels, or the next call of the queue. Raises LabelError."""
    form = await read_form(request, MAX_BODY_BYTES)
    outcome = outcome_of(form, span_id=form_text(form, "span_id"))
    await store_label(request, outcome)
    span_id = outcome.span_id or ""
    if not form_text(form, "queue"):
        return await _labels(request, span_id)
    queue = await queue_of(request, form, span_id)
    if queue is None or queue.following is None:
        return RedirectResponse(url("/label", queue=queue and queue.address, last=span_id), 303)
    return RedirectResponse(url("/call", id=queue.following, queue=queue.address, last=span_id), 303)


async def undo(request: Request) -> Response:
    """Take back the latest label of a labeler: the one before counts again, else none. Raises LabelError."""
    form = await read_form(request, MAX_BODY_BYTES)
    span_id = form_text(form, "undo")
    labels = (await call_data(request, span_id))["labels"]
    await store_label(request, outcome_of_undo(labels, labeler_of(form), span_id=span_id))
    queue = form_text(form, "queue")
    return RedirectResponse(url("/call", id=span_id, queue=queue), 303) if queue else await _labels(request, span_id)


async def following(request: Request) -> Response:
    """Lead to the call that should be labelled next, of the same tool as the one on the page."""
    address = request.query_params
    rows = await proposals(request, tool=address.get("tool") or None, limit=2)
    span_id = next((row["span_id"] for row in rows if row["span_id"] != address.get("after")), None)
    return RedirectResponse(url("/call", id=span_id) if span_id else url("/label", tool=address.get("tool")), 303)


async def _labels(request: Request, span_id: str) -> Response:
    """Render the labels of the call, or lead to its page where the browser runs no script."""
    if not request.headers.get("hx-request"):
        return RedirectResponse(url("/call", id=span_id), 303)
    response = render(request, "parts/labelled.html", queue=None, **await call_data(request, span_id))
    response.headers["HX-Trigger"] = "labelled"
    return response


ROUTES = [
    Route("/label", label, methods=["POST"]),
    Route("/label/undo", undo, methods=["POST"]),
    Route("/label/next", following, methods=["GET"]),
]
