"""Translations of pages and reports: one table per language in ``dashboards/strings``.

The texts of query files are English; their translations are in a second table, ``<language>.queries``.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from tooltrace import assets
from tooltrace.analysis.dimensions import DIMENSIONS
from tooltrace.core.plural import CountingFormatter

LANGUAGES = {"en": "English", "zh": "中文"}
DEFAULT = "en"
_FORMATTER = CountingFormatter()


class Translations:
    """The texts of one language; English where a text is missing."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._exact = {**table(language), **table(f"{language}.queries")}
        self.glossary = _glossary(language)
        """Terms and their meanings, by the anchor on the page of the glossary."""
        self._table = {**table(DEFAULT), **self._exact}

    def __call__(self, key: str, **values: Any) -> str:
        """Return the text of ``key`` with ``values`` inserted; the key itself if there is no text."""
        # A column without a text has a heading made of its name; any other key is shown as it is.
        text = self.column(key[7:]) if key.startswith("column.") else self._table.get(key, key)
        return _FORMATTER.format(text, **values) if values else text

    def column(self, name: str, query: str = "") -> str:
        """Return the heading of a result column; some columns have another heading in the result of ``query``."""
        plain = self._table.get(f"column.{name}", name.replace("_", " "))
        return self._table.get(f"column.{query}.{name}", plain)

    def dimension(self, name: str) -> str:
        """Return the heading of the column of a dimension, such as ``version`` or ``attributes.region``."""
        return self.column(DIMENSIONS[name].column if name in DIMENSIONS else name)

    def question(self, name: str, text: str) -> str:
        """Return the question of the query ``name``; ``text``, from the query file, without a translation."""
        return self._table.get(f"question.{name}", text)

    def about(self, name: str) -> str:
        """Return the description of the query ``name``; empty without a translation."""
        return self.exact(f"about.{name}")

    def meaning(self, text: str) -> str:
        """Return the meaning of a column; ``text``, from the query file, without a translation."""
        return self._exact.get(f"meaning.{text}", text)

    def has_values(self, query: str, column: str) -> bool:
        """Whether the column holds fixed words of the query, rather than values from a trace."""
        return f"value.{query}.{column}" in _columns_with_values(self.language)

    def value(self, query: str, column: str, value: Any) -> Any:
        """Return the translation of a fixed word of a query's column; ``value`` without a translation."""
        return self._exact.get(f"value.{query}.{column}.{value}", value)

    def exact(self, key: str) -> str:
        """Return the text of ``key`` in exactly this language; empty where it is missing."""
        return self._exact.get(key, "")

    def part(self, prefix: str) -> dict[str, str]:
        """Return all texts whose key begins with ``prefix``, for the scripts."""
        return {key: text for key, text in self._table.items() if key.startswith(prefix)}


@cache
def table(language: str) -> dict[str, str]:
    """Return the texts of ``language`` by key; empty where it has no file."""
    file = assets.path("dashboards") / "strings" / f"{language}.json"
    texts: dict[str, str] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return texts


@cache
def _columns_with_values(language: str) -> frozenset[str]:
    """Return ``value.QUERY.COLUMN`` for each column whose values have translations."""
    return frozenset(
        ".".join(key.split(".", 3)[:3]) for key in table(f"{language}.queries") if key.startswith("value.")
    )


@cache
def _glossary(language: str) -> dict[str, tuple[str, str]]:
    file = assets.path("dashboards") / "strings" / f"{language}.glossary.json"
    terms: dict[str, tuple[str, str]] = json.loads(file.read_text(encoding="utf-8"))
    return terms


def preferred_language(header: str) -> str:
    """Return the known language with the highest weight in an ``Accept-Language`` header."""
    accepted: list[tuple[float, str]] = []
    for part in header.split(","):
        tag, _, weight = part.partition(";q=")
        try:
            accepted.append((float(weight or 1), tag.strip().lower().split("-")[0]))
        except ValueError:
            continue
    known = [tag for weight, tag in sorted(accepted, key=lambda pair: -pair[0]) if tag in LANGUAGES and weight > 0]
    return known[0] if known else DEFAULT
