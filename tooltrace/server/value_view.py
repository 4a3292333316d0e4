"""Views of a recorded value: as a tree, as JSON, as Markdown or as plain text; a long one in part until it is requested."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
from markdown_it import MarkdownIt
from markupsafe import Markup

VIEWS: Final = ("tree", "json", "markdown", "text")
FRONT: Final = 6_000
"""Characters of a long value that a page has before a reader requests all."""
MAX_CHARS: Final = 400_000
"""Characters of a value that are shown at all; the copy and the file have all of it."""
MAX_MARKDOWN: Final = 100_000
"""Characters of Markdown that are rendered."""


@dataclass(frozen=True, slots=True)
class ValueView:
    """One value in one view."""

    part: str
    """Column of the value, such as ``arguments``."""
    view: str
    views: tuple[str, ...]
    """Views that the value has."""
    size: int
    """Characters of the whole value."""
    content: Any
    """Data for the tree, HTML of Markdown, otherwise text."""
    cut: bool
    """Whether only the front is shown."""


def view_value(text: str, part: str, view: str | None = None, *, whole: bool = False) -> ValueView:
    """Return ``text`` in ``view``; default: the tree of JSON, otherwise plain text. ``whole``: not only the front."""
    data = _structure(text)
    views = VIEWS if data is not None else ("markdown", "text")
    chosen = view if view is not None and view in views else "tree" if data is not None else "text"
    limit = MAX_CHARS if whole else FRONT
    if len(text) > limit and chosen == "tree":
        chosen = "json"
    if chosen == "tree":
        return ValueView(part, chosen, views, len(text), data, cut=False)
    if chosen == "json":
        text = _indented(text)
    elif chosen == "markdown":
        source = orjson.loads(text) if text[:1] == '"' and isinstance(_parsed(text), str) else text
        limit = min(limit, MAX_MARKDOWN)
        return ValueView(part, chosen, views, len(text), render_markdown(source[:limit]), cut=len(source) > limit)
    return ValueView(part, chosen, views, len(text), text[:limit], cut=len(text) > limit)


def render_markdown(source: str) -> Markup:
    """Return Markdown as HTML. HTML in ``source`` stays text, images are not loaded, links lead to http and https only."""
    return Markup(_markdown().render(source))  # noqa: S704  # markdown-it escapes all text


@cache
def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(["image"])
    parser.validateLink = _is_web  # type: ignore[method-assign,assignment]
    parser.add_render_rule("link_open", _link_open)
    return parser


def _link_open(renderer: Any, tokens: Any, place: int, options: Any, _env: Any) -> str:
    tokens[place].attrSet("rel", "noopener noreferrer")
    tokens[place].attrSet("target", "_blank")
    return str(renderer.renderToken(tokens, place, options, {}))


def _is_web(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def _structure(text: str) -> Any:
    """Return the object or the list that ``text`` is; None if it is neither."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    data = _parsed(text)
    return data if isinstance(data, dict | list) else None


def _parsed(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _indented(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
