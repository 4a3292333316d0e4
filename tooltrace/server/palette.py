"""The palette: one search over pages, tools, calls by id, queries and settings; any text also leads to the search page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.analysis import catalogue
from tooltrace.analysis.saved_queries import saved_queries
from tooltrace.errors import TooltraceError
from tooltrace.server.request import RANGES, app_state, language_of, time_range
from tooltrace.server.templates import render, url
from tooltrace.wording.i18n import LANGUAGES, Translations

MOST: Final = 8
"""Maximum number of entries of one kind."""
UNLISTED: Final = (("/compare", "compare.title"), ("/diff", "diff.title"), ("/glossary", "glossary.title"))
"""Pages that the navigation bar does not list: other pages link them."""
SHORTEST_ID: Final = 4
"""Minimum number of characters of a search that is looked up as the beginning of an id."""


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """One entry: its kind, its name, a remark, and the page that it opens; a setting has an action instead."""

    kind: str
    name: str
    remark: str = ""
    to: str = ""
    action: str = ""


async def palette(request: Request) -> Response:
    """Render the entries that match the search."""
    text = request.query_params.get("find", "").strip()
    words = Translations(language_of(request))
    window = {name: request.query_params[name] for name in ("since", "until") if request.query_params.get(name)}
    entries = [*_pages(request, words, window), *await _tools(request, window), *await _queries(request, words, window)]
    entries += _settings(request, words, window)
    found = sorted((entry for entry in entries if _matches(entry, text)), key=lambda entry: _rank(entry, text))
    calls = await _calls(request, text, window) if len(text) >= SHORTEST_ID and not any(map(str.isspace, text)) else []
    shown = [entry for kind in ("page", "tool", "query", "setting") for entry in _of(kind, found)]
    if text:
        shown.append(PaletteEntry("find", words("palette.find", text=text), "", url("/find", q=text, **window)))
    return render(request, "parts/palette.html", entries=[*calls[:MOST], *shown])


def _of(kind: str, entries: list[PaletteEntry]) -> list[PaletteEntry]:
    return [entry for entry in entries if entry.kind == kind][:MOST]


def _matches(entry: PaletteEntry, text: str) -> bool:
    """Whether every word of ``text`` occurs in the entry."""
    content = f"{entry.name} {entry.remark}".casefold()
    return all(word in content for word in text.casefold().split())


def _rank(entry: PaletteEntry, text: str) -> int:
    """Return 0 where the name begins with ``text``, 1 where it contains it, else 2."""
    name = entry.name.casefold()
    return 0 if name.startswith(text.casefold()) else 1 if text.casefold() in name else 2


def _pages(request: Request, words: Translations, window: dict[str, str]) -> Iterator[PaletteEntry]:
    for to, key in [*app_state(request).links, *UNLISTED]:
        yield PaletteEntry("page", words(key), "", url(to, **window))


async def _tools(request: Request, window: dict[str, str]) -> list[PaletteEntry]:
    """Return the tools of the time range; none where the store cannot be read, so that the rest remains usable."""
    try:
        result = await app_state(request).cache.query(
            "timeline", ("tool",), parts=1, **time_range(request.query_params).params
        )
    except TooltraceError:
        return []
    names = sorted({row[0] for row in result.rows if isinstance(row[0], str)})
    return [PaletteEntry("tool", name, "", url("/tool", name=name, **window)) for name in names]


async def _queries(request: Request, words: Translations, window: dict[str, str]) -> list[PaletteEntry]:
    try:
        saved = await to_thread.run_sync(saved_queries, app_state(request).site.store)
    except TooltraceError:
        saved = {}
    own = [
        PaletteEntry("query", name, query.saved_by, url("/sql", saved=name, **window)) for name, query in saved.items()
    ]
    known = catalogue().items()
    return own + [
        PaletteEntry("query", name, words.question(name, query.question), url("/sql", query=name, **window))
        for name, query in known
    ]


async def _calls(request: Request, text: str, window: dict[str, str]) -> list[PaletteEntry]:
    """Return the calls whose id, or the id of an attempt, begins with ``text``."""
    try:
        result = await app_state(request).cache.query("call", id=text)
    except TooltraceError:
        return []
    last = {row["place"]: row for row in result.dicts()}
    return [
        PaletteEntry(
            "call",
            row["call_id"],
            f"{row['tool']} · {row['status'] or row['ending']}",
            url("/call", id=row["span_id"], **window),
        )
        for row in last.values()
    ]


def _settings(request: Request, words: Translations, window: dict[str, str]) -> Iterator[PaletteEntry]:
    yield PaletteEntry("setting", words("theme.switch"), "", action="theme")
    yield PaletteEntry("setting", words("zone.switch"), "", action="zone")
    page = request.query_params.get("page", "/")
    for code, name in LANGUAGES.items():
        if code != words.language:
            yield PaletteEntry("setting", f"{words('nav.language')}: {name}", "", action=f"lang={code}")
    for span in RANGES:
        if window.get("since") != span and page != "/call":
            yield PaletteEntry(
                "setting", f"{words('window.label')}: {words(f'window.{span}')}", "", action=f"since={span}"
            )


ROUTES = [Route("/palette", palette)]
