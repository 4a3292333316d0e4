"""How the exporter's columns of attributes are read: maps of text, or JSON where it has ``json: true``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from tooltrace.store.columns import JSON, REAL, TEXT, TIME, TRUTH, WHOLE

Variant = Literal["map", "json"]
"""How the exporter keeps attributes."""

_CONVERT: Final = {
    TEXT: "{0}",
    JSON: "nullIf({0}, 'null')",
    WHOLE: "toInt64OrNull({0})",
    REAL: "toFloat64OrNull({0})",
    TRUTH: "CAST(multiIf({0} = 'true', true, {0} = 'false', false, NULL) AS Nullable(Bool))",
    TIME: "parseDateTime64BestEffortOrNull({0}, 6, 'UTC')",
}
"""What makes a column of an attribute's text, which may be NULL; what is no such value is NULL."""


def quote_identifier(name: str) -> str:
    """``name`` as an identifier of ClickHouse."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def quote_literal(text: str) -> str:
    """``text`` as a string of ClickHouse."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quote_literals(texts: Iterable[str]) -> str:
    """``texts`` as the members of a list."""
    return ", ".join(quote_literal(text) for text in sorted(texts))


def converted(type_: str, text: str) -> str:
    """A column of the DuckDB type ``type_``, of an attribute's ``text``."""
    return _CONVERT[type_].format(text)


class MapAttributes:
    """Attributes as ``MapAttributes(String, String)``."""

    kind = "Map(String, String)"

    def text(self, column: str, key: str) -> str:
        """The attribute as text; NULL where there is none."""
        return f"if({self.has(column, key)}, {column}[{quote_literal(key)}], NULL)"

    def required_text(self, column: str, key: str) -> str:
        """The text of an attribute that every row has. Said so plainly that an index over it is used."""
        return f"{column}[{quote_literal(key)}]"

    def list(self, column: str, key: str) -> str:
        """An attribute that is a list, as the text of a JSON array."""
        return self.text(column, key)

    def has(self, column: str, key: str) -> str:
        """Whether there is one."""
        return f"mapContains({column}, {quote_literal(key)})"

    def nested_text(self, expression: str, key: str) -> str:
        """The text of an attribute of attributes that are no column; '' where there is none."""
        return f"({expression})[{quote_literal(key)}]"

    def as_json_object(self, column: str, without: frozenset[str] = frozenset()) -> str:
        """All attributes but ``without``, as the text of a JSON object; NULL where there are none. All values are text."""
        kept = column if not without else f"mapFilter((k, v) -> k NOT IN ({quote_literals(without)}), {column})"
        return f"if(empty({kept}), NULL, toJSONString({kept}))"


class JsonAttributes:
    """Attributes as ``JSON``: a dot in a name makes a path of it."""

    kind = "JSON"

    def text(self, column: str, key: str) -> str:
        """The attribute as text; NULL where there is none."""
        return f"CAST({column}.{quote_identifier(key)} AS Nullable(String))"

    def required_text(self, column: str, key: str) -> str:
        """The text of an attribute that every row has."""
        return f"assumeNotNull({self.text(column, key)})"

    def list(self, column: str, key: str) -> str:
        """An attribute that is a list, as the text of a JSON array."""
        return f"toJSONString({column}.{quote_identifier(key)})"

    def has(self, column: str, key: str) -> str:
        """Whether there is one."""
        return f"has({column}Keys, {quote_literal(key)})"

    def nested_text(self, expression: str, key: str) -> str:
        """The text of an attribute of attributes that are no column; '' where there is none."""
        return f"JSONExtractString(toJSONString({expression}), {', '.join(map(quote_literal, key.split('.')))})"

    def as_json_object(self, column: str, without: frozenset[str] = frozenset()) -> str:
        """All attributes but ``without``, as the text of a JSON object; NULL where there are none."""
        kept = [f"NOT has([{quote_literals(without)}], k)"] if without else []
        pairs = f"arrayFilter(k -> {' AND '.join(kept) or 'true'}, {column}Keys)"
        text = f"toJSONString({column})"
        members = f"arrayMap(k -> concat(toJSONString(toString(k)), ':', {_walk(text)}), {pairs})"
        return f"if(empty({pairs}), NULL, concat('{{', arrayStringConcat({members}, ','), '}}'))"


def _walk(text: str) -> str:
    """The member ``k`` of the object ``text``, each dot in ``k`` a level down."""
    return f"arrayFold((at, part) -> JSONExtractRaw(at, part), splitByChar('.', toString(k)), {text})"


Reader = MapAttributes | JsonAttributes


def reader_of(variant: Variant) -> Reader:
    """The reader of tables of that kind."""
    return MapAttributes() if variant == "map" else JsonAttributes()
