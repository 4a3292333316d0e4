"""Wrong names: exit code 2, one line, and the nearest names."""

from __future__ import annotations

import json

import pytest

from tooltrace.analysis.catalog import listed

pytestmark = pytest.mark.usefixtures("history")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["quer"], "did you mean 'query'"),
        (["zzz"], "--help lists the commands"),
        (["failure_rate"], "tooltrace query failure_rate"),
        (["clickhouse", "ini"], "did you mean 'init'"),
        (["query", "failure_rat"], "did you mean 'failure_rate'"),
        (["query", "failure_rate", "--by", "tol"], "did you mean 'tool'"),
        (["query", "failure_rate", "-p", "mi_n=3"], "did you mean 'min_n'"),
        (["query", "failure_rate", "--tool", "serch"], "did you mean 'search'"),
        (["query", "failure_rate", "--tool", "nothing like it"], "recorded are fetch, search"),
        (["query", "failure_rate", "--tool", "serch", "--by", "none", "-f", "json"], "did you mean 'search'"),
        (["compare", "7d", "--tool", "serch"], "did you mean 'search'"),
        (["compare", "version:1", "version:2"], "no version '1'"),
        (["compare", "agent:cleark", "agent:x"], "no agent 'cleark'"),
        (["compare", "agent:a"], "needs a value to be compared with, as agent:OTHER agent:a"),
        (["compare", "version:1", "agent:a"], "not values of one dimension"),
        (["compare", "7d", "--by", "agnt"], "did you mean 'agent'"),
        (["query", "compare", "-p", "before=version:1", "-p", "after=version:2"], "none has been recorded"),
        (["report", "--tool", "serch", "--format", "json"], "did you mean 'search'"),
        (["report", "--compare", "version:1 version:2", "--format", "json"], "no version '1'"),
        (["export", "csv", "--tool", "serch", "-o", "calls.csv"], "did you mean 'search'"),
        (["tail", "--no-follow", "--tool", "serch"], "did you mean 'search'"),
        (["reread", "--rules", "current", "--tool", "serch"], "did you mean 'search'"),
        (["export", "parqet", "-o", "calls.parquet"], "did you mean 'parquet'"),
        (["export", "parquet"], "pass one (--output"),
        (["export", "csv", "-o", "-"], "pass a path"),
        (["export", "otlp", "--signal", "trace"], "expected traces, logs, metrics"),
        (["export", "--status", "otlp"], "without NAME"),
        (["compare", "1.0", "2.0"], "must be one of two values of one dimension (version:1.2 version:2.0"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_name_is_one_line_with_the_nearest_names(run, monkeypatch, tmp_path, arguments, hint):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert hint in done.stderr
    assert [path for path in sorted(tmp_path.iterdir()) if path not in before and path.suffix != ".lock"] == []


@pytest.mark.parametrize("width", [40, 80])
def test_an_unknown_query_without_a_similar_one_lists_all_in_columns(run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    done = run("query", "zzzzzz")
    first, *lines = done.stderr.splitlines()
    assert (done.exit_code, done.stdout) == (2, "")
    assert first == "tooltrace: unknown query 'zzzzzz'; the queries are:"
    assert " ".join(lines).split() == sorted(query.name for query in listed())
    assert 1 < max(map(len, lines)) <= width


@pytest.mark.parametrize("arguments", [["compare"], ["query", "compare"], ["query", "compare", "--since", "7d"]])
def test_a_comparison_without_sides_shows_how_to_name_them(run, arguments):
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "tooltrace compare 7d" in done.stderr
    assert "tooltrace compare version:" in done.stderr


def test_a_known_tool_without_calls_in_the_window_is_an_empty_result(run):
    done = run("query", "errors", "--tool", "search", "--until", "2001-01-01", "-f", "json")
    assert (done.exit_code, json.loads(done.stdout)) == (0, [])
    assert "No results" in done.stderr


def test_a_version_of_another_tool_is_unknown(run, put, made):
    put(made(40, tool="fetch", tool_version="2.0"))
    put(made(41, tool="fetch", tool_version="1.0"))
    assert run("compare", "version:1.0", "version:2.0", "-f", "json").exit_code == 0
    done = run("compare", "version:1.0", "version:2.0", "--tool", "search")
    assert done.exit_code == 2
    assert "no version '1.0' of search" in done.stderr


def test_compare_runs_the_query_of_that_name(run, put, made):
    put(made(40, tool="fetch", tool_version="1.0"), made(41, tool="fetch", tool_version="2.0"))
    given = ["-p", "before=version:1.0", "-p", "after=version:2.0", "-f", "json"]
    rows = json.loads(run("compare", "version:1.0", "version:2.0", "-f", "json").stdout)
    assert rows == json.loads(run("query", "compare", *given).stdout)
    assert {row["tool"] for row in rows} == {"fetch"}


def test_recorded_names_are_listed_as_they_are_shown(run, put, made):
    put(made(40, tool=" "), made(41, tool="x" * 300), made(42, tool="a\x1b[31m"))
    done = run("query", "failure_rate", "--tool", "nothing like it")
    assert done.exit_code == 2
    assert "recorded are ␠, " in done.stderr
    assert "a\\x1b[31m" in done.stderr
    assert "x" * 119 + "…" in done.stderr.replace("\n", "")
    assert "x" * 120 not in done.stderr
