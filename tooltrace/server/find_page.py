"""The search page: attempts that contain a text, with the text around each match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.errors import BadParameter
from tooltrace.server.request import app_state, missing_data, time_range
from tooltrace.server.templates import render

PAGE: Final = 50
FIELDS: Final = ("arguments", "error", "result", "seen")
"""Parts of an attempt that a search may be limited to; ``seen`` is the text that the model received."""
MOST_BEFORE: Final = 60
MOST_AFTER: Final = 140
"""Maximum characters around a match in the result of the query find; a longer text was cut."""


@dataclass(frozen=True, slots=True)
class Search:
    """The search in an address: the text ``q`` and its limits."""

    text: str = ""
    field: str | None = None
    words: bool = False
    tool: str | None = None

    @classmethod
    def read(cls, address: QueryParams) -> Self:
        """Return the search in ``address``. Raises BadParameter."""
        field, words = address.get("field") or None, address.get("words") or None
        if field not in (*FIELDS, None):
            raise BadParameter(f"parameter 'field' must be one of {', '.join(FIELDS)}; got {field[:80]!r}")
        if words not in ("yes", None):
            raise BadParameter(f"parameter 'words' must be yes or absent; got {words[:80]!r}")
        return cls(address.get("q", "").strip(), field, words is not None, address.get("tool", "").strip() or None)

    @property
    def limits(self) -> dict[str, str | None]:
        """The limits of the search, as parameters of an address and of the query find."""
        return {"field": self.field, "words": "yes" if self.words else None, "tool": self.tool}

    @property
    def address(self) -> dict[str, str | None]:
        """The search as parameters of an address."""
        return {"q": self.text, **self.limits}

    @property
    def params(self) -> dict[str, str | None]:
        """The search as parameters of the query find."""
        return {"text": self.text, **self.limits}


async def find(request: Request) -> Response:
    """Render the page: the search box, and its hits if it has a text."""
    search = Search.read(request.query_params)
    if search.text:
        app_state(request).cache.prefetch("find", **_params(request, search))
    return render(request, "pages/find.html", search=search, fields=FIELDS)


async def hits(request: Request) -> Response:
    """Render the hits, or those after the row ``before`` and ``before_span``."""
    search, address = Search.read(request.query_params), request.query_params
    if not search.text:
        raise BadParameter("parameter 'q' is missing: it is the text to find")
    place: dict[str, Any] = {name: address.get(name) or None for name in ("before", "before_span")}
    found = (await app_state(request).cache.query("find", **_params(request, search), **place)).dicts()
    is_first = place["before"] is None
    return render(
        request,
        "parts/hits.html",
        search=search,
        rows=found,
        is_first=is_first,
        full=len(found) == PAGE,
        most_before=MOST_BEFORE,
        most_after=MOST_AFTER,
        missing=None if found or not is_first else await missing_data(request),
    )


def _params(request: Request, search: Search) -> dict[str, Any]:
    return {**time_range(request.query_params).params, **search.params, "limit": PAGE}


ROUTES = [Route("/find", find), Route("/find/hits", hits)]
