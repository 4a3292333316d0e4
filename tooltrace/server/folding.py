"""The progress of folding, as a part of each page that disappears when it is complete."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.server.request import app_state
from tooltrace.server.templates import render
from tooltrace.store.journal.fold_marker import unfolded_bytes

SHOWN_BYTES = 8 * 1024 * 1024
"""Unfolded journal bytes below which nothing is shown."""


async def folding(request: Request) -> Response:
    """Render the progress in percent of the journal bytes that were unfolded at most since it was last complete."""
    state = app_state(request)
    files = state.site.store.files
    pending = 0 if files is None else unfolded_bytes(files)
    if pending <= SHOWN_BYTES:
        pending = state.most_unfolded = 0
    state.most_unfolded = max(state.most_unfolded, pending)
    percent = 100 * (state.most_unfolded - pending) // state.most_unfolded if pending else 100
    return render(request, "parts/folding.html", pending=pending, percent=percent)


ROUTES = [Route("/folding", folding)]
