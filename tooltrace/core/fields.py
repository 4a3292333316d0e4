"""The table of record fields: each field's type, meaning and OpenTelemetry attribute, declared once.

A record class annotates each field with :class:`About`. The schema and its comments, the journal codec, the
catalogue of attributes, the import of files and the redaction of incoming records read that declaration
through :func:`fields_of`; none of them repeats it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from types import NoneType
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from tooltrace.redact.snapshot import Json

AttributeKind = Literal["text", "number", "integer", "boolean", "JSON text", "texts"]
"""Type of an OpenTelemetry attribute, in the words of ``docs/telemetry.md``."""

REQUIRED: Final = msgspec.NODEFAULT
"""Default of a field that has none."""


class Types(NamedTuple):
    """How a Python type is kept in the store and sent as an attribute."""

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
"""The types that a field may have."""


@dataclass(frozen=True, slots=True)
class About:
    """What is declared of a field beside its name, its Python type and its default."""

    meaning: str
    """One sentence: the column's comment, and the attribute's meaning in ``docs/telemetry.md``."""
    attribute: str | None = None
    """The OpenTelemetry attribute that carries the value; None where none does, or the codec has a rule of its own."""
    content: bool = False
    """Whether it holds what a tool was given or gave: ``capture="metadata"`` leaves it out."""
    prose: bool = False
    """Whether somebody wrote it as text. It is dropped where redaction fails; a name or an id is kept."""
    late: bool = False
    """Whether its column comes after those of the first schema. True for every field that is added."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record."""

    name: str
    type: Any
    """``str``, ``int``, ``float``, ``bool``, ``datetime`` or ``Json``."""
    nullable: bool
    """Whether it may be None: unknown."""
    default: Any
    """``REQUIRED`` where there is none."""
    about: About

    @property
    def required(self) -> bool:
        """Whether a record cannot be made without it."""
        return self.default is REQUIRED

    @property
    def is_text(self) -> bool:
        """Whether its value is a string: plain text, or JSON."""
        return self.type in (str, Json)

    @property
    def type_name(self) -> str:
        """Name of its type, for messages."""
        return str(self.type.__name__)


_KNOWN: Final[dict[type[Any], tuple[Field, ...]]] = {}


def fields_of(record: type[Any]) -> tuple[Field, ...]:
    """Return the fields of the class ``record``, in their order. Raises TypeError where one is not declared."""
    known = _KNOWN.get(record)
    if known is None:
        hints = get_type_hints(record, include_extras=True)
        fields = msgspec.structs.fields(record)
        known = tuple(_field(record, field.name, hints[field.name], field.default) for field in fields)
        _KNOWN[record] = known
    return known


def attributes_of(record: type[Any]) -> dict[str, str]:
    """Return the attribute of each field of ``record`` that has one."""
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
