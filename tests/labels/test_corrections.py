"""Corrections by a person, and stored results that are read again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tests.store.conftest import START
from tooltrace.core.records import Correction, ToolCall
from tooltrace.errors import LabelError
from tooltrace.labels.correction import make_correction
from tooltrace.labels.reread import reread
from tooltrace.recording.settings import Settings
from tooltrace.redact.redaction import MASK
from tooltrace.redact.snapshot import Json
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal

READINGS = "SELECT call_id, status, code, rule, rule_grade, status_recorded FROM tool_calls ORDER BY started_at"


@pytest.fixture
def where(tmp_path: Path) -> Path:
    return tmp_path / "t.duckdb"


@pytest.fixture
def put(where: Path) -> Callable[..., None]:
    def put(*records: Any) -> None:
        journal = Journal(StorePaths.of(where).journal)
        journal.write(b"".join(map(encode, records)))
        journal.close()

    return put


@pytest.fixture
def readings(where: Path) -> Callable[[], list[tuple[Any, ...]]]:
    def readings() -> list[tuple[Any, ...]]:
        with tt.connect(where) as db:
            return db.execute(READINGS).fetchall()

    return readings


def made(number: int, **given: Any) -> ToolCall:
    known: dict[str, Any] = {
        "tool": "search", "call_id": f"c{number}", "trace_id": "a" * 32, "span_id": f"{number:016x}",
        "started_at": START + timedelta(seconds=number), "status": "success", "ending": "returned", "rule": "plain",
        "rule_grade": "unread",
    }  # fmt: skip
    return ToolCall(**{**known, **given})


FALSE_ERROR: dict[str, Any] = {
    "status": "error",
    "code": "EXECUTION_ERROR",
    "rule": "error_text",
    "rule_grade": "heuristic",
}


def test_a_function_corrects_a_call_of_this_process(where: Path, readings: Any) -> None:
    tt.configure(store=where)
    tool = tt.trace_tool(lambda: "Error: no such file")
    with tt.context(call_id="call_7"):
        tool()
    tt.correct(call_id="call_7", status="success", reason="a line of the log", labeler="ann")
    assert tt.flush(None)
    assert readings() == [("call_7", "success", None, "correction", "certain", "error")]
    with tt.connect(where) as db:
        assert db.execute("SELECT labeler, labeler_kind, reason FROM corrections").fetchall() == [
            ("ann", "person", "a line of the log")
        ]
        assert db.execute("SELECT count(*) FROM outcomes").fetchall() == [(0,)]


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        ({"status": "success"}, "needs a call_id or a span_id"),
        ({"call_id": "c", "status": "ok"}, "status must be one of success, partial, error, recorded; got 'ok'"),
        ({"call_id": "c", "status": "success", "code": "TIMEOUT"}, "code belongs to an error"),
        ({"call_id": 5, "status": "success"}, "call_id must be text"),
    ],
)
def test_an_invalid_correction_is_an_error(given: dict[str, Any], cause: str) -> None:
    with pytest.raises(LabelError, match=cause) as raised:
        tt.correct(**given)
    assert str(raised.value).endswith("nothing was recorded")


def test_a_secret_in_the_reason_is_redacted() -> None:
    made = make_correction(Settings(store=None), call_id="c", status="error", reason="key sk-abcdefghijklmnopqrstuvwx")
    assert made.reason == f"key {MASK}"


def test_labels_state_the_kind_of_their_labeler_and_target(where: Path) -> None:
    tt.configure(store=where)
    tt.label(call_id="c", correct=True)
    tt.label(span_id="ab", score=0.5, labeler="judge", labeler_kind="agent")
    tt.label(call_id="c", correct=False, labeler="check")
    assert tt.flush(None)
    with tt.connect(where) as db:
        found = db.execute("SELECT labeler, labeler_kind, target_kind FROM outcomes ORDER BY labeled_at").fetchall()
    assert found == [("human", "person", "call"), ("judge", "agent", "attempt"), ("check", None, "call")]
    with pytest.raises(LabelError, match="labeler_kind must be one of person, rule, agent; got 'robot'"):
        tt.label(call_id="c", correct=True, labeler_kind="robot")  # type: ignore[arg-type]


@pytest.mark.long
def test_without_heuristics_their_readings_are_undone_and_restored(where: Path, put: Any, readings: Any) -> None:
    put(
        made(1, **FALSE_ERROR, result=Json('"Error: no such file"'), text="Error: no such file"),
        made(2, **FALSE_ERROR | {"rule": "mcp/hidden"}, result=Json("[1]")),
        made(3, status="error", code="TIMEOUT", rule="flags", rule_grade="certain"),
        made(4, status="error", code="TIMEOUT", rule="exception", rule_grade="certain", ending="raised"),
        made(5, result=Json("[1]")),
    )
    before = readings()
    report = reread(where, "certain")
    assert (report.read, report.changed) == (3, 2)
    undone = ("success", None, "plain", "unread", "error")
    assert [row[1:] for row in readings()[:2]] == [undone, undone]
    assert readings()[2:] == before[2:]
    assert reread(where, "certain").changed == 0, "a second time there is nothing left to undo"
    restored = reread(where, "current")
    assert (restored.changed, readings()) == (2, [(*row[:2], *row[2:]) for row in _today(before)])


def _today(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The reading of today's rules: the text names its code."""
    return [(*rows[0][:2], "NOT_FOUND", *rows[0][3:5], "error"), *rows[1:]]


def test_results_that_no_rule_had_read_are_read_by_todays_rules(where: Path, put: Any, readings: Any) -> None:
    put(
        made(1, result=Json('{"ok":false,"error":"not_in_channel"}')),
        made(2, rule_grade="certain", result=Json('"all is well"')),
        made(3, rule="none"),
        made(4, text="Error: no such file", result=Json('["Error: no ","such file"]'), first_item_ms=1.0),
        made(5, **FALSE_ERROR, result=Json('{"temperature":3}')),
    )
    dry = reread(where, "current", dry_run=True)
    assert (dry.read, dry.changed, sum(dry.changes.values())) == (5, 3, 3)
    assert [row[5] for row in readings()] == [None] * 5
    assert reread(where, "current").changed == 3
    assert readings() == [
        ("c1", "error", "not_in_channel", "flags", "certain", "success"),
        ("c2", "success", None, "plain", "certain", None),
        ("c3", "success", None, "none", "unread", None),
        ("c4", "error", "NOT_FOUND", "error_text", "heuristic", "success"),
        ("c5", "success", None, "plain", "unread", "error"),
    ]
    assert reread(where, "current").changed == 0


def test_an_undone_reading_without_a_stored_result_is_restored(put: Any, where: Path, readings: Any) -> None:
    put(made(1, **FALSE_ERROR))
    before = readings()
    assert [reread(where, mode).changed for mode in ("certain", "current", "current")] == [1, 1, 0]  # type: ignore[arg-type]
    assert readings() == before


def test_a_result_that_is_not_stored_whole_stays_as_it_is(where: Path, put: Any, readings: Any) -> None:
    failure = Json('{"ok":false,"error":"not_in_channel"}')
    put(
        made(1, result=failure, truncated=True, full_sizes=Json('{"result":70000}')),
        made(2, result=Json(f'{{"ok":false,"error":"{MASK}"}}'), redacted=True),
        made(3),
        made(4, result=failure, truncated=True, full_sizes=Json('{"arguments":70000}'), redacted=True),
    )
    report = reread(where, "current")
    assert (report.read, report.changed, report.left) == (4, 1, {"cut": 1, "redacted": 1, "not stored": 1})
    assert [row[1] for row in readings()] == ["success", "success", "success", "error"]


def test_a_persons_correction_stays_in_force(where: Path, put: Any, readings: Any) -> None:
    put(
        made(1, result=Json('{"ok":false,"error":"not_in_channel"}')),
        made(2, **FALSE_ERROR, result=Json('"Error: no such file"')),
        *(Correction(call_id=f"c{n}", status="partial", corrected_at=START + timedelta(minutes=1)) for n in (1, 2)),
    )
    for mode in ("current", "certain"):
        assert reread(where, mode).read == 0  # type: ignore[arg-type]
    assert [row[1] for row in readings()] == ["partial", "partial"]


def test_only_the_attempts_of_a_time_and_a_tool_are_read(where: Path, put: Any) -> None:
    put(*(made(n, tool="a" if n % 2 else "b", result=Json("1")) for n in range(6)))
    assert reread(where, "current", since=START + timedelta(seconds=3)).read == 3
    assert reread(where, "current", since=START + timedelta(seconds=3), tool="a").read == 2
