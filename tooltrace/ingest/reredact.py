"""Redaction of records that tooltrace made earlier, and removal of content for ``capture="metadata"``."""

from __future__ import annotations

from typing import Any, Final, TypeVar, cast

import orjson
from msgspec.structs import replace

from tooltrace.core.fields import Field, content_of, fields_of
from tooltrace.core.records import RECORD_TYPES, Gate, Record, ToolCall
from tooltrace.recording.settings import Settings
from tooltrace.redact.sanitizer import Sanitizer
from tooltrace.redact.snapshot import Json
from tooltrace.redact.texts import MASK, fix_unicode

_R = TypeVar("_R", bound=Record)


def drop_content(record: _R, settings: Settings) -> _R:
    """Return ``record``, without content unless ``settings.capture`` is "full".

    The fields declared as content become None. For arguments that a person changed, the names are kept.
    """
    return record if settings.capture == "full" else cast("_R", _without(record))


def _without(record: Record) -> Record:
    content = dict.fromkeys(content_of(type(record)))
    if isinstance(record, Gate):
        names_only = None if record.changed is None else dict.fromkeys(orjson.loads(record.changed))
        return record if names_only is None else replace(record, changed=Json(orjson.dumps(names_only).decode()))
    return replace(record, **content) if content else record


LIMIT_FACTOR: Final = 2
"""Factor by which a field may exceed the limit.

Fields that another recorder truncated are a little longer than its limit; they are not truncated again.
"""
MAX_FILE_FIELD_BYTES: Final = 8 * 1024 * 1024
"""Maximum length in bytes of a field read from a file, whatever limit applied where it was recorded."""


_TEXTS: Final[dict[type[Any], dict[str, Field]]] = {
    kind: {field.name: field for field in fields_of(kind) if field.is_text} for kind in RECORD_TYPES
}
"""The text fields of each record type, plain or JSON."""


def reredact(record: _R, settings: Settings, longest: int | None = None) -> _R:
    """Return ``record`` with content dropped and secrets redacted according to ``settings``.

    No field is longer than ``longest`` bytes (default: twice the configured limit). Raises ValueError if a JSON field
    is not JSON.
    """
    limit = settings.field_limit * LIMIT_FACTOR if longest is None else longest
    return cast("_R", _redacted(drop_content(record, settings), settings, limit))


def _redacted(record: Record, settings: Settings, limit: int) -> Record:
    fields = _TEXTS[type(record)]
    texts = {name: value for name in fields if (value := getattr(record, name)) is not None}
    # One search over all texts instead of one for each field; most records have no secret.
    if settings.redaction.may_skip("\n".join(texts.values())) and max(map(len, texts.values())) <= limit:
        return record
    sanitizer = Sanitizer((settings.redaction,), limit)
    redacted = {name: _redacted_field(sanitizer, fields[name], value) for name, value in texts.items()}
    changed: dict[str, Any] = {name: value for name, value in redacted.items() if value != texts[name]}
    if isinstance(record, ToolCall) and changed:
        changed |= _marks(record, sanitizer)
    return replace(record, **changed) if changed else record


def _marks(call: ToolCall, sanitizer: Sanitizer) -> dict[str, Any]:
    """Return the fields of the record that report redaction and truncation."""
    marks: dict[str, Any] = {"redacted": True} if sanitizer.redacted else {}
    if sanitizer.sizes:
        before = orjson.loads(call.full_sizes) if call.full_sizes else {}
        marks |= {"truncated": True, "full_sizes": Json(orjson.dumps({**sanitizer.sizes, **before}).decode())}
    return marks


def _redacted_field(sanitizer: Sanitizer, field: Field, value: str) -> str | None:
    if field.type is Json:
        return _json(sanitizer, field.name, value)
    redacted = sanitizer.sanitize_text(field.name, value)
    if redacted is None and not field.about.prose:
        return fix_unicode(value)
    return MASK if redacted is None and not field.nullable else redacted


def _json(sanitizer: Sanitizer, name: str, text: str) -> str | None:
    """Return the redacted JSON text.

    A text without secrets is returned unchanged, because parsing and writing may change how a number is spelled.
    """
    before = orjson.loads(text)
    redacted = sanitizer.sanitize_json(name, orjson.dumps(before))
    return text if redacted is not None and orjson.loads(redacted) == before else redacted
