"""What ``capture="metadata"`` leaves out of a record that comes in: the same as of a call that is recorded here."""

from __future__ import annotations

from typing import TypeVar, cast

import orjson
from msgspec.structs import replace

from tooltrace.fields import content_of
from tooltrace.record import Gate, Json, Record
from tooltrace.settings import Settings

_R = TypeVar("_R", bound=Record)


def untold(record: _R, settings: Settings) -> _R:
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
