"""The JSON Schema of journal lines, the test vectors, and the table of the kinds of records."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zlib import crc32

from docs.markdown import table
from tooltrace.core.fields import Field, fields_of
from tooltrace.core.records import Begun, Correction, Gate, Loss, Message, Outcome, Record, SavedQuery, Span, ToolCall
from tooltrace.redact.snapshot import Json
from tooltrace.store.journal.line_format import KINDS, WIRE_NAMES, LineError, decode, encode

TYPES: Final[dict[Any, dict[str, Any]]] = {
    str: {"type": "string"},
    int: {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    Json: {},  # any JSON value
}
TABLES: Final = {
    "call": "tool_calls",
    "outcome": "outcomes",
    "correction": "corrections",
    "gate": "gates",
    "message": "messages",
    "loss": "losses",
    "span": "spans",
    "query": "saved_queries",
    "begun": "begun",
}
"""The table of the store that has the records of each kind."""


def kinds_table() -> str:
    """Return the kinds of records, each with the members that a line always has."""
    rows = []
    for kind, record in KINDS.items():
        required = ", ".join(f"`{_wire_name(field)}`" for field in fields_of(record) if field.required)
        name = TABLES[kind]
        rows.append((f'`"{kind}"`', f"[{name}](columns.md#{name})", required))
    return table(("kind", "columns", "members that a line always has"), rows)


def schema() -> str:
    """Return the JSON Schema of one line."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a journal of tooltrace",
        "description": "The checksum is not covered by this schema: see journal.md. Unknown members are allowed; a later version may add some.",
        "oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in KINDS],
        "$defs": {kind: _definition(kind, record) for kind, record in KINDS.items()},
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _definition(kind: str, record: type[Record]) -> dict[str, Any]:
    fields = fields_of(record)
    own = {"crc": {"type": "string", "pattern": "^[0-9a-f]{8}$"}, "kind": {"const": kind}}
    return {
        "type": "object",
        "description": " ".join((record.__doc__ or "").split("\n\n")[0].split()),
        "required": [*own, *(_wire_name(field) for field in fields if field.required)],
        "properties": own | {_wire_name(field): _property(field) for field in fields},
    }


def _property(field: Field) -> dict[str, Any]:
    return {**TYPES[field.type], "description": field.about.meaning}


def _wire_name(field: Field) -> str:
    return WIRE_NAMES.get(field.name, field.name)


# Test vectors

AT: Final = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
TRACE, SPAN, RETRY = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "53995c3f42cd8ad8"
RECORDS: Final[dict[str, Record]] = {
    "a call that failed": ToolCall(
        tool="fetch", call_id="call_7", trace_id=TRACE, span_id=SPAN, started_at=AT, duration_ms=12.5, status="error",
        ending="raised", code="TIMEOUT", error_message="no answer after 10 s", arguments=Json('{"url":"https://example.org"}'),
    ),
    "its retry, with text beyond ASCII and a line break": ToolCall(
        tool="fetch", call_id="call_7", attempt=2, trace_id=TRACE, span_id=RETRY, started_at=AT + timedelta(seconds=1),
        duration_ms=80.0, status="success", confidence=0.9, result=Json('"naïve café 北京 🙂"'), text="first\nsecond",
    ),
    "embedded JSON keeps its characters": ToolCall(
        tool="sum", call_id="call_8", trace_id=TRACE, span_id="a1b2c3d4e5f60718", started_at=AT,
        arguments=Json('{"a": 1.0, "b": 1E5, "c": 123456789012345678901234567890}'),
    ),
    "a label": Outcome(call_id="call_7", correct=False, reason="another edition", labeler="ann", labeled_at=AT),
    "a loss": Loss(reason="queue_full", count=3, at=AT),
    "a span that is not a tool call": Span(trace_id=TRACE, span_id="b7ad6b7169203331", name="GET", started_at=AT),
    "a message to the model": Message(call_id="call_7", sha256="0" * 64, length=5, error=False, at=AT, text="first"),
    "a question to a person": Gate(call_id="call_9", span_id="c0ffee0000000001", kind="confirmation", asked_at=AT),
    "a corrected reading": Correction(span_id=SPAN, status="success", labeler="ann", corrected_at=AT),
    "a call that runs": Begun(
        tool="fetch", call_id="call_10", trace_id=TRACE, span_id="c0ffee0000000002", started_at=AT,
        arguments=Json('{"url":"https://example.org/large"}'), host="laptop", pid=4711,
    ),
    "a saved query": SavedQuery(name="failures by tool", sql="FROM tool_calls", saved_by="ann", saved_at=AT),
}  # fmt: skip


def vectors() -> str:
    """Return the test vectors: lines, and for each the members of its record or the reason why it is none."""
    lines = {name: encode(record).removesuffix(b"\n") for name, record in RECORDS.items()}
    first = next(iter(lines.values()))
    unknown = b'"kind":"later","x":1}'
    broken = {
        "a torn line": first[:100],
        "a changed byte": first.replace(b'"fetch"', b'"fetsh"'),
        "an empty line, where a record was forgotten": b"",
        "a kind of a later version": b'{"crc":"%08x",%b' % (crc32(unknown), unknown),
    }
    rows = [{"name": name, "line": line.decode(), "record": _members(line)} for name, line in (lines | broken).items()]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def _members(line: bytes) -> dict[str, Any] | None:
    """Return the members of the line without its checksum; None for a line that is not a record of this version."""
    try:
        decode(line)
    except LineError:
        return None
    members: dict[str, Any] = json.loads(line)
    del members["crc"]
    return members
