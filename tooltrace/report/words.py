"""The words of pages and reports, in the reader's language: one table for each in ``dashboards/strings``."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

LANGUAGES = {"en": "English", "zh": "中文"}
DEFAULT = "en"


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

    def question(self, name: str, text: str) -> str:
        """What the query ``name`` asks; ``text``, which its file says, where it is not translated."""
        return self._table.get(f"question.{name}", text)

    def part(self, prefix: str) -> dict[str, str]:
        """All texts whose key begins so, for the scripts."""
        return {key: text for key, text in self._table.items() if key.startswith(prefix)}


@cache
def _table(language: str) -> dict[str, str]:
    text = resources.files("tooltrace.dashboards").joinpath("strings", f"{language}.json").read_text(encoding="utf-8")
    table: dict[str, str] = json.loads(text)
    return table
