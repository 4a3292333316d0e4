"""The form that labels a whole conversation, and takes the label back."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tooltrace.server.label_forms import (
    MAX_BODY_BYTES,
    form_text,
    label_state,
    labeler_of,
    outcome_of,
    outcome_of_undo,
    store_label,
)
from tooltrace.server.request import app_state, read_form
from tooltrace.server.templates import id_path, render


async def outcome_data(request: Request, conversation_id: str) -> dict[str, Any]:
    """Return what the form shows: the labels of the conversation, and what they come to."""
    labels = (await app_state(request).cache.query("labels", conversation_id=conversation_id)).dicts()
    return {"conversation_id": conversation_id, "outcome_labels": labels, "outcome": label_state(labels, "")}


async def label(request: Request) -> Response:
    """Store the label of the form. Raises LabelError."""
    form = await read_form(request, MAX_BODY_BYTES)
    conversation_id = form_text(form, "conversation_id")
    await store_label(request, outcome_of(form, conversation_id=conversation_id))
    return await _shown(request, conversation_id)


async def undo(request: Request) -> Response:
    """Take back the latest label of a labeler: the one before counts again, else none. Raises LabelError."""
    form = await read_form(request, MAX_BODY_BYTES)
    conversation_id = form_text(form, "conversation_id")
    labels = (await outcome_data(request, conversation_id))["outcome_labels"]
    await store_label(request, outcome_of_undo(labels, labeler_of(form), conversation_id=conversation_id))
    return await _shown(request, conversation_id)


async def _shown(request: Request, conversation_id: str) -> Response:
    """Render the form, or lead to the page of the conversation where the browser runs no script."""
    if not request.headers.get("hx-request"):
        return RedirectResponse(id_path("conversation", conversation_id), 303)
    return render(request, "parts/outcome.html", **await outcome_data(request, conversation_id))


ROUTES = [
    Route("/label/conversation", label, methods=["POST"]),
    Route("/label/conversation/undo", undo, methods=["POST"]),
]
