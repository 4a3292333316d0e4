"""The forms that label a result as right or wrong, and take a label back."""

from __future__ import annotations

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tooltrace.core.records import Outcome
from tooltrace.errors import LabelError
from tooltrace.labels.label import HUMAN, make_outcome, make_retraction
from tooltrace.labels.writer import write_label
from tooltrace.recording.settings import Settings
from tooltrace.server.calls import call_data
from tooltrace.server.label_state import restored_by_undo
from tooltrace.server.queue import proposals, queue_of
from tooltrace.server.request import app_state, read_form
from tooltrace.server.templates import render, url

VERDICTS = {"correct": True, "wrong": False, "": None}
MAX_BODY_BYTES = 64 * 1024


async def label(request: Request) -> Response:
    """Store the label of a form and show the call's labels, or the next call of the queue. Raises LabelError."""
    form = await read_form(request, MAX_BODY_BYTES)
    outcome = _outcome(form, Settings(store=None))
    await _store(request, outcome)
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
    span_id, labeler = form_text(form, "undo"), form_text(form, "labeler") or HUMAN
    found = await call_data(request, span_id)
    try:
        before = restored_by_undo(found["labels"], span_id, labeler)
    except LookupError:
        raise LabelError(f"found no label by {labeler!r} to take back; nothing was recorded") from None
    settings = Settings(store=None)
    outcome = (
        make_retraction(labeler, span_id=span_id)
        if before is None
        else make_outcome(
            settings,
            span_id=span_id,
            correct=before["correct"],
            score=before["score"],
            labeler=labeler,
            reason=before["reason"],
        )
    )
    await _store(request, outcome)
    queue = form_text(form, "queue")
    return RedirectResponse(url("/call", id=span_id, queue=queue), 303) if queue else await _labels(request, span_id)


async def following(request: Request) -> Response:
    """Lead to the call that should be labelled next, of the same tool as the one on the page."""
    address = request.query_params
    rows = await proposals(request, tool=address.get("tool") or None, limit=2)
    span_id = next((row["span_id"] for row in rows if row["span_id"] != address.get("after")), None)
    return RedirectResponse(url("/call", id=span_id) if span_id else url("/label", tool=address.get("tool")), 303)


async def _store(request: Request, outcome: Outcome) -> None:
    state = app_state(request)
    await to_thread.run_sync(write_label, outcome, state.site.store)
    state.cache.invalidate()


async def _labels(request: Request, span_id: str) -> Response:
    """Render the labels of the call, or lead to its page where the browser runs no script."""
    if not request.headers.get("hx-request"):
        return RedirectResponse(url("/call", id=span_id), 303)
    response = render(request, "parts/labelled.html", queue=None, **await call_data(request, span_id))
    response.headers["HX-Trigger"] = "labelled"
    return response


def _outcome(form: dict[str, str], settings: Settings) -> Outcome:
    correct, score = verdict_of(form)
    try:
        return make_outcome(
            settings,
            span_id=form_text(form, "span_id"),
            correct=correct,
            score=score,
            labeler=form_text(form, "labeler") or HUMAN,
            reason=form_text(form, "reason") or None,
        )
    except LabelError as error:
        raise LabelError(f"{error}; nothing was recorded") from None


def verdict_of(form: dict[str, str]) -> tuple[bool | None, float | None]:
    """Return the verdict and the score of a form. Raises LabelError."""
    verdict = form_text(form, "verdict")
    if verdict not in VERDICTS:
        raise LabelError(f"the verdict must be 'correct', 'wrong' or empty. Got {verdict!r}; nothing was recorded")
    try:
        return VERDICTS[verdict], float(form_text(form, "score")) if form_text(form, "score") else None
    except ValueError:
        raise LabelError("the score must be a number from 0 to 1; nothing was recorded") from None


def form_text(form: dict[str, str], name: str) -> str:
    """Return a field of a form without blanks around it; empty where it is missing."""
    return form.get(name, "").strip()


ROUTES = [
    Route("/label", label, methods=["POST"]),
    Route("/label/undo", undo, methods=["POST"]),
    Route("/label/next", following, methods=["GET"]),
]
