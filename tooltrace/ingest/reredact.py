"""Redaction of records that tooltrace made earlier, and removal of content for ``capture="metadata"``."""

from __future__ import annotations

from typing import Final, TypeVar, cast

import orjson
from msgspec.structs import replace

from tooltrace.core.fields import content_of
from tooltrace.core.record_redaction import TEXTS, redact_fields
from tooltrace.core.records import Gate, Record
from tooltrace.recording.settings import Settings
from tooltrace.redact.plain_data import json_of
from tooltrace.redact.snapshot import Json

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
        return record if names_only is None else replace(record, changed=Json(json_of(names_only).decode()))
    return replace(record, **content) if content else record


LIMIT_FACTOR: Final = 2
"""Factor by which a field may exceed the limit.

Fields that another recorder truncated are a little longer than its limit; they are not truncated again.
"""
MAX_FILE_FIELD_BYTES: Final = 8 * 1024 * 1024
"""Maximum length in bytes of a field read from a file, whatever limit applied where it was recorded."""


def reredact(record: _R, settings: Settings, longest: int | None = None) -> _R:
    """Return ``record`` with content dropped and secrets redacted according to ``settings``.

    No field is longer than ``longest`` bytes (default: twice the configured limit). Raises ValueError if a JSON field
    is not JSON.
    """
    limit = settings.field_limit * LIMIT_FACTOR if longest is None else longest
    redacted = redact_fields(drop_content(record, settings), TEXTS[type(record)], (settings.redaction,), limit)
    return cast("_R", redacted)
