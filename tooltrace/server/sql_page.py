"""The page for a visitor's own SQL: executed in a separate process; the result is a table, a chart or a file."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from dataclasses import replace
from typing import TypeVar

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tooltrace.analysis import catalogue, find
from tooltrace.errors import QueryError
from tooltrace.server.forms import read_form
from tooltrace.server.panels import params_from_request
from tooltrace.server.templates import app_state, render
from tooltrace.store.sandbox import SandboxLimits

_T = TypeVar("_T")

KINDS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
FULL = "Tooltrace-Full"
"""Response header that marks a file as truncated at the row limit."""
LOOK_SECONDS = 0.25
"""Seconds between checks whether the client is still connected."""
LONGEST = 200_000


async def page(request: Request) -> Response:
    """Render the editor with the catalogue of queries."""
    named = request.query_params.get("query")
    sql = spelled(request, named) if named else request.query_params.get("q", "")[:LONGEST]
    app_state(request).sandbox.warm()
    return render(request, "pages/sql.html", catalogue=catalogue(), sql=sql, limits=app_state(request).site.limits)


async def text(request: Request) -> Response:
    """Return a query of the catalogue as executable text, with its parameter values."""
    return PlainTextResponse(spelled(request, request.path_params["query"]), headers={"Cache-Control": "no-store"})


async def ask(request: Request) -> Response:
    """Return the result of the form's SQL as JSON: columns and rows, or the error."""
    form = await read_form(request, LONGEST * 4)
    try:
        found = await _while_wanted(request, app_state(request).sandbox.ask(form.get("q", "")))
    except QueryError as error:
        return _json({"error": str(error)}, 422)
    columns = [(column, str(kind)) for column, kind in zip(found.columns, found.types, strict=True)]
    return _json({"columns": columns, "rows": found.rows, "cut": found.cut, "ms": found.ms})


async def file(request: Request) -> Response:
    """Return the result as a file."""
    form = await read_form(request, LONGEST * 4)
    kind = form.get("form", "")
    if kind not in ("csv", "parquet"):
        raise HTTPException(400, f"a file is csv or parquet, not {kind[:20]!r}")
    try:
        writing = app_state(request).sandbox.write(form.get("q", ""), kind, _for_files(request))  # type: ignore[arg-type]  # one of the two
        made = await _while_wanted(request, writing)
    except QueryError as error:
        return PlainTextResponse(f"{error}\n", 422)
    disposition = {"Content-Disposition": f'attachment; filename="answer.{kind}"', "Cache-Control": "no-store"}
    full = {FULL: "rows"} if made.full else {}
    return Response(made.data, media_type=KINDS[kind], headers={**disposition, **full})


def spelled(request: Request, name: str) -> str:
    """Return the query ``name`` with the parameters in the address. Raises QueryError."""
    by, given = params_from_request(request, name)
    return find(name).render_with_values(by, **given)


async def _while_wanted(request: Request, question: Awaitable[_T]) -> _T:
    """Return the result of ``question``; cancel it when the client disconnects."""
    asking = asyncio.ensure_future(question)
    try:
        while not (await asyncio.wait({asking}, timeout=LOOK_SECONDS))[0]:
            if await request.is_disconnected():
                raise HTTPException(499, "nobody waits for the answer any more")
        return asking.result()
    except asyncio.CancelledError:
        raise HTTPException(503, "the server was told to end") from None
    finally:
        if not asking.done():
            asking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asking


def _for_files(request: Request) -> SandboxLimits:
    """Return the limits of files, which may be larger and take longer than a result in the browser."""
    limits = app_state(request).site.limits
    return replace(limits, rows=100 * limits.rows, seconds=3 * limits.seconds)


def _json(value: object, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, {"Cache-Control": "no-store"}, "application/json")


ROUTES = [
    Route("/sql", page),
    Route("/sql/text/{query}", text),
    Route("/sql/ask", ask, methods=["POST"]),
    Route("/sql/file", file, methods=["POST"]),
]
