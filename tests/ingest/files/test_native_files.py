"""Our own exports and journals as somebody may hand them in: edited, damaged, with secrets."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pytest
from click.testing import CliRunner, Result

import tooltrace as tt
from tests.ingest.files.test_other_tools import calls_of, imported
from tooltrace.cli import cli
from tooltrace.core.records import Outcome, Record, ToolCall
from tooltrace.exporters.protocol import Target
from tooltrace.exporters.registry import create
from tooltrace.ingest.files import UnreadableFile
from tooltrace.redact.snapshot import Json
from tooltrace.store.journal.line_format import encode

AT = datetime(2026, 11, 21, 12, 0, 0, 1, tzinfo=UTC)
SECRET = "sk-abcdefghijklmnopqrstuvwx"
EXPORTS = {"jsonl": "out.jsonl", "csv": "out.csv", "otlp-json": "out.json", "parquet": "out"}


def call(number: int = 1, **more: Any) -> ToolCall:
    values = {"tool": "search", "call_id": f"c{number}", "trace_id": "a" * 32, "span_id": f"{number:016x}"}
    known: dict[str, Any] = {"started_at": AT, "status": "success", "recorder_version": "0.1.0"}
    return ToolCall(**{**values, **known, **more})


def exported(name: str, folder: Path, *records: Record) -> Path:
    path = folder / EXPORTS[name]
    destination = create(name, Target(path=path))
    destination.send(records)
    destination.close()
    return path


@pytest.fixture
def run(tmp_path: Path) -> Any:
    def run(*arguments: object) -> Result:
        return CliRunner().invoke(cli, ["import", *map(str, arguments), "--store", str(tmp_path / "in.duckdb")])

    return run


@pytest.mark.parametrize("name", EXPORTS)
def test_a_secret_in_a_native_file_is_redacted_and_reported(name: str, tmp_path: Path) -> None:
    raw = call(1, text=f"the key is {SECRET}", arguments=Json('{"api_key":"hunter22","n":1}'))
    clean = call(2, text="all is well", arguments=Json('{"n":1}'))
    path = exported(name, tmp_path, raw, clean)
    found = calls_of([record for file in files(path) for record in imported(file)[0]])
    assert found[1] == clean
    assert SECRET not in (found[0].text or "")
    assert json.loads(found[0].arguments or "") == {"api_key": "[redacted]", "n": 1}
    assert found[0].redacted is True


def files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.parquet")) if path.is_dir() else [path]


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_imported_twice_is_stored_once(name: str, tmp_path: Path, run: Any) -> None:
    records = [*map(call, range(1, 6)), Outcome(call_id="c1", correct=True, reason="seen", labeled_at=AT)]
    path = exported(name, tmp_path, *records)
    paths = [path] if name != "csv" else [path, path.with_name("out.outcomes.csv")]
    for _ in range(2):
        done = run(*paths)
        assert done.exit_code == 0, done.output
        assert done.stdout.startswith("5 calls and 1 other record read from ")
        with tt.connect(tmp_path / "in.duckdb") as db:
            assert db.execute("SELECT count(*), count(DISTINCT span_id) FROM tool_calls").fetchall() == [(5, 5)]
            assert db.execute("SELECT call_id, correct, reason FROM outcomes").fetchall() == [("c1", True, "seen")]


def test_a_journal_is_read_as_it_is_and_a_damaged_line_is_skipped(tmp_path: Path) -> None:
    lines = [encode(call(number)) for number in (1, 2, 3)]
    path = tmp_path / "journal.jsonl"
    path.write_bytes(lines[0] + lines[1].replace(b"search", b"forged") + lines[2])
    records, outcome = imported(path)
    assert records == [call(1), call(3)]
    assert [line.line for line in outcome.examples] == [2]
    assert "checksum" in outcome.examples[0].reason


def test_lines_of_an_export_may_be_edited_and_respelled(tmp_path: Path) -> None:
    path = exported("jsonl", tmp_path, call(1), call(2))
    objects = [json.loads(line) for line in path.read_text().splitlines()]
    objects[1]["tool"] = "renamed"
    path.write_text("".join(json.dumps(each) + "\r\n\n" for each in objects))
    records, outcome = imported(path)
    assert records == [call(1), call(2, tool="renamed")]
    assert outcome.skipped == 0


@pytest.mark.parametrize(
    "line",
    [
        '{"kind":"call"}',
        '{"kind":"later","tool":"x"}',
        "nonsense",
        '{"kind":"call","tool":1}',
        '{"kind":"loss","reason":"x","count":"2","at":"soon"}',
        "[1]",
        '{"kind":"call",' + "[" * 5000,
    ],
)
def test_a_line_that_is_not_a_record_is_skipped_with_its_number(line: str, tmp_path: Path) -> None:
    path = exported("jsonl", tmp_path, call(1))
    path.write_bytes(path.read_bytes() + line.encode() + b"\n" + encode(call(2)))
    records, outcome = imported(path)
    assert records == [call(1), call(2)]
    assert [each.line for each in outcome.examples] == [2]


def test_a_csv_row_that_is_not_a_record_is_skipped_with_its_line(tmp_path: Path) -> None:
    path = exported("csv", tmp_path, call(1, text="one\r\ntwo\n"), call(2), call(3))
    text = path.read_bytes().decode()
    head, *rows = text.split("\r\nsearch,")
    broken = rows[1].replace(AT.strftime("%Y-"), "soon-")
    path.write_bytes("\r\nsearch,".join([head, rows[0], broken, rows[2].rstrip(), "too,short\r\n"]).encode())
    records, outcome = imported(path)
    assert [record.call_id for record in calls_of(records)] == ["c1", "c3"]
    assert [line.line for line in outcome.examples] == [5, 7]
    assert "started_at is not of the type datetime" in outcome.examples[0].reason


def test_a_formula_does_not_run_in_a_spreadsheet(tmp_path: Path) -> None:
    path = exported("csv", tmp_path, *(call(n, text=text) for n, text in enumerate(("=1+1", "@x", "-2", "+3", "'"), 1)))
    lines = path.read_text().splitlines()
    texts = [line.split(",")[lines[0].split(",").index("text")] for line in lines[1:]]
    assert texts == ["'=1+1", "'@x", "'-2", "'+3", "''"]


def test_csv_with_semicolons_is_read_as_some_spreadsheets_save_it(tmp_path: Path) -> None:
    path = exported("csv", tmp_path, call(1, text="plain"))
    path.write_text(path.read_text().replace(",", ";"))
    assert imported(path)[0] == [call(1, text="plain")]


def test_a_table_that_somebody_made_with_sql_is_read(tmp_path: Path) -> None:
    path = tmp_path / "made.parquet"
    duckdb.sql(
        f"COPY (SELECT 'search' AS tool, 'c1' AS call_id, 1 AS attempt, '{'a' * 32}' AS trace_id, '{1:016x}' AS span_id, "
        "TIMESTAMPTZ '2026-11-21 13:00:00.000001+01' AS started_at, 'returned' AS ending, 'success' AS status, "
        f"'0.1.0' AS recorder_version, 7 AS unknown_column) TO '{path}'"
    )
    assert imported(path)[0] == [call(1)]


def test_an_unknown_parquet_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    duckdb.sql(f"COPY (SELECT 1 AS n) TO '{path}'")
    with pytest.raises(UnreadableFile, match="the columns of no known table"):
        imported(path)


def test_a_truncated_parquet_file_is_a_one_line_error(tmp_path: Path, run: Any) -> None:
    path = files(exported("parquet", tmp_path, call(1)))[0]
    path.write_bytes(path.read_bytes()[:-20])
    done = run(path)
    assert done.exit_code == 1
    assert done.stderr.startswith(f"tooltrace: {path}: ")
    assert "Traceback" not in done.output


def test_all_files_of_a_folder_are_read_and_an_empty_folder_is_reported(tmp_path: Path, run: Any) -> None:
    path = exported(
        "parquet", tmp_path, call(1), call(2, tool="other"), Outcome(call_id="c1", score=0.5, labeled_at=AT)
    )
    (tmp_path / "empty").mkdir()
    done = run(path, tmp_path / "empty")
    assert done.exit_code == 1
    assert done.stdout == "2 calls and 1 other record read from 3 files, 0 lines skipped.\n"
    assert "the folder has no file" in done.stderr


def test_the_readable_start_of_a_damaged_archive_is_imported(tmp_path: Path) -> None:
    content = b"".join(encode(call(number, text=f"{number} " * 50)) for number in range(1, 4000))
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(gzip.compress(content)[:-3000])
    records, outcome = imported(path)
    assert 1000 < len(records) < 3999
    assert "cannot be read from this line on" in outcome.examples[-1].reason


@pytest.mark.long
def test_a_decompression_bomb_is_skipped_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tooltrace.ingest.files import reader

    monkeypatch.setattr(reader, "MAX_LINE_BYTES", 1024 * 1024)
    path = tmp_path / "bomb.jsonl.gz"
    bomb = b'{"kind":"call","text":"' + b"x" * 50_000_000 + b'"}\n'
    path.write_bytes(gzip.compress(encode(call(1)) + bomb + encode(call(2))))
    records, outcome = imported(path)
    assert records == [call(1), call(2)]
    assert [line.line for line in outcome.examples] == [2]


@pytest.mark.long
def test_progress_is_reported_up_to_the_size_of_the_file(tmp_path: Path) -> None:
    from tests.ingest.files.test_other_tools import ImportedRecords
    from tooltrace.ingest.files import import_file
    from tooltrace.recording.settings import Settings

    for name in EXPORTS:
        for path in files(exported(name, tmp_path, *(call(number, text="x" * 99) for number in range(1, 2000)))):
            steps: list[int] = []
            import_file(path, Settings(store=None), ImportedRecords(), advance=steps.append)  # type: ignore[arg-type]
            assert sum(steps) == path.stat().st_size
            assert all(step > 0 for step in steps)


def test_evaluations_of_others_in_otlp_are_outcomes(tmp_path: Path) -> None:
    def log(**attributes: Any) -> dict[str, Any]:
        attribute_list = [{"key": key.replace("_", "."), "value": value} for key, value in attributes.items()]
        ids = {"traceId": "A" * 32, "spanId": "B" * 16, "timeUnixNano": 1795277290000001000}
        return {**ids, "eventName": "gen_ai.evaluation.result", "attributes": attribute_list}

    good = log(**{"gen.ai.evaluation.name": {}}) | {}
    good["attributes"] = [
        {"key": "gen_ai.evaluation.name", "value": {"stringValue": "Relevance"}},
        {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 1}},
        {"key": "gen_ai.evaluation.score.label", "value": {"stringValue": "pass"}},
    ]
    silent = {**good, "attributes": good["attributes"][:1]}
    other = {"body": {"stringValue": "somebody's log"}, "timeUnixNano": "1"}
    request = {"resourceLogs": [{"scopeLogs": [{"logRecords": [good, silent, other]}]}]}
    path = tmp_path / "logs.json"
    path.write_bytes(orjson.dumps(request) + b"\n" + orjson.dumps({"resourceMetrics": []}))
    records, outcome = imported(path)
    at = datetime(2026, 11, 21, 16, 8, 10, 1, tzinfo=UTC)
    assert records == [Outcome(span_id="b" * 16, correct=True, score=1.0, labeler="Relevance", labeled_at=at)]
    assert outcome.skipped == 1
    assert "neither a score nor a label" in outcome.examples[0].reason
