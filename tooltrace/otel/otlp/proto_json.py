"""OTLP messages as JSON: protobuf's own mapping, with ids in hex and enums as numbers."""

from __future__ import annotations

import base64
from typing import Any, Final, TypeVar

import orjson
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import Message

from tooltrace.redact.plain_data import json_of

_M = TypeVar("_M", bound=Message)
_IDS: Final = ("traceId", "spanId", "parentSpanId")
"""Members that OTLP writes in hex; all other bytes are base64."""


def message_to_json(message: Message) -> bytes:
    """Return ``message`` as JSON text."""
    data = MessageToDict(message, use_integers_for_enums=True)
    _write_ids_in_hex(data)
    return json_of(data)


def merge_json(text: bytes, message: _M) -> _M:
    """Add the members of the JSON ``text`` to ``message``; unknown ones are ignored. Raises ValueError."""
    try:
        return ParseDict(orjson.loads(text), message, ignore_unknown_fields=True)
    except ParseError as error:
        raise ValueError(str(error)) from error


def _write_ids_in_hex(data: Any) -> None:
    """Replace the ids in ``data``. Attributes are lists of keys and values, so none of their names can be met here."""
    if isinstance(data, list):
        for item in data:
            _write_ids_in_hex(item)
    elif isinstance(data, dict):
        for key, value in data.items():
            if key in _IDS and isinstance(value, str):
                data[key] = base64.b64decode(value).hex()
            elif key != "attributes":
                _write_ids_in_hex(value)
