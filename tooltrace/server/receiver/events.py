"""Log events that are records: redacted and bounded like all that is written."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Final

from tooltrace.foreign.untold import untold
from tooltrace.otel import attributes as names
from tooltrace.otel.events import Event, from_log, name_of, why_not
from tooltrace.otel.form import LogForm
from tooltrace.server.receiver.receipt import Receipt
from tooltrace.settings import Settings
from tooltrace.sieve import Sieve

NOT_OURS: Final = "a log record that is no evaluation and no event of tooltrace is not kept"
LONGEST_NAME: Final = 1024
"""Characters that are kept of a name or an id."""

_FREE_TEXT: Final = frozenset({"reason", "text", "note", "detail", "answered_by", "labeler"})


def to_record(form: LogForm, settings: Settings, receipt: Receipt) -> Event | None:
    """The record of ``form``; None where there is none to keep, as ``receipt`` is told where that is a loss."""
    record = from_log(form)
    if record is not None:
        return _safe(record, settings)
    if name_of(form) == names.EXCEPTION_EVENT:  # its span says the same
        return None
    reason = why_not(form)
    if reason is None:
        receipt.reject(NOT_OURS)
    else:
        receipt.lose(reason)
    return None


def _safe(record: Event, settings: Settings) -> Event:
    sieve = Sieve((settings.redaction,), settings.field_limit)
    safe: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if not isinstance(value, str):
            continue
        if "Json" in str(field.type):
            safe[field.name] = sieve.json(field.name, value.encode())
        elif field.name in _FREE_TEXT:
            safe[field.name] = sieve.text(field.name, value) or ("" if field.default is not None else None)
        else:
            safe[field.name] = value[:LONGEST_NAME]
    return untold(replace(record, **safe), settings)
