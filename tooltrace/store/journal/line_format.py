"""The format of journals: each record is one line.

A line is ``{"crc":"xxxxxxxx",`` and then the rest of a JSON object: ``"kind"`` and the record's fields that are not
None, under their own names. JSON text is embedded unchanged. The checksum is the CRC-32 of every byte between that
prefix and the newline, so that damage is found without parsing. The whole line is JSON, which ``jq`` can read.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Final, NamedTuple, Union
from zlib import crc32

import msgspec
from msgspec import Meta, Raw, defstruct
from msgspec.structs import asdict, astuple, replace

from tooltrace.core.fields import fields_of
from tooltrace.core.records import Begun, Correction, Gate, Loss, Message, Outcome, Record, SavedQuery, Span, ToolCall
from tooltrace.redact.snapshot import Json

KINDS: Final[dict[str, type[Record]]] = {
    "call": ToolCall,
    "outcome": Outcome,
    "correction": Correction,
    "gate": Gate,
    "message": Message,
    "loss": Loss,
    "span": Span,
    "query": SavedQuery,
    "begun": Begun,
}
"""The record class for each value of ``"kind"`` in a line."""

WIRE_NAMES: Final = {"kind": "gate_kind"}
"""Fields with another name in a line, because ``"kind"`` is the kind of the record there."""

START: Final = b'{"crc":"'
"""The first bytes of every line."""
PREFIX_BYTES: Final = 18

_LOWEST: Final = -(2**63)
_HIGHEST: Final = 2**63 - 1
_KIND: Final = re.compile(rb'"kind":"([a-z]+)"')


class LineError(ValueError):
    """The error for a line that is not a record: torn, damaged, or with a value of the wrong type."""


def encode(record: Record) -> bytes:
    """Return the journal line of ``record``, with its newline. Text that is not valid Unicode is replaced."""
    try:
        data = _object(record)
    except (TypeError, ValueError, OverflowError):
        data = _object(_scrubbed(record))
    # a newline occurs only between tokens of embedded JSON, because JSON strings escape newlines
    # [1:] removes the opening brace, which precedes the checksum
    body = data.replace(b"\n", b" ")[1:]
    return b"".join((b'{"crc":"%08x",' % crc32(body), body, b"\n"))


def checksum_ok(line: bytes) -> bool:
    """Whether ``line`` (with or without its newline) matches its checksum."""
    if line[-1:] == b"\n":
        line = line[:-1]
    return line[:8] == START and line[16:18] == b'",' and line[8:16] == b"%08x" % crc32(line[PREFIX_BYTES:])


def record_kind(line: bytes) -> str | None:
    """Return the kind of a whole line without parsing it; None for a kind that this version does not know."""
    found = _KIND.match(line, PREFIX_BYTES)
    kind = found[1].decode() if found else None
    return kind if kind in KINDS else None


def decode(line: bytes) -> Record:
    """Return the record of ``line``; fields that this version does not know are ignored. Raises LineError."""
    if not checksum_ok(line):
        raise LineError("the line is torn or damaged: its checksum does not match")
    try:
        read = _DECODER.decode(line)
        form = _FORM_OF_LINE[type(read)]
        values = {name: value for name, value in zip(form.names, astuple(read), strict=True) if value is not None}
        for name in values.keys() & form.embedded.keys():
            values[name] = Json(str(values[name], "utf-8"))
        for name in values.keys() & form.times.keys():
            time = values[name]
            values[name] = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
        return form.record(**values)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise LineError(f"the line is not a record: {error}") from error


class _Form(NamedTuple):
    """The mapping between the records of one class and their lines."""

    record: type[Record]
    line: Any
    """The class that msgspec writes and reads: the same fields in the same order, with JSON text as ``Raw``.

    Each field may be None and is left out then; the record's own class defines defaults and required fields."""
    names: tuple[str, ...]
    embedded: dict[str, int]
    """Position of each field that is JSON text."""
    times: dict[str, int]
    """Position of each field that is a time."""
    integers: dict[str, int]


_INT64: Final = Annotated[int, Meta(ge=_LOWEST, le=_HIGHEST)]
_READ_AS: Final[dict[Any, Any]] = {
    str: str | None,
    int: _INT64 | None,
    float: float | None,
    bool: bool | None,
    datetime: datetime | None,
    Json: Raw,  # "| None" would read a JSON null as unknown, and lose its text
}


def _form(kind: str, record: type[Record]) -> _Form:
    fields = fields_of(record)
    members = [(WIRE_NAMES.get(field.name, field.name), _READ_AS[field.type], None) for field in fields]
    line = defstruct(f"{record.__name__}Line", members, tag_field="kind", tag=kind, omit_defaults=True, gc=False)

    def positions(type_: Any) -> dict[str, int]:
        return {field.name: position for position, field in enumerate(fields) if field.type is type_}

    names = tuple(field.name for field in fields)
    return _Form(record, line, names, positions(Json), positions(datetime), positions(int))


_BASE_TYPES: Final[tuple[tuple[type, Any], ...]] = ((str, str.__str__), (int, int.__index__), (float, float.__float__))


def _to_base_type(value: Any) -> Any:
    """Return an instance of a subclass of str, int or float as that type. Raises TypeError for other types."""
    for base, convert in _BASE_TYPES:
        if isinstance(value, base):
            return convert(value)
    raise TypeError(f"a field of a record must be text, a number or a time; got {type(value).__name__}")


_FORMS: Final = {record: _form(kind, record) for kind, record in KINDS.items()}
_FORM_OF_LINE: Final = {form.line: form for form in _FORMS.values()}
_ENCODER: Final = msgspec.json.Encoder(enc_hook=_to_base_type)
_DECODER: Final = msgspec.json.Decoder(Union[tuple(_FORM_OF_LINE)])  # noqa: UP007 - made of a tuple


def _object(record: Record) -> bytes:
    """Return the record as a JSON object: its kind, then its fields that are not None."""
    form = _FORMS[type(record)]
    values = list(astuple(record))
    for position in form.embedded.values():
        if values[position] is not None:
            values[position] = Raw(values[position])
    # msgspec writes "Z" for UTC and an offset for other zones; a line has one form of a time
    for position in form.times.values():
        if values[position] is not None and values[position].tzinfo is not UTC:
            values[position] = values[position].astimezone(UTC)
    # msgspec writes any integer, and a column has 64 bits: such a line would be refused at the fold
    for position in form.integers.values():
        if values[position] is not None and not _LOWEST <= values[position] <= _HIGHEST:
            raise OverflowError
    return _ENCODER.encode(form.line(*values))


def _scrubbed(record: Record) -> Record:
    """Return the record with valid Unicode text, and None in place of integers beyond 64 bits."""
    changed: dict[str, Any] = {}
    for name, value in asdict(record).items():
        if isinstance(value, str):
            changed[name] = value.encode("utf-8", "replace").decode()
        elif isinstance(value, int) and not _LOWEST <= value <= _HIGHEST:
            changed[name] = None
    return replace(record, **changed)
