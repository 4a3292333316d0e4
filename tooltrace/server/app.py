"""The web application: its pages, static files and middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute
from starlette.types import ExceptionHandler

from tooltrace.server import (
    attempts,
    calls,
    compare_page,
    conversation_list,
    corrections,
    diff_page,
    find_page,
    findings,
    folding,
    labels,
    list_export,
    loops,
    metrics,
    outcomes,
    pages,
    palette,
    panels,
    paths,
    queue,
    running,
    sql_library,
    sql_page,
    static_files,
    tool_page,
    traces,
    values,
)
from tooltrace.server.diagnosis import Diagnosis
from tooltrace.server.disconnect import CancelOnDisconnect
from tooltrace.server.error_pages import HANDLED, handle_crash, handle_known_error
from tooltrace.server.health import HealthCheck
from tooltrace.server.mcp_mount import McpMount
from tooltrace.server.prefix import PathPrefix
from tooltrace.server.query_cache import QueryCache
from tooltrace.server.request import AppState
from tooltrace.server.security import SecurityMiddleware
from tooltrace.server.site import Site

LINKS = [
    ("/", "nav.overview"),
    ("/calls", "nav.calls"),
    ("/conversations", "nav.conversations"),
    ("/find", "nav.find"),
    ("/paths", "paths.title"),
    ("/label", "nav.label.queue"),
    ("/sql", "nav.sql"),
]


@asynccontextmanager
async def _lifespan(state: AppState, mcp: McpMount, _app: Starlette) -> AsyncIterator[None]:
    yield
    await mcp.close()
    await state.close()


def application(site: Site, more: Sequence[BaseRoute] = (), links: Sequence[tuple[str, str]] = ()) -> Starlette:
    """Return the application that serves ``site``.

    ``more``: additional routes; ``links``: additional navigation links.
    """
    routes = [
        *pages.ROUTES,
        *findings.ROUTES,
        *tool_page.ROUTES,
        *compare_page.ROUTES,
        *diff_page.ROUTES,
        *attempts.ROUTES,
        *list_export.ROUTES,
        *conversation_list.ROUTES,
        *find_page.ROUTES,
        *calls.ROUTES,
        *values.ROUTES,
        *traces.ROUTES,
        *loops.ROUTES,
        *running.ROUTES,
        *queue.ROUTES,
        *labels.ROUTES,
        *outcomes.ROUTES,
        *paths.ROUTES,
        *corrections.ROUTES,
        *panels.ROUTES,
        *metrics.ROUTES,
        *palette.ROUTES,
        *sql_page.ROUTES,
        *sql_library.ROUTES,
        *folding.ROUTES,
    ]
    handlers: dict[int | type[Exception], ExceptionHandler] = {
        **dict.fromkeys(HANDLED, handle_known_error),
        # Starlette calls this one outside all middleware, so that it sets the security headers itself.
        Exception: handle_crash,
    }
    cache = QueryCache(site.store)
    state = AppState(site, cache, Diagnosis(cache), HealthCheck(site.store), [*LINKS, *links])
    mcp = McpMount(site.store)
    app = Starlette(
        lifespan=partial(_lifespan, state, mcp),
        routes=[*routes, mcp.route, *more, *static_files.mounts()],
        exception_handlers=handlers,
        middleware=[
            # Outermost first: the path must be that of a route before it is checked, and a cancelled request ends all
            # that is inside.
            Middleware(PathPrefix, prefix=site.prefix),
            Middleware(CancelOnDisconnect),
            Middleware(SecurityMiddleware, site=site),
            Middleware(GZipMiddleware, minimum_size=1024),
        ],
    )
    app.router.redirect_slashes = False  # most clients do not repeat a POST after a redirect
    app.state.tooltrace = state
    return app
