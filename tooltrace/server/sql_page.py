"""The page for SQL that a visitor typed: executed in a separate process; the result is a table, a chart or a file."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any, TypeVar

from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tooltrace.analysis import catalogue, find
from tooltrace.analysis.saved_queries import saved_query
from tooltrace.errors import QueryError
from tooltrace.redact.plain_data import json_of
from tooltrace.server.panels import params_from_request
from tooltrace.server.request import app_state, read_form
from tooltrace.server.security import POLICY, policy
from tooltrace.server.templates import render
from tooltrace.store.sandbox import SandboxLimits

_T = TypeVar("_T")

KINDS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
FULL = "Tooltrace-Full"
"""Response header that marks a file as truncated at the row limit."""
DISCONNECT_CHECK_SECONDS = 0.25
"""Seconds between checks whether the client is still connected."""
MAX_STATEMENT_LENGTH = 200_000
"""Maximum characters of a statement."""


async def page(request: Request) -> Response:
    """Render the editor with the catalogue of queries."""
    state, name, saved = app_state(request), request.query_params.get("query"), request.query_params.get("saved")
    if saved:
        sql = (await to_thread.run_sync(saved_query, state.site.store, saved)).sql or ""
    else:
        sql = await query_text(request, name) if name else request.query_params.get("q", "")[:MAX_STATEMENT_LENGTH]
    state.sandbox.warm()
    nonce = secrets.token_urlsafe(16)
    shown: dict[str, Any] = {
        "catalogue": catalogue(),
        "sql": sql,
        "limits": state.site.limits,
        "nonce": nonce,
        "saved": saved,
    }
    response = render(request, "pages/sql.html", **shown)
    response.headers[POLICY] = policy(nonce)  # the editor makes a style element
    return response


async def text(request: Request) -> Response:
    """Return a query of the catalogue as executable text, with its parameter values."""
    return PlainTextResponse(
        await query_text(request, request.path_params["query"]), headers={"Cache-Control": "no-store"}
    )


async def run_sql(request: Request) -> Response:
    """Return the result of the form's SQL as JSON: columns and rows, or the error."""
    form = await read_form(request, MAX_STATEMENT_LENGTH * 4)
    try:
        result = await _until_disconnect(request, app_state(request).sandbox.query(form.get("q", "")))
    except QueryError as error:
        return _json({"error": str(error)}, 422)
    columns = list(zip(result.columns, result.types, strict=True))
    return _json({"columns": columns, "rows": result.rows, "cut": result.cut, "ms": result.ms})


async def file(request: Request) -> Response:
    """Return the result as a file."""
    form = await read_form(request, MAX_STATEMENT_LENGTH * 4)
    kind = form.get("form", "")
    if kind not in ("csv", "parquet"):
        raise HTTPException(400, f"the file format must be 'csv' or 'parquet'. Got {kind[:20]!r}")
    try:
        writing = app_state(request).sandbox.write(form.get("q", ""), kind, _file_limits(request))  # type: ignore[arg-type]  # one of the two
        written = await _until_disconnect(request, writing)
    except QueryError as error:
        return PlainTextResponse(f"{error}\n", 422)
    disposition = {"Content-Disposition": f'attachment; filename="answer.{kind}"', "Cache-Control": "no-store"}
    full = {FULL: "rows"} if written.full else {}
    return Response(written.data, media_type=KINDS[kind], headers={**disposition, **full})


async def query_text(request: Request, name: str) -> str:
    """Return the query ``name`` with the parameters in the address. Raises QueryError."""
    by, params = await params_from_request(request, name)
    return find(name).render_with_values(by, **params)


async def _until_disconnect(request: Request, work: Awaitable[_T]) -> _T:
    """Return the result of ``work``; cancel it when the client disconnects."""
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=DISCONNECT_CHECK_SECONDS))[0]:
            if await request.is_disconnected():
                raise HTTPException(499, "the client disconnected")
        return task.result()
    except asyncio.CancelledError:
        raise HTTPException(503, "the server is shutting down") from None
    finally:
        if not task.done():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


def _file_limits(request: Request) -> SandboxLimits:
    """Return the limits of files, which may be larger and take longer than a result in the browser."""
    limits = app_state(request).site.limits
    return replace(limits, rows=100 * limits.rows, seconds=3 * limits.seconds)


def _json(value: object, status: int = 200) -> Response:
    return Response(json_of(value), status, {"Cache-Control": "no-store"}, "application/json")


ROUTES = [
    Route("/sql", page),
    Route("/sql/text/{query}", text),
    Route("/sql/ask", run_sql, methods=["POST"]),
    Route("/sql/file", file, methods=["POST"]),
]
