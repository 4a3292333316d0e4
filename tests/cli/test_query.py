"""``tooltrace query``: every format, empty results and errors."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tooltrace.analysis import catalogue, find
from tooltrace.store.database.macros import with_definitions

pytestmark = pytest.mark.usefixtures("history")
FORMATS = ["table", "json", "csv", "markdown"]


def test_alone_it_lists_a_dozen_questions_by_group_and_all_on_demand(run):
    short, every = run("query"), run("query", "--all")
    assert (short.exit_code, every.exit_code) == (0, 0)
    assert short.stdout.startswith("What fails\n  errors ")
    assert "`tooltrace query --all` lists all queries" in short.stderr
    first = {name for name, query in catalogue().items() if query.header.is_first}
    assert {row["query"] for row in json.loads(run("query", "-f", "json").stdout)} == first
    assert len(first) == 12
    for name, query in catalogue().items():
        assert (f"  {name} " in every.stdout and query.question in every.stdout) == (query.header.group != "pages")


def test_json_has_raw_numbers_under_the_column_names(run):
    rows = json.loads(run("query", "failure_rate", "--format", "json").stdout)
    assert [list(row) for row in rows] == [list(find("failure_rate").columns())] * 2
    assert (rows[0]["tool"], rows[0]["attempts"], rows[0]["failures"], rows[0]["rate"]) == (
        "search",
        23,
        1,
        1 / 23,
    )
    assert rows[0]["low"] == pytest.approx(0.0073, abs=1e-4)  # the attempts of one call are alike
    assert (rows[1]["tool"], rows[1]["rate"], rows[1]["cancelled"], rows[1]["too_few"]) == (
        "fetch",
        None,
        1,
        True,
    )


def test_csv_has_the_same_values_as_json(run):
    table = list(csv.DictReader(io.StringIO(run("query", "failure_rate", "--format", "csv").stdout)))
    rows = json.loads(run("query", "failure_rate", "--format", "json").stdout)
    for text, value in zip(table, rows, strict=True):
        assert text == {k: "" if v is None else v if isinstance(v, str) else json.dumps(v) for k, v in value.items()}


def test_the_table_is_for_people(run):
    text = run("query", "failure_rate").stdout
    assert "4.3 % [0.7, 22.0]" in text
    assert "cancelled" in text
    assert "abandoned" not in text


def test_markdown_escapes_markup(run):
    text = run("query", "recent", "-p", "status=error", "--format", "markdown").stdout
    assert text.splitlines()[1].count("---") == len(find("recent").columns())
    assert r"\[bold\]not bold\[/bold\]" in text
    assert len(text.splitlines()) == 3


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_untrusted_text_has_no_escape_sequences_and_is_not_markup(run, form):
    text = run("query", "recent", "-p", "status=error", "--format", form).stdout
    assert "not bold" in text
    assert not set(text) & set("\x1b\x9b\x07\r\u202e")
    assert form == "markdown" or "[bold]not bold[/bold]" in text


def test_by_and_the_filters(run):
    rows = json.loads(run("query", "latency", "--by", "tool,status", "--tool", "search", "--format", "json").stdout)
    assert {(row["tool"], row["status"], row["n"]) for row in rows} == {
        ("search", "success", 22),
        ("search", "error", 1),
    }
    assert len(json.loads(run("query", "latency", "--by", "none", "--since", "1h", "--format", "json").stdout)) == 1
    assert json.loads(run("query", "errors", "--min-n", "2", "--format", "json").stdout) == []


@pytest.mark.parametrize("form", FORMATS)
def test_an_empty_window_is_an_empty_table_and_a_sentence(run, form):
    done = run("query", "errors", "--until", "2001-01-01", "--format", form)
    assert done.exit_code == 0
    assert "No results in" in done.stderr
    assert "until 2001-01-01" in done.stderr
    assert json.loads(done.stdout) == [] if form == "json" else "first" in done.stdout


@pytest.mark.parametrize("form", FORMATS)
def test_a_missing_store_is_a_sentence_and_for_programs_an_empty_answer(run, form, tmp_path):
    done = run("query", "errors", "--format", form, "--store", str(tmp_path / "nowhere.duckdb"))
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert "nowhere.duckdb" in done.stderr
    if form == "table":
        assert not done.stdout
    else:
        assert json.loads(done.stdout) == [] if form == "json" else "first" in done.stdout


def test_explain_prints_the_sql_with_its_comment_and_runs_no_query(run, tmp_path):
    nowhere = ["--store", str(tmp_path / "nowhere.duckdb")]
    assert run("query", "errors", "--since", "all", "--explain", *nowhere).stdout == with_definitions(
        find("errors").render_with_values()
    )
    assert "SELECT\n    version,\n" in run("query", "errors", "--explain", "--by", "version", *nowhere).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["failure_rat"], "did you mean 'failure_rate'?"),
        (["failure_rate", "--since", "soon"], "parameter 'since' must be a time span back from now"),
        (["failure_rate", "--by", "tol"], "did you mean 'tool'?"),
        (["recent", "--min-n", "3"], "query recent has no parameter 'min_n'"),
        (["recent", "-p", "limit=many"], "parameter 'limit' must be a whole number"),
        (["recent", "-p", "limit"], "must be NAME=VALUE"),
        (["failure_rate", "--min-n", "-1"], "-1"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(run, arguments, message):
    done = run("query", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.output
    assert done.stdout == ""


@pytest.mark.usefixtures("history")
def test_the_explained_sql_can_be_run_unchanged(run):
    explained = run("query", "failure_rate", "--explain", "--tool", "it's", "--since", "7d", "--by", "code").stdout
    assert "tool = 'it''s'" in explained
    assert run("sql", "-", input=explained).exit_code == 0
    plain = run("query", "failure_rate", "--format", "json").stdout
    text = run("query", "failure_rate", "--explain").stdout
    gathered = json.loads(run("sql", "--format", "json", input=text).stdout)
    concluded = {row["tool"]: (row["attempts"], row["failures"]) for row in json.loads(plain)}
    assert {row["tool"]: (row["attempts"], row["failures"]) for row in gathered} == concluded
