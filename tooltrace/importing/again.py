"""A record that tooltrace made before, by way of a file: the same, but for secrets that are taken out now.

Nobody knows who wrote the file, or what was redacted then. Where nothing is to be taken out the record is equal.
"""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any, Final, TypeVar

import orjson

from tooltrace.foreign.untold import untold
from tooltrace.record import Gate, Loss, Message, Outcome, Record, Span, ToolCall
from tooltrace.redaction import MASK
from tooltrace.settings import Settings
from tooltrace.sieve import Sieve

LONGEST: Final = 8 * 1024 * 1024
"""Bytes that are kept of a field, whatever limit held where it was recorded."""

_R = TypeVar("_R", bound=Record)
_TEXTS: Final[dict[type[Any], dict[str, bool]]] = {
    kind: {field.name: "Json" in str(field.type) for field in fields(kind) if re.match("str|Json", str(field.type))}
    for kind in (ToolCall, Outcome, Gate, Message, Loss, Span)
}
"""The fields of each record that are text, and whether they are JSON."""
_REQUIRED: Final = {field.name for kind in _TEXTS for field in fields(kind) if str(field.type) == "str"}


def again(record: _R, settings: Settings) -> _R:
    """``record`` as it may be kept here. Raises ValueError where a field that says JSON is none."""
    sieve = Sieve((settings.redaction,), LONGEST)
    changed: dict[str, Any] = {}
    for name, is_json in _TEXTS[type(record)].items():
        value = getattr(record, name)
        if value is None or (len(value) <= LONGEST and settings.redaction.clean(value)):
            continue
        kept = _json(sieve, name, value) if is_json else sieve.text(name, value)
        if kept != value:
            changed[name] = MASK if kept is None and name in _REQUIRED else kept
    if isinstance(record, ToolCall) and sieve.redacted:
        changed["redacted"] = True
    return untold(replace(record, **changed) if changed else record, settings)


def _json(sieve: Sieve, name: str, text: str) -> str | None:
    """The text as it is where there is nothing to take out of it: it may spell a number as only it does."""
    before = orjson.loads(text)
    kept = sieve.json(name, orjson.dumps(before))
    return text if kept is not None and orjson.loads(kept) == before else kept
