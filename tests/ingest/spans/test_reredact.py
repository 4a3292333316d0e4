"""A record of tooltrace that comes in is redacted again, whatever its kind, and is else what it was."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from msgspec.structs import replace

from tooltrace.core.records import Gate, Loss, Message, Outcome, Record, Span, ToolCall
from tooltrace.ingest.reredact import reredact
from tooltrace.recording.settings import Settings
from tooltrace.redact.redaction import MASK, Redaction
from tooltrace.redact.snapshot import Json

AT = datetime(2026, 11, 1, tzinfo=UTC)
SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
IDS = {"call_id": "c1", "span_id": "b7ad6b7169203331"}
TRACE = "0af7651916cd43dd8448eb211c80319c"
RECORDS: dict[str, tuple[Record, str]] = {
    "tool call": (ToolCall(tool="t", trace_id=TRACE, started_at=AT, duration_ms=1.0, status="success", **IDS), "text"),
    "outcome": (Outcome(**IDS, correct=False, labeled_at=AT), "reason"),
    "gate": (Gate(**IDS, kind="confirmation", asked_at=AT), "note"),
    "message": (Message(**IDS, sha256="0", length=1, error=False, at=AT), "text"),
    "loss": (Loss(reason="overflow", count=1, at=AT), "detail"),
    "span": (Span(trace_id=TRACE, span_id="1" * 16, name="n", started_at=AT), "status_message"),
}
each = pytest.mark.parametrize(("record", "field"), RECORDS.values(), ids=RECORDS)


def changed(record: Record, **fields: Any) -> Any:
    return replace(record, **fields)


@each
def test_records_without_secrets_are_unchanged(record: Record, field: str) -> None:
    assert reredact(plain := changed(record, **{field: "plain"}), Settings(store=None)) == plain


@each
def test_a_secret_is_redacted(record: Record, field: str) -> None:
    kept = reredact(changed(record, **{field: f"key {SECRET} end"}), Settings(store=None))
    assert SECRET not in getattr(kept, field)
    assert getattr(kept, field).startswith("key ")


@each
def test_failed_redaction_removes_texts_but_not_ids(record: Record, field: str) -> None:
    def broken(_field: str, _value: Any) -> Any:
        raise RuntimeError("no")

    settings = Settings(store=None, redaction=Redaction(hook=broken))
    kept = reredact(changed(record, **{field: "plain"}), settings)
    assert getattr(kept, field) is None
    assert all(getattr(kept, name) == getattr(record, name) for name in ("call_id", "span_id") if hasattr(record, name))


def test_a_required_text_whose_redaction_fails_is_masked() -> None:
    settings = Settings(store=None, redaction=Redaction(hook=lambda _field, _value: None))
    assert reredact(RECORDS["loss"][0], settings).reason == MASK  # type: ignore[union-attr]


def test_a_long_field_of_a_call_is_cut_and_marked() -> None:
    call: Any = changed(RECORDS["tool call"][0], text="x" * 5000, full_sizes=Json('{"result":9}'))
    kept = reredact(call, Settings(store=None, field_limit=1024), 2000)
    assert (len(kept.text), kept.truncated) == (2000, True)
    assert orjson.loads(kept.full_sizes) == {"text": 5000, "result": 9}


def test_json_without_secrets_is_unchanged() -> None:
    redaction = Redaction(hook=lambda _field, value: value)
    call: Any = changed(RECORDS["tool call"][0], result=Json('{"n":1.0E+2}'))
    assert reredact(call, Settings(store=None, redaction=redaction)).result == '{"n":1.0E+2}'


def test_invalid_json_is_an_error() -> None:
    call: Any = changed(RECORDS["tool call"][0], result=Json(f"{{{SECRET}"))
    with pytest.raises(ValueError, match="unexpected|character|JSON|key"):
        reredact(call, Settings(store=None))
