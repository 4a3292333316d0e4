"""The parts beside the SQL editor: the saved queries of the store, and the tables with their columns."""

from __future__ import annotations

from functools import partial
from typing import Final

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tooltrace.analysis.saved_queries import delete_query, save_query, saved_queries
from tooltrace.errors import StoreMissing, UnsupportedByStore
from tooltrace.server.label_forms import form_text
from tooltrace.server.request import app_state, read_form
from tooltrace.server.templates import render, url
from tooltrace.store.database.documented_tables import documented_tables

MAX_BODY_BYTES: Final = 1024 * 1024


async def saved(request: Request) -> Response:
    """Render the list of saved queries."""
    note = ""
    try:
        found = await to_thread.run_sync(saved_queries, app_state(request).site.store)
    except StoreMissing:
        found = {}
    except UnsupportedByStore as error:
        found, note = {}, str(error)
    return render(request, "parts/saved.html", queries=found.values(), note=note)


async def save(request: Request) -> Response:
    """Save the SQL of a form under its name. Raises BadParameter, UnsupportedByStore."""
    form = await read_form(request, MAX_BODY_BYTES)
    author = form_text(form, "saved_by") or None
    write = partial(
        save_query, app_state(request).site.store, form_text(form, "name"), form_text(form, "q"), saved_by=author
    )
    query = await to_thread.run_sync(write)
    return await _changed(request, url("/sql", saved=query.name))


async def delete(request: Request) -> Response:
    """Delete the saved query that a form names. Raises UnknownQuery, UnsupportedByStore."""
    form = await read_form(request, MAX_BODY_BYTES)
    await to_thread.run_sync(partial(delete_query, app_state(request).site.store, form_text(form, "name")))
    return await _changed(request, "/sql")


async def _changed(request: Request, page: str) -> Response:
    app_state(request).cache.invalidate()
    return await saved(request) if request.headers.get("hx-request") else RedirectResponse(page, 303)


async def schema(_request: Request) -> Response:
    """Return the tables with the name, the type and the meaning of each column, for completion."""
    tables = await to_thread.run_sync(documented_tables)
    found = [{"name": table.name, "meaning": table.comment, "columns": table.columns} for table in tables]
    return JSONResponse(found, headers={"Cache-Control": "no-store"})


async def tables(request: Request) -> Response:
    """Render the tables with their columns."""
    return render(request, "parts/schema.html", tables=await to_thread.run_sync(documented_tables))


ROUTES = [
    Route("/sql/saved", saved),
    Route("/sql/save", save, methods=["POST"]),
    Route("/sql/delete", delete, methods=["POST"]),
    Route("/sql/schema", schema),
    Route("/sql/tables", tables),
]
