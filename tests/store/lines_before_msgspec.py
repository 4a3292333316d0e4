"""The codec of journal lines as it was before msgspec: what it wrote must be read, and it must read what is written.

It knows the format by itself, by ``orjson`` and the standard library. Only the names and types of fields are taken from
the table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final
from zlib import crc32

import orjson
from msgspec.structs import replace

from tooltrace.core.fields import fields_of
from tooltrace.core.records import Correction, Gate, Loss, Message, Outcome, Record, Span, ToolCall
from tooltrace.redact.snapshot import Json

KINDS: Final[dict[str, type[Record]]] = {
    "call": ToolCall,
    "outcome": Outcome,
    "correction": Correction,
    "gate": Gate,
    "message": Message,
    "loss": Loss,
    "span": Span,
}
"""Value of ``"kind"`` in a line, and the record that it is."""

WIRE_NAMES: Final = {"kind": "gate_kind"}
"""Fields that are called otherwise in a line, where ``"kind"`` is the kind of the record."""

START: Final = b'{"crc":"'
"""Prefix of every line."""
PREFIX_BYTES: Final = 18

_KIND_OF: Final = {record: kind.encode() for kind, record in KINDS.items()}
_EMBEDDED: Final = tuple({f.name for record in KINDS.values() for f in fields_of(record) if f.type is Json})
"""The fields that are JSON text already."""
_INT64: Final = range(-(2**63), 2**63)


class LineError(ValueError):
    """A line that is not a record: torn, damaged, or with a value of the wrong type."""


def encode(record: Record) -> bytes:
    """The journal line of ``record``, with its newline. Text that is not valid Unicode is replaced."""
    try:
        data = _object(record)
    except (TypeError, ValueError):
        data = _object(_scrubbed(record))
    if b"\n" in data:  # between the tokens of embedded JSON; inside a JSON string it is escaped
        data = data.replace(b"\n", b" ")
    body = b'"kind":"%b",%b' % (_KIND_OF[type(record)], data[1:])
    return b'{"crc":"%08x",%b\n' % (crc32(body), body)


def is_whole(line: bytes) -> bool:
    """Whether ``line`` (with or without its newline) is as it was written."""
    if line[-1:] == b"\n":
        line = line[:-1]
    return line[:8] == START and line[16:18] == b'",' and line[8:16] == b"%08x" % crc32(line[PREFIX_BYTES:])


def decode(line: bytes) -> Record:
    """The record of ``line``; fields that this version does not know are ignored. Raises LineError."""
    if not is_whole(line):
        raise LineError("the line is torn or damaged: its checksum does not match")
    try:
        values = _members(line.decode())
    except (TypeError, ValueError, RecursionError) as error:
        raise LineError(f"the line is not a JSON object: {error}") from error
    kind = values.get("kind", ("", None))[0]
    record = KINDS.get(kind) if isinstance(kind, str) else None
    if record is None:
        raise LineError(f"the line is of no known kind: {kind!r}")
    read = _READERS[record].items()
    return record(**{name: reader(values, WIRE_NAMES.get(name, name)) for name, reader in read})


# encoding


def _object(record: Record) -> bytes:
    """The record's fields that are not None, as a JSON object."""
    values = _few_values(record)
    for name in _EMBEDDED:
        if name in values:
            values[name] = orjson.Fragment(values[name])
    return orjson.dumps(values, option=orjson.OPT_UTC_Z)


def _few_values(record: Record) -> dict[str, Any]:
    values = {}
    for field in fields_of(type(record)):
        value = getattr(record, field.name)
        if value is not None:
            moment = isinstance(value, datetime)
            values[WIRE_NAMES.get(field.name, field.name)] = value.astimezone(UTC) if moment else value
    return values


def _scrubbed(record: Record) -> Record:
    values = {field.name: getattr(record, field.name) for field in fields_of(type(record))}
    for name, value in values.items():
        if isinstance(value, str):
            values[name] = value.encode("utf-8", "replace").decode()
        elif isinstance(value, int) and value not in _INT64:
            values[name] = None
    return replace(record, **values)


# decoding


def _integer(text: str) -> int | float:
    return int(text) if len(text) < 25 else float(text)


_SCAN: Final = json.JSONDecoder(parse_int=_integer)
_SPACE: Final = re.compile(r"[ \t\r\n]*")


def _members(text: str) -> dict[str, tuple[Any, str]]:
    """Each member's value, and the very text of it."""
    members: dict[str, tuple[Any, str]] = {}
    at = 1
    while True:
        name, at = _SCAN.raw_decode(text, at)
        start = _after(text, at, ":")
        value, at = _SCAN.raw_decode(text, start)
        members[name] = (value, text[start:at])
        at = _skip(text, at)
        if text[at : at + 1] == "}":
            break
        at = _after(text, at, ",")
    if text[at + 1 :].strip():
        raise LineError("something follows the object")
    return members


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _after(text: str, at: int, sign: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != sign:
        raise LineError(f"no {sign!r} where one must be")
    return _skip(text, at + 1)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    value.encode()  # a lone surrogate is not text
    return value


def _whole_number(value: Any) -> int:
    if type(value) is not int or value not in _INT64:
        raise TypeError
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError
    return float(value)


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError
    return value


def _moment(value: Any) -> datetime:
    moment = datetime.fromisoformat(_text(value))
    return moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


_FROM_JSON: Final[dict[str, Callable[[Any], Any]]] = {
    "str": _text,
    "int": _whole_number,
    "float": _number,
    "bool": _truth,
    "datetime": _moment,
}

Reader = Callable[[dict[str, tuple[Any, str]], str], Any]


def _reader(type_: str, *, required: bool, default: Any) -> Reader:
    convert = _FROM_JSON.get(type_)

    def read(values: dict[str, tuple[Any, str]], name: str) -> Any:
        value, text = values.get(name, (None, ""))
        if convert is None and text:
            return Json(text)
        if value is None or convert is None:
            if required:
                raise LineError(f"{name} is missing")
            return default
        try:
            return convert(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise LineError(f"{name} is no {type_}: {text[:80]}") from error

    return read


def _readers(record: type[Record]) -> dict[str, Reader]:
    return {
        field.name: _reader(field.type_name, required=field.required, default=field.default)
        for field in fields_of(record)
    }


_READERS: Final = {record: _readers(record) for record in KINDS.values()}
