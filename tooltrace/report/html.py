"""Values as the templates of pages and reports write them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any


def iso(moment: Any) -> str:
    """A time as HTML has it; what the store gives is UTC."""
    if isinstance(moment, datetime):
        return moment.replace(tzinfo=moment.tzinfo or UTC).isoformat().replace("+00:00", "Z")
    return moment.isoformat() if isinstance(moment, date) else str(moment)


def anchor(text: str) -> str:
    """``text`` as the end of an element's id."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text)
