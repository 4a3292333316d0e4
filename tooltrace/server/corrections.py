"""The form that corrects how a result was read."""

from __future__ import annotations

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tooltrace.errors import LabelError
from tooltrace.labels.correction import make_correction
from tooltrace.recording.settings import Settings
from tooltrace.server.label_forms import MAX_BODY_BYTES, form_text
from tooltrace.server.request import app_state, read_form
from tooltrace.server.templates import url


async def correct(request: Request) -> Response:
    """Store the correction of a form and show the call again. Raises LabelError, StoreError."""
    state = app_state(request)
    form = await read_form(request, MAX_BODY_BYTES)
    try:
        correction = make_correction(
            Settings(store=None),
            span_id=form_text(form, "span_id"),
            status=form_text(form, "status"),
            code=form_text(form, "code") or None,
            labeler=form_text(form, "labeler") or None,
            reason=form_text(form, "reason") or None,
        )
    except LabelError as error:
        raise LabelError(f"{error}; nothing was recorded") from None
    await to_thread.run_sync(state.site.store.write, [correction])
    state.cache.invalidate()
    return RedirectResponse(url("/call", id=correction.span_id), 303)


ROUTES = [Route("/correct", correct, methods=["POST"])]
