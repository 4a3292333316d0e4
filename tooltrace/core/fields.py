"""Declarations of record fields: each field's type, meaning and OpenTelemetry attribute.

A record class annotates each field with :class:`About`. The schema and its comments, the journal codec, the
catalogue of attributes, the import of files and the redaction of incoming records read that declaration
through :func:`fields_of`; none of them repeats it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import NoneType
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import orjson
from msgspec import Struct

from tooltrace.redact.snapshot import Json

AttributeKind = Literal["text", "number", "integer", "boolean", "JSON text", "texts"]
"""Type of an OpenTelemetry attribute, in the words of ``docs/reference/telemetry.md``."""

REQUIRED: Final = msgspec.NODEFAULT
"""Default of a field that has none."""


class Types(NamedTuple):
    """The SQL type and the attribute type of a Python type."""

    sql: str
    attribute: AttributeKind


TYPES: Final[dict[Any, Types]] = {
    str: Types("VARCHAR", "text"),
    int: Types("BIGINT", "integer"),
    float: Types("DOUBLE", "number"),
    bool: Types("BOOLEAN", "boolean"),
    datetime: Types("TIMESTAMP", "text"),
    Json: Types("JSON", "JSON text"),
}
"""The Python types that a field may have."""


class About(Struct, frozen=True):
    """The declaration of a field, beside its name, its Python type and its default."""

    meaning: str
    """One sentence: the comment of the column, and the meaning of the attribute in ``docs/reference/telemetry.md``."""
    attribute: str | None = None
    """OpenTelemetry attribute that carries the value; None where none does, or the codec has its own rule."""
    content: bool = False
    """Whether the field holds arguments or results of a tool, which ``capture="metadata"`` leaves out."""
    prose: bool = False
    """Whether the field is free text, which a user's redaction function gets too; names and ids pass by the rules alone."""
    made: bool = False
    """Whether tooltrace makes the text or chooses it from a list, so that it has nothing to redact in a record of its own."""

    def __repr__(self) -> str:
        return "…"  # annotations show it in the signature of a record


class Field(Struct, frozen=True):
    """One field of a record."""

    name: str
    type: Any
    """``str``, ``int``, ``float``, ``bool``, ``datetime`` or ``Json``."""
    nullable: bool
    """Whether the value may be None, which means unknown."""
    default: Any
    """Default value; ``REQUIRED`` where the field has no default."""
    about: About

    @property
    def required(self) -> bool:
        """Whether a record must have a value for the field."""
        return self.default is REQUIRED

    @property
    def is_text(self) -> bool:
        """Whether the value is a string: plain text, or JSON."""
        return self.type in (str, Json)

    @property
    def type_name(self) -> str:
        """Name of the field's type, for messages."""
        return str(self.type.__name__)


_R = TypeVar("_R")
Converters = Mapping[Any, Callable[[Any], Any]]
"""For each type of a field, a function that returns a value as that type.

It raises TypeError, ValueError or OverflowError for a value that it does not accept.
"""

_KNOWN: Final[dict[type[Any], tuple[Field, ...]]] = {}


def fields_of(record: type[Any]) -> tuple[Field, ...]:
    """Return the fields of the class ``record``, in order. Raises TypeError for a field without a declaration."""
    known = _KNOWN.get(record)
    if known is None:
        hints = get_type_hints(record, include_extras=True)
        names, defaults = record.__struct_fields__, record.__struct_defaults__
        defaults = (REQUIRED,) * (len(names) - len(defaults)) + defaults  # structs.fields() evaluates all hints again
        known = tuple(_field(record, name, hints[name], default) for name, default in zip(names, defaults, strict=True))
        _KNOWN[record] = known
    return known


def attributes_of(record: type[Any]) -> dict[str, str]:
    """Return the OpenTelemetry attribute of each field of ``record`` that has one, by field name."""
    return {field.name: field.about.attribute for field in fields_of(record) if field.about.attribute}


def content_of(record: type[Any]) -> tuple[str, ...]:
    """Return the names of the fields of ``record`` that hold content."""
    return tuple(field.name for field in fields_of(record) if field.about.content)


def _field(record: type[Any], name: str, hint: Any, default: Any) -> Field:
    hinted, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    types = [known for known in get_args(hinted) or (hinted,) if known is not NoneType]
    if len(types) != 1 or types[0] not in TYPES or len(extras) != 1 or not isinstance(extras[0], About):
        known = ", ".join(str(type_.__name__) for type_ in TYPES)
        raise TypeError(
            f"{record.__name__}.{name} is not declared as a field: expected Annotated[<type>, About(...)] or "
            f"Annotated[<type> | None, About(...)] with one of the types {known}; got {hint}"
        )
    return Field(name, types[0], NoneType in get_args(hinted), default, extras[0])


def record_from(record: type[_R], values: Mapping[str, Any], converters: Converters, *, quote: bool = False) -> _R:
    """Return a ``record`` of ``values``, each converted to the type of its field; None is unknown.

    Raises ValueError with the first field that is missing or has the wrong type. ``quote``: include its value.
    """
    converted: dict[str, Any] = {}
    for field in fields_of(record):
        value = values.get(field.name)
        if value is None:
            if field.required:
                raise ValueError(f"{field.name} is missing")
            continue
        try:
            converted[field.name] = converters[field.type](value)
        except (TypeError, ValueError, OverflowError):
            found = f": {str(value)[:80]!r}" if quote else ""
            raise ValueError(f"{field.name} is not of the type {field.type_name}{found}") from None
    return record(**converted)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    value.encode()  # raises for a lone surrogate, which is not valid text
    return value


def _integer(value: Any) -> int:
    number = int(value)
    # accepts 3 and "3", refuses 3.0, True and "3.0": a value must not change where it is read
    if isinstance(value, float | bool) or number != value != str(number) or not -(2**63) <= number < 2**63:
        raise ValueError
    return number


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError
    return number


def _boolean(value: Any) -> bool:
    word = str(value).lower()
    if word not in ("true", "false"):
        raise ValueError
    return word == "true"


def _time(value: Any) -> datetime:
    time = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _json(value: Any) -> Json:
    text = _text(value)
    try:
        orjson.loads(text)
    except ValueError:
        try:
            json.loads(text)  # accepts NaN and Infinity, which Python writes
        except RecursionError:
            raise ValueError from None
    return Json(text)


FROM_TEXT: Final[Converters] = {
    str: _text,
    int: _integer,
    float: _finite,
    bool: _boolean,
    datetime: _time,
    Json: _json,
}
"""Converters of table cells: a number, a boolean or a time may be text."""
