"""Spans that tooltrace itself made, somewhere: the record is read back as it was.

What comes from elsewhere is not trusted for it. Fields of a wrong kind make it a foreign span, and secrets are taken out
again: another recorder may have had fewer patterns.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import orjson

from tooltrace.capture import scrub
from tooltrace.foreign.untold import untold
from tooltrace.otel import attributes as names
from tooltrace.otel.codec import decode
from tooltrace.otel.form import SpanForm
from tooltrace.record import Json, ToolCall
from tooltrace.settings import Settings
from tooltrace.sieve import Sieve

MARK = names.FIELDS["recorder_version"]
"""The attribute that every span of ours has."""

_KINDS = {field.name: str(field.type).removesuffix(" | None") for field in fields(ToolCall)}
_OPTIONAL = frozenset(field.name for field in fields(ToolCall) if "None" in str(field.type))
_EMBEDDED = tuple(name for name, kind in _KINDS.items() if kind == "Json")
_OWN_WORDS = ("tool_description", "error_message", "suggestion", "user_message", "explanation", "text", "seen_text")
_NAMES = tuple(name for name, kind in _KINDS.items() if kind == "str" and name not in _OWN_WORDS)
_CHECKS: dict[str, type | tuple[type, ...]] = {"str": str, "float": (int, float), "int": int, "bool": bool}
_INT64 = range(-(2**63), 2**63)
_ROOM = 2
"""Fields that another recorder cut are a little longer than its limit: they are not cut again."""


def is_ours(form: SpanForm) -> bool:
    """Whether tooltrace made the span."""
    return MARK in form.attributes


def recovered(form: SpanForm, settings: Settings) -> ToolCall | None:
    """The record that ``form`` was made from, redacted again; None where it is not whole."""
    try:
        call = decode(form)
    except (TypeError, ValueError, KeyError, OverflowError):
        return None
    if not all(_is_sound(name, value) for name, value in vars(call).items()):
        return None
    return _redacted(untold(call, settings), settings)


def _is_sound(name: str, value: Any) -> bool:
    """Whether a field's value is of the field's kind."""
    if value is None:
        return name in _OPTIONAL
    kind = _KINDS[name]
    if kind == "Json":
        return isinstance(value, str) and _is_json(value)
    check = _CHECKS.get(kind)
    if check is None:
        return True
    if isinstance(value, bool):
        return kind == "bool"
    return isinstance(value, check) and (kind != "int" or value in _INT64)


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except ValueError:
        return False
    return True


def _redacted(call: ToolCall, settings: Settings) -> ToolCall:
    """``call`` without what this process's redaction finds; the very same where it finds nothing."""
    values = vars(call)
    known = {name: value for name in (*_OWN_WORDS, *_EMBEDDED, *_NAMES) if (value := values.get(name)) is not None}
    if settings.redaction.clean("\n".join(known.values())) and _short(known, settings):
        return call
    sieve = Sieve((settings.redaction,), settings.field_limit * _ROOM)
    changed: dict[str, Any] = {}
    for name, value in known.items():
        kept = _kept(sieve, name, value)
        if kept != value:
            changed[name] = kept
    if not changed:
        return call
    if sieve.redacted:
        changed["redacted"] = True
    if sieve.sizes:
        sizes = orjson.loads(call.full_sizes) if call.full_sizes else {}
        changed |= {"truncated": True, "full_sizes": Json(orjson.dumps({**sieve.sizes, **sizes}).decode())}
    return ToolCall.of({**vars(call), **changed})


def _short(known: dict[str, str], settings: Settings) -> bool:
    return all(len(value) <= settings.field_limit for value in known.values())


def _kept(sieve: Sieve, name: str, value: str) -> str | None:
    if name in _NAMES:
        return sieve.text(name, value) or scrub(value)
    if name not in _EMBEDDED:
        return sieve.text(name, value)
    safe = sieve.json(name, value.encode())
    return value if safe is not None and orjson.loads(safe) == orjson.loads(value) else safe
