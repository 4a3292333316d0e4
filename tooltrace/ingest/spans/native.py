"""Decoding of spans that tooltrace itself made, in this or another process, back to their records.

Such spans are not trusted. A field of a wrong type makes the span an external one. Secrets are redacted again, because
another recorder may have had fewer patterns.
"""

from __future__ import annotations

from math import isfinite
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
"""The attribute that every span of tooltrace has."""

_FIELDS: Final = {field.name: field for field in fields_of(ToolCall)}
_CHECKS: Final[dict[Any, type | tuple[type, ...]]] = {str: str, float: (int, float), int: int, bool: bool}
_INT64: Final = range(-(2**63), 2**63)


def is_native(form: SpanData) -> bool:
    """Whether tooltrace made the span."""
    return MARK in form.attributes


def decode_native(form: SpanData, settings: Settings) -> ToolCall | None:
    """Return the record that ``form`` was made from, redacted again; None if a field is missing or invalid."""
    try:
        call = decode(form)
    except (TypeError, ValueError, KeyError, OverflowError):
        return None
    if not all(_is_sound(name, value) for name, value in asdict(call).items()):
        return None
    return reredact(call, settings)


def _is_sound(name: str, value: Any) -> bool:
    """Whether ``value`` has the type of the field ``name``."""
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
    if isinstance(value, float):  # JSON has no infinity, and a number of OTLP may overflow to it
        return field.type is float and isfinite(value)
    return isinstance(value, check) and (not isinstance(value, int) or value in _INT64)


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except ValueError:
        return False
    return True
