"""The pages' words, in the reader's language: one table for each in ``dashboards/strings``."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from starlette.requests import Request

LANGUAGES = {"en": "English", "zh": "中文"}
DEFAULT = "en"
COOKIE = "tooltrace_lang"


class Words:
    """The words of one language; where one is missing, the English one."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._table = {**_table(DEFAULT), **_table(language)}

    def __call__(self, key: str, **values: Any) -> str:
        """The text of ``key`` with ``values`` in it; the key itself where there is none."""
        text = self.column(key[7:]) if key.startswith("column.") else self._table.get(key, key)
        return text.format(**values) if values else text

    def column(self, name: str) -> str:
        """The heading of a column of an answer."""
        return self._table.get(f"column.{name}", name.replace("_", " "))

    def part(self, prefix: str) -> dict[str, str]:
        """All texts whose key begins so, for the scripts."""
        return {key: text for key, text in self._table.items() if key.startswith(prefix)}


def language_of(request: Request) -> str:
    """What the address says, else what it said before, else what the browser prefers."""
    for asked in (request.query_params.get("lang"), request.cookies.get(COOKIE)):
        if asked in LANGUAGES:
            return str(asked)
    return preferred(request.headers.get("accept-language", ""))


def preferred(header: str) -> str:
    """The first known language of an ``Accept-Language`` header, the one with the highest weight first."""
    wanted: list[tuple[float, str]] = []
    for part in header.split(","):
        tag, _, weight = part.partition(";q=")
        try:
            wanted.append((float(weight or 1), tag.strip().lower().split("-")[0]))
        except ValueError:
            continue
    known = [tag for weight, tag in sorted(wanted, key=lambda pair: -pair[0]) if tag in LANGUAGES and weight > 0]
    return known[0] if known else DEFAULT


@cache
def _table(language: str) -> dict[str, str]:
    text = resources.files("tooltrace.dashboards").joinpath("strings", f"{language}.json").read_text(encoding="utf-8")
    table: dict[str, str] = json.loads(text)
    return table
