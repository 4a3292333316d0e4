"""Responses for errors."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from tooltrace.errors import (
    BadParameter,
    LabelError,
    StoreBusy,
    StoreLocked,
    StoreMissing,
    TooltraceError,
    UnknownQuery,
    UnsupportedByStore,
)
from tooltrace.server.request import app_state
from tooltrace.server.security import HEADERS
from tooltrace.server.templates import render

_FORMS = {"/label": "#labels .form-error", "/label/undo": "#label-bar .form-error"}
"""Place for the error of each form."""


async def handle_known_error(request: Request, error: Exception) -> Response:
    """Return one of our errors as a response: a page, a part of a page, or JSON, as requested.

    A coroutine, not a plain function: Starlette runs the latter in threads, which are missing at shutdown.
    """
    status = error.status_code if isinstance(error, HTTPException) else _status(error)
    text = str(error.detail) if isinstance(error, HTTPException) else str(error)
    if request.url.path.startswith("/data/"):
        return JSONResponse({"error": text}, status, getattr(error, "headers", None))
    template = "parts/error.html" if request.headers.get("hx-request") else "pages/error.html"
    missing = isinstance(error, StoreMissing)
    at = app_state(request).site.store
    response = render(request, template, status, text=text, missing=missing, at=at, kind=_kind(error, status))
    response.headers.update(getattr(error, "headers", None) or {})
    if request.url.path in _FORMS:  # the form stays with its input, and shows the error
        response.headers.update({"HX-Retarget": _FORMS[request.url.path], "HX-Reswap": "innerHTML"})
    return response


def _kind(error: Exception, status: int) -> str:
    """Return the kind of the error, for a translated explanation."""
    kinds = {
        BadParameter: "parameter",
        LabelError: "label",
        UnknownQuery: "query",
        StoreLocked: "locked",
        StoreBusy: "locked",
    }
    named = next((name for kind, name in kinds.items() if isinstance(error, kind)), "other")
    return "nothing" if named == "other" and status == 404 else named


def _status(error: Exception) -> int:
    if isinstance(error, UnknownQuery):
        return 404
    if isinstance(error, BadParameter | LabelError):
        return 400
    if isinstance(error, StoreMissing):
        return 200  # a store without recordings is not an error
    if isinstance(error, UnsupportedByStore):
        return 501
    return 503 if isinstance(error, StoreLocked | StoreBusy) else 500


async def handle_crash(_request: Request, _error: Exception) -> Response:
    """Return a response for an unexpected error; the log has the details. The security headers apply here too."""
    return PlainTextResponse("500: internal error of tooltrace; see the output of tooltrace serve\n", 500, HEADERS)


HANDLED = (TooltraceError, HTTPException)
"""Errors shown to visitors; any other error is a bug, whose details are only logged."""
