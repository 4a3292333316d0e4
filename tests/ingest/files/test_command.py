"""``tooltrace import``."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

import tooltrace as tt
from tooltrace.cli import cli
from tooltrace.core.records import ToolCall
from tooltrace.redact.snapshot import Json
from tooltrace.store.journal.line_format import encode


@pytest.fixture
def where(tmp_path):
    return tmp_path / "history.duckdb"


@pytest.fixture
def run(where):
    def run(*arguments):
        return CliRunner().invoke(cli, ["import", *map(str, arguments), "--store", str(where)])

    return run


@pytest.fixture
def rows(where):
    def rows(sql="SELECT tool, call_id, status, ending FROM tool_calls ORDER BY started_at, call_id"):
        with tt.connect(where) as db:
            return db.execute(sql).fetchall()

    return rows


@pytest.fixture
def good(trace, event):
    return trace(
        [
            event("tool_call", 1, tool_name="add", tool_call_id="call_1", args={"a": 1}),
            event("tool_result", 2, tool_name="add", tool_call_id="call_1", result="3"),
            event("tool_call", 3, tool_name="add", tool_call_id="call_2"),
        ],
        "good.jsonl",
    )


def test_imported_records_can_be_queried(run, rows, good):
    done = run(good)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "2 calls read from 1 file, 0 lines skipped.\n", "")
    assert rows() == [("add", "call_1", "success", "returned"), ("add", "call_2", None, "abandoned")]


def test_twice_is_stored_once_folded_or_not(run, rows, good):
    assert run(good, good).exit_code == 0
    assert len(rows()) == 2
    assert run(good).exit_code == 0
    assert len(rows()) == 2


def test_a_bad_line_is_reported_with_its_number_and_skipped(run, rows, trace, event):
    path = trace([event("tool_result", tool_name="t", tool_call_id="c", result="ok"), "{torn", *["worse"] * 20])
    done = run(path)
    assert done.exit_code == 0
    assert done.stdout == "1 call read from 1 file, 21 lines skipped.\n"
    assert f"{path}:2: not a JSON object; skipped\n" in done.stderr
    assert done.stderr.endswith(f"{path}: 11 more lines skipped\n")
    assert [row[1] for row in rows()] == ["c"]


def test_a_file_that_cannot_be_read_fails_and_the_others_are_imported(run, rows, good, tmp_path):
    foreign = tmp_path / "notes.txt"
    foreign.write_text("nothing of the kind\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    done = run(tmp_path / "none.jsonl", good, foreign, empty)
    assert done.exit_code == 1
    assert done.stdout == "2 calls read from 1 file, 0 lines skipped.\n"
    first, second, third = done.stderr.splitlines()
    assert first.startswith(f"tooltrace: {empty}: the folder has no file that ends in .json, ")
    assert second == f"tooltrace: {tmp_path / 'none.jsonl'}: No such file or directory"
    assert third.startswith(f"tooltrace: {foreign}: unknown format; accepted are exports of tooltrace (jsonl, ")
    assert len(rows()) == 2


def test_an_empty_file_has_no_calls(run, tmp_path):
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"\n")
    done = run(path)
    assert (done.exit_code, done.stdout) == (0, "0 calls read from 1 file, 0 lines skipped.\n")


def test_no_file_is_wrong_usage(run):
    assert run().exit_code == 2


def test_no_secret_reaches_the_disk(run, trace, event, where, tmp_path):
    secret = "sk-abcdefghijklmnopqrstuvwx"
    path = trace([event("tool_result", tool_name="t", result=f"the key is {secret}")])
    assert run(path).exit_code == 0
    path.unlink()
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"the key is" in kept
    assert secret.encode() not in kept


def test_a_name_that_would_play_with_the_terminal_does_not(run, tmp_path):
    path = tmp_path / "a\x1b[31mred.jsonl"
    path.write_text("nothing\n")
    assert "\x1b" not in run(path).output


def test_a_pipe_is_refused_without_a_wait(run, tmp_path):
    os.mkfifo(tmp_path / "calls.jsonl")
    result = run(tmp_path / "calls.jsonl")
    assert result.exit_code == 1
    assert "is neither a file nor a folder" in result.output


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_file_is_reported(run, good):
    good.chmod(0)
    done = run(good)
    assert done.exit_code == 1
    assert "Permission denied" in done.stderr


def test_a_journal_that_cannot_be_written_fails(run, good, where):
    where.with_name(f"{where.name}.journal").write_text("in the way")
    done = run(good)
    assert done.exit_code == 1
    assert "cannot write the journal" in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.long
def test_many_calls_of_a_long_file_all_arrive(run, rows, trace, event):
    lines = [
        event("tool_result", number % 60, tool_name="t", tool_call_id=f"c{number}", result="x" * 100)
        for number in range(3000)
    ]
    assert run(trace(lines)).exit_code == 0
    assert rows("SELECT count(*), count(DISTINCT call_id) FROM tool_calls") == [(3000, 3000)]


def test_a_long_first_line_does_not_prevent_detection(run, rows, trace, event):
    assert run(trace([event("tool_result", tool_name="t", tool_call_id="c", result="x" * 2_000_000)])).exit_code == 0
    assert [row[1] for row in rows()] == ["c"]


def test_an_overlong_line_is_skipped_and_the_next_is_read(run, trace, event, monkeypatch):
    from tooltrace.ingest.files import reader

    monkeypatch.setattr(reader, "MAX_LINE_BYTES", 1024 * 1024)
    short = event("tool_result", tool_name="t", tool_call_id="c", result="ok")
    done = run(trace([short, event("tool_result", tool_name="t", result="x" * 3_500_000), short]))
    assert done.stdout == "2 calls read from 1 file, 1 line skipped.\n"
    assert ":2: longer than 1 MiB" in done.stderr


def test_the_command_is_listed():
    assert "import" in CliRunner().invoke(cli, ["--help"]).stdout
    assert json.dumps("FILE…", ensure_ascii=False).strip('"') in CliRunner().invoke(cli, ["import", "--help"]).stdout


def test_capture_metadata_leaves_out_content(tmp_path):
    file = tmp_path / "calls.jsonl"
    call = ToolCall(
        tool="t", call_id="c", trace_id="1" * 32, span_id="2" * 16, started_at=datetime(2026, 1, 1, tzinfo=UTC), status="success",
        arguments=Json('{"q":"told-nobody"}'), result=Json('"told-nobody"'), text="told-nobody",
    )  # fmt: skip
    file.write_bytes(encode(call))
    store = tmp_path / "t.duckdb"
    done = CliRunner().invoke(cli, ["import", "--capture", "metadata", "--store", str(store), str(file)])
    assert done.exit_code == 0, done.output
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path != file)
    assert b'"tool":"t"' in kept
    assert b"told-nobody" not in kept
