"""The words of pages and reports, in the reader's language: one table for each in ``dashboards/strings``.

What the queries say of themselves is English in their files; in another language it stands in a table beside, ``.queries``.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from tooltrace import assets

LANGUAGES = {"en": "English", "zh": "中文"}
DEFAULT = "en"


class Translations:
    """The words of one language; where one is missing, the English one."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._own = {**_table(language), **_table(f"{language}.queries")}
        self._table = {**_table(DEFAULT), **self._own}

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

    def about(self, name: str) -> str:
        """What the head of the query ``name`` says besides its question; empty where it is not translated."""
        return self.own(f"about.{name}")

    def meaning(self, text: str) -> str:
        """What a column means; ``text``, which the query's file says, where it is not translated."""
        return self._own.get(f"meaning.{text}", text)

    def has_values(self, query: str, column: str) -> bool:
        """Whether words of the query itself, and not of a trace, stand in the column."""
        return any(key.startswith(f"value.{query}.{column}.") for key in self._own)

    def value(self, query: str, column: str, value: Any) -> Any:
        """A word of the query itself in one of its columns; ``value`` where it is not translated."""
        return self._own.get(f"value.{query}.{column}.{value}", value)

    def own(self, key: str) -> str:
        """The text of ``key`` in just this language; empty where it has none."""
        return self._own.get(key, "")

    def part(self, prefix: str) -> dict[str, str]:
        """All texts whose key begins so, for the scripts."""
        return {key: text for key, text in self._table.items() if key.startswith(prefix)}


@cache
def _table(language: str) -> dict[str, str]:
    file = assets.path("dashboards") / "strings" / f"{language}.json"
    table: dict[str, str] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return table
