"""Habits that all commands share: where the store is named, the format, the file and the number of rows."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from datetime import UTC, datetime

import click
import pytest

from tooltrace.cli import cli
from tooltrace.core.records import Outcome

OPTION_ONLY = {"import", "backup", "restore", "merge", "check", "claude", "codex"}
"""Commands that take the store as an option only: their arguments are files, or they work in a folder of another program."""
NO_STORE = {"columns"}
FORMATS = {"table", "json", "csv", "markdown", "html", "text", "dot", "mermaid", "junit"}


def leaves(command: click.Group) -> Iterator[click.Command]:
    for below in command.commands.values():
        yield from leaves(below) if isinstance(below, click.Group) else (below,)


def option(command: click.Command, name: str) -> click.Option | None:
    found = (param for param in command.params if isinstance(param, click.Option) and name in param.opts)
    return next(found, None)


def test_short_and_long_options_go_together_on_every_command():
    for command in leaves(cli):
        for short, long in (("-s", "--store"), ("-f", "--format"), ("-n", "--limit"), ("-o", "--output")):
            assert option(command, short) is option(command, long), f"{command.name} {long}"


def test_every_command_with_a_local_store_takes_it_as_its_last_argument():
    for name, command in cli.commands.items():
        if isinstance(command, click.Group) or name in NO_STORE:
            continue
        assert option(command, "--store"), name
        arguments = [
            one.make_metavar(click.Context(command)) for one in command.params if isinstance(one, click.Argument)
        ]
        assert (arguments[-1:] == ["[STORE]"]) == (name not in OPTION_ONLY), name


def test_formats_have_the_same_names_on_every_command():
    for command in leaves(cli):
        found = option(command, "--format")
        if found is not None:
            assert isinstance(found.type, click.Choice)
            assert set(found.type.choices) <= FORMATS, command.name


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [["query", "recent"], ["sql", "FROM calls ORDER BY call_id"], ["show", "call_1"], ["tail", "--no-follow"], ["doctor"], ["compare", "7d"]],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_the_store_is_an_argument_or_an_option(run, history, monkeypatch, tmp_path, arguments):
    monkeypatch.chdir(tmp_path)
    by_environment = run(*arguments).stdout
    assert by_environment
    for named in (["history.duckdb"], ["-s", "history.duckdb"], ["--store", str(history)]):
        done = run(*arguments, *named, env={"TOOLTRACE_STORE": str(tmp_path / "other.duckdb")})
        assert (done.exit_code, done.stdout) == (0, by_environment), named


def test_a_store_that_is_given_twice_is_wrong_usage(run, history):
    done = run("query", "recent", str(history), "--store", str(history))
    assert done.exit_code == 2
    assert "given twice" in done.stderr


def test_a_store_in_the_place_of_a_query_or_a_statement_is_explained(run, history):
    done = run("query", str(history))
    assert done.exit_code == 2
    assert f"query overview {history}" in done.stderr
    done = run("sql", str(history))
    assert done.exit_code == 2
    assert "pass the statement first" in done.stderr


@pytest.mark.usefixtures("history")
def test_the_name_of_the_output_file_decides_the_format(run, tmp_path):
    plain = run("query", "recent", "--format", "json").stdout
    done = run("query", "recent", "-o", str(tmp_path / "recent.json"))
    assert done.stdout == ""
    assert "Wrote" in done.stderr
    assert (tmp_path / "recent.json").read_text() == plain
    run("sql", "SELECT 1 AS one", "-o", str(tmp_path / "one.csv"))
    assert (tmp_path / "one.csv").read_text() == "one\n1\n"
    run("sql", "SELECT 1 AS one", "-o", str(tmp_path / "one.csv"), "-f", "json")
    assert json.loads((tmp_path / "one.csv").read_text()) == [{"one": 1}]
    run("show", "call_1", "-o", str(tmp_path / "call.txt"))
    assert "attempt 2" in (tmp_path / "call.txt").read_text()
    assert run("query", "recent", "-f", "json", "-o", "-").stdout == plain


@pytest.mark.usefixtures("history")
def test_an_output_file_of_an_unknown_format_is_wrong_usage(run, tmp_path):
    done = run("query", "recent", "-o", str(tmp_path / "recent.dat"))
    assert done.exit_code == 2
    assert ".json" in done.stderr
    done = run("show", "call_1", "-o", str(tmp_path / "call.csv"))
    assert done.exit_code == 2


@pytest.mark.usefixtures("history")
def test_a_command_that_fails_leaves_the_earlier_output_file(run, tmp_path):
    file = tmp_path / "rows.json"
    file.write_text("earlier")
    assert run("sql", "SELEC 1", "-o", str(file)).exit_code == 1
    assert file.read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.glob("*rows*")) == ["rows.json"]


@pytest.mark.long
@pytest.mark.usefixtures("history")
def test_a_limit_is_a_number_of_rows(run, put, made):
    assert len(json.loads(run("query", "recent", "-n", "3", "-f", "json").stdout)) == 3
    assert len(json.loads(run("query", "recent", "--limit", "22", "-f", "json").stdout)) == 22, "more than the default"
    assert len(json.loads(run("query", "failure_rate", "-n", "1", "-f", "json").stdout)) == 1
    done = run("query", "failure_rate", "-n", "1")
    assert "1 of 2 rows (--limit)" in done.stderr
    assert "fetch" not in done.stdout
    assert len(run("sql", "FROM range(9)", "-n", "2", "-f", "csv").stdout.splitlines()) == 3
    assert len(run("tail", "--no-follow", "--limit", "2").stdout.splitlines()) == 2
    put(made(40, tool="fetch"))
    assert "and 1 more" in run("top", "--once", "--limit", "1", "--since", "1d").stdout
    assert run("query", "recent", "-n", "0").exit_code == 2


@pytest.mark.usefixtures("history")
def test_columns_selects_and_orders_the_columns(run):
    rows = list(csv.DictReader(run("query", "failure_rate", "-c", "rate,tool", "-f", "csv").stdout.splitlines()))
    assert [list(row) for row in rows] == [["rate", "tool"]] * 2
    text = run("query", "failure_rate", "--columns", "rate, failures").stdout
    assert "4.3 % [0.7, 22.0]" in text, "the interval stands beside its figure"
    assert "attempts" not in text
    done = run("query", "failure_rate", "-c", "rat")
    assert done.exit_code == 2
    assert "did you mean 'rate'" in done.stderr


def test_tables_and_their_columns_are_listed_without_a_store(run, tmp_path):
    listed = [row["table"] for row in json.loads(run("sql", "--tables", "-f", "json").stdout)]
    assert {"tool_calls", "calls", "outcomes", "gates", "sources", "losses"} <= set(listed)
    rows = json.loads(run("columns", "outcomes", "-f", "json").stdout)
    assert "call_id" in [row["column"] for row in rows]
    assert all(row["type"] and row["meaning"] for row in rows)
    assert {row["table"] for row in json.loads(run("columns", "-f", "json").stdout)} == set(listed)
    assert run("columns", "outcome").exit_code == 2
    assert "did you mean 'outcomes'" in run("columns", "outcome").stderr
    assert list(tmp_path.iterdir()) == []


READING = [
    ["query"], ["query", "overview"], ["query", "recent", "--tool", "x"], ["compare", "7d"], ["sql", "SELECT 1"],
    ["sql", "--tables"], ["show", "x"], ["tail", "--no-follow"], ["top", "--once"], ["doctor"], ["doctor", "--secrets"],
    ["report", "--format", "json"], ["export", "--status"], ["prune", "--older-than", "1d", "--dry-run"],
    ["forget", "--call", "x", "--dry-run"], ["redact", "--defaults", "--dry-run"],
    ["reread", "--rules", "current", "--dry-run"], ["unread", "x"], ["compact"], ["backup", "copy.duckdb"],
]  # fmt: skip
"""Commands that only read, and those that cannot change what is not a store."""


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
@pytest.mark.parametrize("kind", ["missing", "text"])
def test_a_place_without_a_store_stays_as_it_is(run, monkeypatch, tmp_path, arguments, kind):
    monkeypatch.chdir(tmp_path)
    if kind == "text":
        (tmp_path / "notes.duckdb").write_text("notes, longer than the header of a database\n" * 9)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = run(*arguments, "--store", "notes.duckdb")
    assert done.exit_code in (0, 1), done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.long
def test_an_export_names_every_file_that_it_wrote(run, put, history, tmp_path):
    put(Outcome(call_id="x", correct=True, labeler="me", labeled_at=datetime(2026, 3, 1, tzinfo=UTC)))
    path = tmp_path / "out" / "calls.parquet"
    done = run("export", "parquet", "-o", str(path))
    assert done.exit_code == 0, done.output
    named = done.stdout.strip().removesuffix(".").partition("written to ")[2].split(", ")
    assert named[0] == str(path)
    assert sorted(named) == sorted(map(str, path.parent.iterdir()))
    assert len(named) > 1
