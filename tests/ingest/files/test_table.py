"""CSV files of other programs, whose columns a person names."""

from __future__ import annotations

import csv
import io

import pandas
import polars
import pytest
from click.testing import CliRunner

import tooltrace as tt
from tooltrace.cli import cli
from tooltrace.ingest.files import import_file
from tooltrace.ingest.files.table import header_of, parse_columns
from tooltrace.recording.settings import Settings

from .conftest import CallList

ROWS = {
    "Tool name": ["search", "pay", "search", "fetch"],
    "When": ["2026-03-01 12:00:00", "2026-03-01 12:00:01.5", "2026-03-01 12:00:02", "2026-03-01 12:00:03"],
    "Outcome": ["ok", "Failed", None, "404"],
    "Took (s)": [0.25, 1.5, None, 1234.5],
    "Answer": ['{"hits": 3}', "line one\nline two", "Error: no network", None],
    "Message": [None, "declined", None, None],
}
COLUMNS = "tool=Tool name,at=When,status=Outcome,duration_s=Took (s),result=Answer,error=Message"
EXPECTED = [
    ("search", "12:00:00", "success", None, 250.0, None, '{"hits":3}'),
    ("pay", "12:00:01", "error", "UNKNOWN", 1500.0, "declined", None),
    ("search", "12:00:02", "error", "NETWORK_ERROR", None, "no network", None),
    ("fetch", "12:00:03", "error", "NOT_FOUND", 1_234_500.0, "the file states the status 404 only", None),
]


def excel(delimiter=";", decimal=",", start="\ufeff", end="\r\n"):
    """The rows as a spreadsheet in a country with decimal commas saves them."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end)
    writer.writerow(ROWS)
    for row in zip(*ROWS.values(), strict=True):
        numbers = [
            format(cell, ",").translate({44: 46, 46: 44}) if isinstance(cell, float) and decimal == "," else cell
            for cell in row
        ]
        writer.writerow(["" if cell is None else cell for cell in numbers])
    return (start + text.getvalue()).encode()


FILES = {
    "pandas": lambda: pandas.DataFrame(ROWS).assign(When=lambda t: pandas.to_datetime(t["When"], format="ISO8601", utc=True)).to_csv(index=False).encode(),
    "polars": lambda: polars.DataFrame(ROWS).with_columns(polars.col("When").str.to_datetime(format="%Y-%m-%d %H:%M:%S%.f")).write_csv().encode(),
    "excel": excel,
    "tabs": lambda: excel("\t", "."),
    "bars": lambda: excel("|", ".", "", "\n"),
}  # fmt: skip


def imported(path, columns):
    kept = CallList()
    return kept.calls, import_file(path, Settings(store=None), kept, columns=parse_columns(columns))


@pytest.mark.parametrize("writer", FILES)
def test_any_dialect_is_read(tmp_path, writer):
    path = tmp_path / "calls.csv"
    path.write_bytes(FILES[writer]())
    calls, result = imported(path, COLUMNS)
    assert result.examples == []
    assert [
        (c.tool, f"{c.started_at:%H:%M:%S}", c.status, c.code, c.duration_ms, c.error_message, c.result if c.tool == "search" and c.status == "success" else None)
        for c in calls
    ] == EXPECTED  # fmt: skip
    assert calls[1].text == "line one\nline two"
    assert imported(path, COLUMNS)[0] == calls, "the same file gives the same ids"


def test_equal_rows_are_different_calls_and_bad_rows_are_reported(tmp_path):
    path = tmp_path / "calls.csv"
    row = b"pay,1772366400,ok,c1,2.0"
    path.write_bytes(b"tool,at,status,id,v\n" + b"\n".join([row, row, b"pay,yesterday,ok,c2,", b",1772366400,ok,,", b"pay,1772366400,hm,,", b"pay,1", b"p\xe4y,1772366400,ok,,"]) + b"\n")  # fmt: skip
    calls, result = imported(path, "tool=tool,at=at,status=status,call_id=id,version=v")
    assert [(c.call_id, c.attempt, c.tool_version, f"{c.started_at:%Y-%m-%d %H:%M}") for c in calls] == [
        ("c1", 1, "2.0", "2026-03-01 12:00"),
        ("c1", 1, "2.0", "2026-03-01 12:00"),
    ]
    assert [c.first_span_id for c in calls] == [None, calls[1].span_id]
    reasons = [(line.line, line.reason) for line in result.examples]
    assert [number for number, _ in reasons] == [4, 5, 6, 7, 8]
    for (_, reason), part in zip(reasons, ("got 'yesterday'", "no tool", "unknown status 'hm'", "2 fields, where", "not UTF-8"), strict=True):  # fmt: skip
        assert part in reason


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "its columns are Tool name, When, Outcome, Took (s), Answer, Message; accepted are exports of tooltrace"),
        (["--columns", "tool=Tool name"], "--columns needs at, as tool=COLUMN,at=COLUMN"),
        (["--columns", "tool=Tool name,at=When,stats=Outcome"], "no field 'stats'; did you mean 'status'?"),
        (["--columns", "tool=Tool name,at=Wen"], "has no column 'Wen'; did you mean 'When'?"),
        (["--columns", "tool"], "must be FIELD=COLUMN,… such as tool=name,at=time; got 'tool'"),
    ],
)
def test_a_refusal_names_what_is_accepted(tmp_path, arguments, message):
    path = tmp_path / "calls.csv"
    path.write_bytes(FILES["pandas"]())
    done = CliRunner().invoke(cli, ["import", str(path), *arguments, "--store", str(tmp_path / "s.duckdb")])
    assert done.exit_code in (1, 2)
    assert message in done.stderr


def test_a_csv_of_another_program_is_queried(tmp_path):
    path, store = tmp_path / "calls.csv", tmp_path / "s.duckdb"
    path.write_bytes(excel())
    done = CliRunner().invoke(cli, ["import", str(path), "--columns", COLUMNS, "--store", str(store)])
    assert (done.exit_code, done.stdout) == (0, "4 calls read from 1 file, 0 lines skipped.\n")
    with tt.connect(store) as db:
        assert db.execute("SELECT count(*) FROM tool_calls WHERE status = 'error'").fetchall() == [(3,)]


def test_a_first_line_that_is_longer_than_a_field_may_be_is_no_header() -> None:
    assert header_of(b"tool,at," + b"x" * 200_000) is None
