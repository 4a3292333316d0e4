"""Spans that tooltrace itself made, somewhere: the record is read back as it was.

What comes from elsewhere is not trusted for it. Fields of a wrong kind make it a foreign span, and secrets are taken out
again: another recorder may have had fewer patterns.
"""

from __future__ import annotations

from typing import Any, Final

import orjson
from msgspec.structs import asdict

from tooltrace.core.fields import fields_of
from tooltrace.core.records import ToolCall
from tooltrace.ingest.reredact import reredact
from tooltrace.otel import attributes as names
from tooltrace.otel.span_codec import decode
from tooltrace.otel.span_data import SpanData
from tooltrace.recording.settings import Settings
from tooltrace.redact.snapshot import Json

MARK = names.FIELDS["recorder_version"]
"""The attribute that every span of ours has."""

_FIELDS: Final = {field.name: field for field in fields_of(ToolCall)}
_CHECKS: Final[dict[Any, type | tuple[type, ...]]] = {str: str, float: (int, float), int: int, bool: bool}
_INT64: Final = range(-(2**63), 2**63)


def is_native(form: SpanData) -> bool:
    """Whether tooltrace made the span."""
    return MARK in form.attributes


def decode_native(form: SpanData, settings: Settings) -> ToolCall | None:
    """The record that ``form`` was made from, redacted again; None where it is not whole."""
    try:
        call = decode(form)
    except (TypeError, ValueError, KeyError, OverflowError):
        return None
    if not all(_is_sound(name, value) for name, value in asdict(call).items()):
        return None
    return reredact(call, settings)


def _is_sound(name: str, value: Any) -> bool:
    """Whether a field's value is of the field's kind."""
    field = _FIELDS[name]
    if value is None:
        return field.nullable
    if field.type is Json:
        return isinstance(value, str) and _is_json(value)
    check = _CHECKS.get(field.type)
    if check is None:
        return True
    if isinstance(value, bool):
        return field.type is bool
    return isinstance(value, check) and (field.type is not int or value in _INT64)


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except ValueError:
        return False
    return True
