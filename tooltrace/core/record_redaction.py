"""Redaction of whole records: each field that is declared as text passes here, or has passed the same rules before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar, cast

import orjson
from msgspec.structs import replace

from tooltrace.core.fields import Field, fields_of
from tooltrace.core.records import RECORD_TYPES, Begun, Record, ToolCall
from tooltrace.redact.known_values import KnownValues
from tooltrace.redact.plain_data import json_of
from tooltrace.redact.redaction import Redaction
from tooltrace.redact.sanitizer import Sanitizer
from tooltrace.redact.snapshot import Json
from tooltrace.redact.texts import MASK

_R = TypeVar("_R", bound=Record)

TEXTS: Final[dict[type[Any], dict[str, Field]]] = {
    kind: {field.name: field for field in fields_of(kind) if field.is_text} for kind in RECORD_TYPES
}
"""The text fields of each record type, plain or JSON."""
OWN_TEXTS: Final = {
    kind: {name: field for name, field in fields.items() if not field.about.made} for kind, fields in TEXTS.items()
}
"""Those that may have a text of a tool, a user or another program in a record that this process makes."""


CONTENT_TEXTS: Final = {
    kind: frozenset(
        name for name, field in fields.items() if field.about.content or field.about.prose or name == "attributes"
    )
    for kind, fields in OWN_TEXTS.items()
}
"""Those in which a secret of another field may stand. A name or an id that is one stays, because records are joined by it."""


def remove_known(kind: type[Any], fields: dict[str, Any], known: KnownValues) -> bool:
    """Remove the ``known`` secrets from the ``fields`` of a record; return whether a field had one."""
    changed = False
    for name in CONTENT_TEXTS[kind]:
        value = fields.get(name)
        if isinstance(value, str) and (safe := known.removed_from(value)) != value:
            fields[name], changed = safe, True
    return changed


def redact_record(record: _R, redactions: Sequence[Redaction], limit: int) -> _R:
    """Return ``record``, which this process has made of texts that are not redacted, without secrets."""
    return cast("_R", redact_fields(record, OWN_TEXTS[type(record)], redactions, limit))


def redact_fields(record: Record, fields: dict[str, Field], redactions: Sequence[Redaction], limit: int) -> Record:
    """Return ``record`` with the texts in ``fields`` redacted, and cut to ``limit``."""
    texts = {name: value for name in fields if (value := getattr(record, name)) is not None}
    if not texts:
        return record
    # one search over all texts instead of one for each field; most records have no secret
    content = "\n".join(texts.values())
    if max(map(len, texts.values())) <= limit and all(redaction.may_skip(content) for redaction in redactions):
        return record
    sanitizer = Sanitizer(redactions, limit)
    redacted = {name: redact_field(sanitizer, fields[name], value) for name, value in texts.items()}
    if sanitizer.removed:
        remove_known(type(record), redacted, KnownValues(sanitizer.removed))
    changed: dict[str, Any] = {name: value for name, value in redacted.items() if value != texts[name]}
    if isinstance(record, ToolCall | Begun) and changed:
        changed |= _marks(record, sanitizer)
    return replace(record, **changed) if changed else record


def redact_field(sanitizer: Sanitizer, field: Field, value: str) -> str | None:
    """Return the text ``value`` of ``field`` without secrets."""
    if field.type is Json:
        return _json(sanitizer, field.name, value)
    if not field.about.prose:
        return sanitizer.sanitize_name(field.name, value)
    redacted = sanitizer.sanitize_text(field.name, value)
    return MASK if redacted is None and not field.nullable else redacted


def _marks(call: ToolCall | Begun, sanitizer: Sanitizer) -> dict[str, Any]:
    """Return the fields of the record that report redaction and truncation."""
    marks: dict[str, Any] = {"redacted": True} if sanitizer.redacted else {}
    if sanitizer.sizes:
        before = orjson.loads(call.full_sizes) if call.full_sizes else {}
        marks |= {"truncated": True, "full_sizes": Json(json_of({**sanitizer.sizes, **before}).decode())}
    return marks


def _json(sanitizer: Sanitizer, name: str, text: str) -> str | None:
    """Return the redacted JSON text.

    A text without secrets is returned unchanged, because parsing and writing may change how a number is spelled.
    """
    before = orjson.loads(text)
    redacted = sanitizer.sanitize_json(name, json_of(before))
    return text if redacted is not None and orjson.loads(redacted) == before else redacted
