"""SQL that reads the exporter's attribute columns: maps of text, or JSON if it has ``json: true``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from tooltrace.store.database.schema import BOOLEAN, INTEGER, JSON, REAL, TEXT, TIME

Variant = Literal["map", "json"]
"""Type of the exporter's attribute columns."""

_CONVERT: Final = {
    TEXT: "{0}",
    JSON: "nullIf({0}, 'null')",
    INTEGER: "toInt64OrNull({0})",
    REAL: "toFloat64OrNull({0})",
    BOOLEAN: "CAST(multiIf({0} = 'true', true, {0} = 'false', false, NULL) AS Nullable(Bool))",
    TIME: "parseDateTime64BestEffortOrNull({0}, 6, 'UTC')",
}
"""Conversion of an attribute's nullable text into each type; invalid text becomes NULL."""


def quote_identifier(name: str) -> str:
    """Return ``name`` as a ClickHouse identifier."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def quote_literal(text: str) -> str:
    """Return ``text`` as a ClickHouse string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quote_literals(texts: Iterable[str]) -> str:
    """Return ``texts`` as the members of a list, sorted."""
    return ", ".join(quote_literal(text) for text in sorted(texts))


def converted(type_: str, text: str) -> str:
    """Return the SQL that converts an attribute's ``text`` into the DuckDB type ``type_``."""
    return _CONVERT[type_].format(text)


class MapAttributes:
    """Attributes as ``Map(String, String)``."""

    kind = "Map(String, String)"

    def text(self, column: str, key: str) -> str:
        """Return the attribute as text; NULL where it is missing."""
        return f"if({self.has(column, key)}, {column}[{quote_literal(key)}], NULL)"

    def required_text(self, column: str, key: str) -> str:
        """Return the text of an attribute that every row has. This form lets ClickHouse use an index on it."""
        return f"{column}[{quote_literal(key)}]"

    def list(self, column: str, key: str) -> str:
        """Return a list attribute as the text of a JSON array."""
        return self.text(column, key)

    def has(self, column: str, key: str) -> str:
        """Return the condition that the attribute exists."""
        return f"mapContains({column}, {quote_literal(key)})"

    def nested_text(self, expression: str, key: str) -> str:
        """Return the text of an attribute in an expression that is not a column; '' where it is missing."""
        return f"({expression})[{quote_literal(key)}]"

    def as_json_object(self, column: str, without: frozenset[str] = frozenset(), unless: str = "false") -> str:
        """Return all attributes but ``without`` as the text of a JSON object; NULL if there are none.

        All values are text. ``unless``: condition under which the attribute ``k`` is left out too.
        """
        condition = f"k NOT IN ({quote_literals(without)}) AND NOT ({unless})"
        selected = f"mapFilter((k, v) -> {condition}, {column})" if without else column
        return f"if(empty({selected}), NULL, toJSONString({selected}))"


class JsonAttributes:
    """Attributes as ``JSON``: a dot in a name makes it a path."""

    kind = "JSON"

    def text(self, column: str, key: str) -> str:
        """Return the attribute as text; NULL where it is missing."""
        return f"CAST({column}.{quote_identifier(key)} AS Nullable(String))"

    def required_text(self, column: str, key: str) -> str:
        """Return the text of an attribute that every row has."""
        return f"assumeNotNull({self.text(column, key)})"

    def list(self, column: str, key: str) -> str:
        """Return a list attribute as the text of a JSON array."""
        return f"toJSONString({column}.{quote_identifier(key)})"

    def has(self, column: str, key: str) -> str:
        """Return the condition that the attribute exists."""
        return f"has({column}Keys, {quote_literal(key)})"

    def nested_text(self, expression: str, key: str) -> str:
        """Return the text of an attribute in an expression that is not a column; '' where it is missing."""
        return f"JSONExtractString(toJSONString({expression}), {', '.join(map(quote_literal, key.split('.')))})"

    def as_json_object(self, column: str, without: frozenset[str] = frozenset(), unless: str = "false") -> str:
        """Return the same as :meth:`MapAttributes.as_json_object`."""
        conditions = [f"NOT has([{quote_literals(without)}], k) AND NOT ({unless})"] if without else []
        # The column of keys has the names as they were sent; JSON itself splits a name at its dots.
        pairs = f"arrayFilter(k -> {' AND '.join(conditions) or 'true'}, {column}Keys)"
        text = f"toJSONString({column})"
        members = f"arrayMap(k -> concat(toJSONString(toString(k)), ':', {_walk(text)}), {pairs})"
        return f"if(empty({pairs}), NULL, concat('{{', arrayStringConcat({members}, ','), '}}'))"


def _walk(text: str) -> str:
    """Return the member ``k`` of the object ``text``; each dot in ``k`` descends one level."""
    return f"arrayFold((at, part) -> JSONExtractRaw(at, part), splitByChar('.', toString(k)), {text})"


Reader = MapAttributes | JsonAttributes


def reader_of(variant: Variant) -> Reader:
    """Return the attribute reader for tables of that variant."""
    return MapAttributes() if variant == "map" else JsonAttributes()
