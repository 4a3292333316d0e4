"""Mistakes of the first hour: they are reported at once and lose nothing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tooltrace.errors import ConfigError, LabelError, StoreError
from tooltrace.redact.redaction import MASK


@pytest.mark.parametrize("retryable", ["TimeoutError", TimeoutError(), [TimeoutError, "OSError"], int])
def test_only_exception_classes_are_accepted_at_decoration(retryable: Any) -> None:
    with pytest.raises((ConfigError, TypeError)):
        tt.trace_tool(retryable=retryable)(lambda: None)


@pytest.mark.parametrize(
    "label",
    [
        {"correct": "wrong"},
        {"correct": 0.5},
        {"correct": True, "reason": object()},
        {"correct": True, "labeler": 5},
        {"score": 2},
    ],
)
def test_a_label_that_cannot_be_stored_is_refused(store: Path, label: dict[str, Any]) -> None:
    with pytest.raises(LabelError):
        tt.label(call_id="c", **label)


def test_the_reason_of_a_label_is_redacted(store: Path) -> None:
    tt.label(call_id="c", correct=True, reason="it said password=hunter22222")
    with tt.connect() as db:
        assert db.execute("SELECT reason FROM outcomes").fetchall() == [(f"it said password={MASK}",)]


@pytest.mark.parametrize("duration", ["3", math.nan, math.inf, -3, 1e300])
def test_an_invalid_duration_is_unknown(store: Path, calls: Any, duration: Any) -> None:
    assert tt.TraceLogger().record("t", 1, duration_ms=duration) is not None
    assert [call.duration_ms for call in calls()] == [None]


def test_arguments_that_are_not_a_mapping_do_not_stop_the_block(store: Path, calls: Any) -> None:
    with tt.TraceLogger().call("t", "not a mapping") as call:  # type: ignore[arg-type]
        call.finish(1)
    assert [call.arguments for call in calls()] == ['{"value":"not a mapping"}']


@pytest.mark.parametrize("store", [5, b"x", "", "postgres://host/db"])
def test_an_invalid_path_is_refused(store: Any) -> None:
    with pytest.raises(ConfigError, match="store"):
        tt.configure(store=store)


def test_a_directory_is_refused_as_a_store(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="directory"):
        tt.configure(store=tmp_path)


def test_a_file_of_somebody_elses_is_not_moved(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("my notes\n" * 1000)
    with pytest.raises(StoreError, match="is a text file, not a tooltrace store"):
        tt.query("recent", store=notes)
    assert notes.read_text() == "my notes\n" * 1000


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    place = tmp_path / "empty.duckdb"
    place.touch()
    tt.configure(store=place)
    tt.trace_tool(lambda: 1)()
    assert tt.query("failure_rate").rows
    assert not list(tmp_path.glob("*.damaged-*"))


@pytest.mark.parametrize(
    "text",
    [
        "mysql --password Xy7secretXy7 -h db",
        "curl -u alice:Xy7secretXy7 https://example.org",
        "git clone https://Xy7secretXy7Xy7secretXy7@example.org/x.git",
        "<password>Xy7secretXy7</password>",
        '[{"name": "password", "value": "Xy7secretXy7"}]',
        '{"headers": [{"name": "X-Api-Key", "value": "Xy7secretXy7"}, {"name": "Accept", "value": "text/html"}]}',
    ],
)
def test_a_secret_in_a_command_a_url_a_tag_or_a_header_is_redacted(store: Path, calls: Any, text: str) -> None:
    tt.trace_tool(lambda command: command, name="run")(command=text)
    (call,) = calls()
    assert "Xy7secretXy7" not in f"{call.arguments} {call.result} {call.text}"
    assert MASK in (call.text or "")
    assert call.redacted


def test_a_process_that_has_recorded_nothing_yet_is_answered(tmp_path: Path) -> None:
    tt.configure(store=tmp_path / "none" / "t.duckdb")
    assert tt.query("failure_rate").rows == []
    with tt.connect() as db:
        assert db.execute("SELECT count(*) FROM tool_calls").fetchall() == [(0,)]
    assert not (tmp_path / "none").exists(), "asking makes nothing"
    with pytest.raises(tt.TooltraceError, match="no store"):
        tt.query("failure_rate", store=tmp_path / "other.duckdb")
    tt.shutdown()
