"""The form that labels a result as right or wrong."""

from __future__ import annotations

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tooltrace.core.records import Outcome
from tooltrace.errors import LabelError
from tooltrace.labels.label import make_outcome
from tooltrace.labels.writer import write_label
from tooltrace.recording.settings import Settings
from tooltrace.server.pages import call_data
from tooltrace.server.request import app_state, read_form
from tooltrace.server.templates import render, url

VERDICTS = {"correct": True, "wrong": False, "": None}
MAX_BODY_BYTES = 64 * 1024


async def label(request: Request) -> Response:
    """Store the label of a form and render the call's labels. Raises LabelError."""
    state = app_state(request)
    form = await read_form(request, MAX_BODY_BYTES)
    outcome = _outcome(form, Settings(store=None))
    await to_thread.run_sync(write_label, outcome, state.site.store)
    state.cache.invalidate()
    span_id = outcome.span_id or ""
    if not request.headers.get("hx-request"):
        return RedirectResponse(url("/call", id=span_id), 303)
    response = render(request, "parts/labels.html", **await call_data(request, span_id))
    response.headers["HX-Trigger"] = "labelled"
    return response


def _outcome(form: dict[str, str], settings: Settings) -> Outcome:
    verdict = form_text(form, "verdict")
    if verdict not in VERDICTS:
        raise LabelError(f"the verdict must be 'correct', 'wrong' or empty. Got {verdict!r}; nothing was recorded")
    try:
        score = float(form_text(form, "score")) if form_text(form, "score") else None
    except ValueError:
        raise LabelError("the score must be a number from 0 to 1; nothing was recorded") from None
    try:
        return make_outcome(
            settings,
            span_id=form_text(form, "span_id"),
            correct=VERDICTS[verdict],
            score=score,
            labeler=form_text(form, "labeler") or "human",
            reason=form_text(form, "reason") or None,
        )
    except LabelError as error:
        raise LabelError(f"{error}; nothing was recorded") from None


def form_text(form: dict[str, str], name: str) -> str:
    """Return a field of a form without blanks around it; empty where it is missing."""
    return form.get(name, "").strip()


ROUTES = [Route("/label", label, methods=["POST"])]
