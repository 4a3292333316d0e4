"""The commands find and diff, and show --conversation."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from tests.stores import create_empty_store
from tooltrace.cli import cli
from tooltrace.core.records import ToolCall
from tooltrace.store.journal import Journal
from tooltrace.store.journal_format import encode
from tooltrace.store.paths import StorePaths

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("two") / "two.duckdb"
    journal = Journal(StorePaths.of(path).journal)
    calls = [
        ("one", "search", "success", '{"q":"needle"}'), ("one", "pay", "success", '{"sum":1}'),
        ("two", "search", "success", '{"q":"needle"}'), ("two", "login", "success", None), ("two", "pay", "error", '{"sum":2}'),
    ]  # fmt: skip
    for number, (conversation, tool, status, arguments) in enumerate(calls, 1):
        record = ToolCall(
            tool=tool, call_id=f"call_{number}", conversation_id=conversation, status=status, arguments=arguments,
            tool_version={"one": "1", "two": "2"}[conversation],
            seen_text=f"seen {number}\nmore" if number > 3 else None, trace_id=f"{number:032x}", span_id=f"{number:016x}", started_at=START + timedelta(seconds=number), duration_ms=10.0,
        )  # fmt: skip
        journal.write(encode(record))
    journal.close()
    return str(create_empty_store(path))


def run(*arguments):
    result = CliRunner().invoke(cli, list(arguments))
    return result.exit_code, result.stdout, result.stderr


def test_find_shows_the_text_around_the_match(store):
    code, out, _ = run("find", "NEEDLE", "-s", store)
    assert (code, out.count("needle")) == (0, 2)
    assert "call_3" in out.splitlines()[0]


def test_find_without_a_match_says_so(store):
    code, out, err = run("find", "nowhere", "-s", store)
    assert (code, out) == (0, "")
    assert "No attempt" in err


def test_diff_marks_what_changed_and_what_was_added(store):
    code, out, err = run("diff", "one", "two", "-s", store)
    assert code == 0
    assert [line[:2] + line[2:].split()[0] for line in out.splitlines() if line[2:3].strip()] == [
        "  search", "+ login", "~ pay",
    ]  # fmt: skip
    assert '- arguments: {"sum":1}' in out
    assert "1 same, 1 changed, 0 removed, 1 added" in err


def test_diff_as_json_has_both_sides(store):
    _, out, _ = run("diff", "one", "two", "-s", store, "-f", "json")
    assert [(row["kind"], row["tool"], row["changes"]) for row in json.loads(out)] == [
        ("same", "search", ""), ("added", "login", ""), ("changed", "pay", "arguments, status"),
    ]  # fmt: skip


def test_diff_names_the_unknown_conversation(store):
    code, _, err = run("diff", "one", "three", "-s", store)
    assert code == 1
    assert "'three'" in err


def test_diff_of_two_versions_compares_conversations_that_begin_alike(store):
    code, out, err = run("diff", "version:1", "version:2", "--tool", "pay", "-s", store, "-f", "json")
    assert code == 0, err
    assert [row["kind"] for row in json.loads(out)] == ["same", "added", "changed"]
    assert "A: one, B: two: both begin with the same call of search; 1 and 1 conversations" in err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["version:1", "version:9"], 1, "tooltrace compare version:1..9"),
        (["version:1", "two"], 2, "version:1.2 version:2.0"),
        (["version:1", "version:1"], 2, "version:1.2 version:2.0"),
        (["one", "two", "--tool", "pay"], 2, "--tool"),
    ],
)
def test_diff_says_what_it_needs(store, arguments, code, message):
    found, out, err = run("diff", *arguments, "-s", store)
    assert (found, out) == (code, "")
    assert message in " ".join(err.split())


def test_show_prints_the_tree_of_a_conversation(store):
    code, out, _ = run("show", "--conversation", "two", "-s", store)
    assert code == 0
    tools = [line.split() for line in out.splitlines()]
    assert [name for words in tools for name in words if name in ("search", "login", "pay")] == [
        "search",
        "login",
        "pay",
    ]


def test_show_prints_the_beginning_of_what_the_model_saw(store):
    code, out, _ = run("show", "--conversation", "two", store)
    assert code == 0, "with --conversation the argument is the store"
    assert [line.strip() for line in out.splitlines() if line.strip().startswith(">")] == ["> seen 4…", "> seen 5…"]


def test_show_of_an_unknown_conversation_names_the_store(store):
    code, _, err = run("show", "--conversation", "three", store)
    assert code == 1
    assert f"no conversation in {store} has the id 'three'" in " ".join(err.split())
