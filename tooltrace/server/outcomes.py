"""The form that labels a whole conversation, and takes the label back."""

from __future__ import annotations

from typing import Any

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tooltrace.core.records import Outcome
from tooltrace.errors import LabelError
from tooltrace.labels.label import HUMAN, make_outcome, make_retraction
from tooltrace.labels.writer import write_label
from tooltrace.recording.settings import Settings
from tooltrace.server.label_state import label_state, restored_by_undo
from tooltrace.server.labels import MAX_BODY_BYTES, form_text, verdict_of
from tooltrace.server.request import app_state, read_form
from tooltrace.server.templates import id_path, render


async def outcome_data(request: Request, conversation_id: str) -> dict[str, Any]:
    """Return what the form shows: the labels of the conversation, and what they come to."""
    labels = (await app_state(request).cache.query("labels", conversation_id=conversation_id)).dicts()
    return {"conversation_id": conversation_id, "outcome_labels": labels, "outcome": label_state(labels, "")}


async def label(request: Request) -> Response:
    """Store the label of the form. Raises LabelError."""
    form = await read_form(request, MAX_BODY_BYTES)
    correct, score = verdict_of(form)
    try:
        outcome = make_outcome(
            Settings(store=None),
            conversation_id=form_text(form, "conversation_id"),
            correct=correct,
            score=score,
            labeler=form_text(form, "labeler") or HUMAN,
            reason=form_text(form, "reason") or None,
        )
    except LabelError as error:
        raise LabelError(f"{error}; nothing was recorded") from None
    return await _stored(request, outcome, form_text(form, "conversation_id"))


async def undo(request: Request) -> Response:
    """Take back the latest label of a labeler: the one before counts again, else none. Raises LabelError."""
    form = await read_form(request, MAX_BODY_BYTES)
    conversation_id, labeler = form_text(form, "conversation_id"), form_text(form, "labeler") or HUMAN
    labels = (await outcome_data(request, conversation_id))["outcome_labels"]
    try:
        before = restored_by_undo(labels, None, labeler)
    except LookupError:
        raise LabelError(f"there is no label by {labeler!r} to take back; nothing was recorded") from None
    outcome = (
        make_retraction(labeler, conversation_id=conversation_id)
        if before is None
        else make_outcome(
            Settings(store=None),
            conversation_id=conversation_id,
            correct=before["correct"],
            score=before["score"],
            labeler=labeler,
            reason=before["reason"],
        )
    )
    return await _stored(request, outcome, conversation_id)


async def _stored(request: Request, outcome: Outcome, conversation_id: str) -> Response:
    state = app_state(request)
    await to_thread.run_sync(write_label, outcome, state.site.store)
    state.cache.invalidate()
    if not request.headers.get("hx-request"):
        return RedirectResponse(id_path("conversation", conversation_id), 303)
    return render(request, "parts/outcome.html", **await outcome_data(request, conversation_id))


ROUTES = [
    Route("/label/conversation", label, methods=["POST"]),
    Route("/label/conversation/undo", undo, methods=["POST"]),
]
