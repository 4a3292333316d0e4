"""Redaction of what is stored already."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tooltrace.core.records import Message
from tooltrace.redact.redaction import Redaction
from tooltrace.redact.snapshot import Json
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.upkeep.doctor import examine
from tooltrace.store.upkeep.redact_stored import redact_stored

from .conftest import START, MakeCall, Write
from .probe import places_of

Rows = Callable[[str], list[tuple[Any, ...]]]
SECRET = "sk-" + os.urandom(24).hex()
OWN = "customer-4711"


@pytest.mark.long
def test_secrets_leave_every_file_and_are_counted_by_column(
    store: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    text = f"the key is {SECRET}"
    with_secret = call(1, text=text, arguments=Json(json.dumps({"password": SECRET[3:], "n": 1})))
    message = Message(
        call_id="c1", span_id=f"{1:016x}", text=text, sha256="0" * 64, length=9, error=False, at=START + timedelta(1)
    )
    write(with_secret, message, call(2, text="nothing to see"))
    fold(store)
    shutil.copy(store.database, f"{store.database}.damaged-20260102T030405.000006Z")
    live = Journal(store.journal)
    live.write(encode(call(3, text=text)) + encode(call(4)))
    fold(store)
    before = places_of(SECRET[3:], store.database.parent)
    assert {f"{store.database.name}:attempts", f"{store.database.name}:messages"} <= set(before)
    found = {"attempts.text": 2, "attempts.arguments": 1, "messages.text": 1}
    preview = redact_stored(store, Redaction(), dry_run=True)
    assert preview.values == found
    assert list(preview.lines.values()) == [1]
    assert places_of(SECRET[3:], store.database.parent) == before
    report = redact_stored(store, Redaction())
    assert report.values == found
    assert places_of(SECRET[3:], store.database.parent) == []
    live.write(encode(call(5)))
    assert rows("SELECT call_id, text, redacted FROM tool_calls ORDER BY call_id") == [
        ("c1", "the key is [redacted]", True),
        ("c2", "nothing to see", None),
        ("c3", "the key is [redacted]", True),
        ("c4", None, None),
        ("c5", None, None),
    ]
    assert rows("SELECT arguments->>'n' FROM tool_calls WHERE call_id = 'c1'") == [("1",)]
    assert examine(store).damaged == ()
    assert redact_stored(store, Redaction()).values == {}
    live.close()


@pytest.mark.long
def test_patterns_and_keys_of_a_user_are_redacted_but_ids_stay(
    store: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    write(call(1, call_id=OWN, text=f"order of {OWN}", arguments=Json('{"badge": "x17", "q": 1}')))
    report = redact_stored(store, Redaction(patterns=[r"customer-\d+"], keys=["badge"]))
    assert report.values == {"attempts.text": 1, "attempts.arguments": 1}
    assert rows("SELECT call_id, text, arguments->>'badge' FROM tool_calls") == [
        (OWN, "order of [redacted]", "[redacted]")
    ]
