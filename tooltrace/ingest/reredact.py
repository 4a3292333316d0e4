"""Redact a record that tooltrace made before, and remove what ``capture="metadata"`` leaves out."""

from __future__ import annotations

from typing import Any, Final, TypeVar, cast

import orjson
from msgspec.structs import replace

from tooltrace.core.fields import Field, content_of, fields_of
from tooltrace.core.records import RECORD_TYPES, Gate, Record, ToolCall
from tooltrace.recording.settings import Settings
from tooltrace.redact.sanitizer import Sanitizer
from tooltrace.redact.secret_hints import MASK
from tooltrace.redact.snapshot import Json, fix_unicode

_R = TypeVar("_R", bound=Record)


def drop_content(record: _R, settings: Settings) -> _R:
    """Return ``record`` without content where ``settings.capture`` asks for that.

    The fields that are declared as content become None; of the arguments that a person changed, the names are kept.
    """
    return record if settings.capture == "full" else cast("_R", _without(record))


def _without(record: Record) -> Record:
    content = dict.fromkeys(content_of(type(record)))
    if isinstance(record, Gate):
        names_only = None if record.changed is None else dict.fromkeys(orjson.loads(record.changed))
        return record if names_only is None else replace(record, changed=Json(orjson.dumps(names_only).decode()))
    return replace(record, **content) if content else record


ROOM: Final = 2
"""Fields that another recorder cut are a little longer than its limit: they are not cut again."""
LONGEST_OF_FILE: Final = 8 * 1024 * 1024
"""Bytes that are kept of a field of a file, whatever limit held where it was recorded."""


_TEXTS: Final[dict[type[Any], dict[str, Field]]] = {
    kind: {field.name: field for field in fields_of(kind) if field.is_text} for kind in RECORD_TYPES
}
"""The fields of each record that are text, plain or JSON."""


def reredact(record: _R, settings: Settings, longest: int | None = None) -> _R:
    """``record`` as it may be kept here, no field longer than ``longest`` bytes (default: twice the configured
    limit). Raises ValueError where a field that says JSON is none."""
    limit = settings.field_limit * ROOM if longest is None else longest
    return cast("_R", _redacted(drop_content(record, settings), settings, limit))


def _redacted(record: Record, settings: Settings, limit: int) -> Record:
    fields = _TEXTS[type(record)]
    texts = {name: value for name in fields if (value := getattr(record, name)) is not None}
    if settings.redaction.may_skip("\n".join(texts.values())) and max(map(len, texts.values())) <= limit:
        return record
    sieve = Sanitizer((settings.redaction,), limit)
    kept = {name: _kept(sieve, fields[name], value) for name, value in texts.items()}
    changed: dict[str, Any] = {name: value for name, value in kept.items() if value != texts[name]}
    if isinstance(record, ToolCall) and changed:
        changed |= _marks(record, sieve)
    return replace(record, **changed) if changed else record


def _marks(call: ToolCall, sieve: Sanitizer) -> dict[str, Any]:
    """What the record says of what was taken out of it."""
    marks: dict[str, Any] = {"redacted": True} if sieve.redacted else {}
    if sieve.sizes:
        before = orjson.loads(call.full_sizes) if call.full_sizes else {}
        marks |= {"truncated": True, "full_sizes": Json(orjson.dumps({**sieve.sizes, **before}).decode())}
    return marks


def _kept(sieve: Sanitizer, field: Field, value: str) -> str | None:
    if field.type is Json:
        return _json(sieve, field.name, value)
    kept = sieve.sanitize_text(field.name, value)
    if kept is None and not field.about.prose:
        return fix_unicode(value)
    return MASK if kept is None and not field.nullable else kept


def _json(sieve: Sanitizer, name: str, text: str) -> str | None:
    """The text as it is where there is nothing to take out of it: it may spell a number as only it does."""
    before = orjson.loads(text)
    kept = sieve.sanitize_json(name, orjson.dumps(before))
    return text if kept is not None and orjson.loads(kept) == before else kept
