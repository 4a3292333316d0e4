"""Jinja templates of pages and reports, and their filters."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from tooltrace import assets
from tooltrace.core.visible import shortened, visible, visible_name

if TYPE_CHECKING:
    from jinja2 import Environment


MOST_TITLE_CHARACTERS = 1000
"""Characters of a cut name in its title."""


def iso(time: Any) -> str:
    """Format a time for HTML; naive times from the store are UTC."""
    if isinstance(time, datetime):
        return time.replace(tzinfo=time.tzinfo or UTC).isoformat().replace("+00:00", "Z")
    return time.isoformat() if isinstance(time, date) else str(time)


def anchor(text: str) -> str:
    """Return ``text`` as the suffix of an element's id."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text)


def finalized(value: Any) -> Any:
    """Return text with escapes for characters that hide or rearrange text. ``|e`` in a template leaves a value as it is."""
    return visible(value) if type(value) is str else value  # markup of a template is a subclass of str


def name(text: Any) -> Any:
    """Return a name from a trace: in one line, never blank, and a long one cut, with a longer part in its title."""
    from markupsafe import Markup, escape

    whole = visible_name(str(text))
    shown = shortened(whole)
    if shown == whole:
        return escape(whole)
    return Markup('<span title="{}">{}</span>').format(whole[:MOST_TITLE_CHARACTERS], shown)


def code(text: Any) -> Any:
    """Return a code in one line, as a name; a narrow column breaks it after an underscore."""
    from markupsafe import Markup, escape

    return escape(shortened(visible_name(str(text)))).replace("_", Markup("_<wbr>"))


def templates(**filters: Callable[..., Any]) -> Environment:
    """Return the template environment: values are escaped, and a missing value is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(assets.path("dashboards")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"iso": iso, "anchor": anchor, "name": name, "code": code, "size": len, **filters}
    return environment
