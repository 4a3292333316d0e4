"""Jinja templates of pages and reports, and their filters."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from tooltrace import assets

if TYPE_CHECKING:
    from jinja2 import Environment


def iso(time: Any) -> str:
    """Format a time for HTML; naive times from the store are UTC."""
    if isinstance(time, datetime):
        return time.replace(tzinfo=time.tzinfo or UTC).isoformat().replace("+00:00", "Z")
    return time.isoformat() if isinstance(time, date) else str(time)


def anchor(text: str) -> str:
    """Return ``text`` as the suffix of an element's id."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text)


def templates(**filters: Callable[..., Any]) -> Environment:
    """Return the template environment: values are escaped, and a missing value is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(assets.path("dashboards")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"iso": iso, "anchor": anchor, "size": len, **filters}
    return environment
