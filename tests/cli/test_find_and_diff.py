"""The commands find and diff, and show of conversations, traces and spans."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from tests.stores import create_empty_store
from tooltrace.cli import cli
from tooltrace.core.records import Json, Outcome, Span, ToolCall
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal

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
    code, out, _ = run("find", "NEEDLE", "-s", store, "--since", "all")
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
        (["version:1", "version:9"], 1, "tooltrace compare version:1 version:9"),
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
    code, out, _ = run("show", "two", "-s", store)
    assert code == 0
    tools = [line.split() for line in out.splitlines()]
    assert [name for words in tools for name in words if name in ("search", "login", "pay")] == [
        "search",
        "login",
        "pay",
    ]


def test_show_prints_the_beginning_of_what_the_model_saw(store):
    code, out, _ = run("show", "two", store)
    assert code == 0
    assert [line.strip() for line in out.splitlines() if line.strip().startswith(">")] == ["> seen 4…", "> seen 5…"]


def test_show_of_an_unknown_id_names_the_store(store):
    code, _, err = run("show", "three", store)
    assert code == 1
    assert f"no call, span, conversation or trace in {store} has an id that begins with 'three'" in err


@pytest.fixture(scope="module")
def ids(tmp_path_factory):
    """A store in which one id is that of a call and of a conversation, and a span of another library."""
    path = tmp_path_factory.mktemp("ids") / "ids.duckdb"
    journal = Journal(StorePaths.of(path).journal)
    for number, (call, conversation) in enumerate([("both", "chat-1"), ("c2", "both"), ("c3", "chat-2")], 1):
        journal.write(encode(ToolCall(
            tool="pay", call_id=call, conversation_id=conversation, status="success",
            trace_id=f"{number}" * 32, span_id=f"{number:016x}", started_at=START + timedelta(seconds=number),
        )))  # fmt: skip
    journal.write(encode(Span(
        name="chat gpt", trace_id="1" * 32, span_id="f" * 16, started_at=START, duration_ms=7.0,
        attributes=Json('{"gen_ai.request.model":"m-1"}'),
    )))  # fmt: skip
    journal.close()
    return str(create_empty_store(path))


@pytest.mark.parametrize(
    ("given", "beginning"),
    [
        ("c3", "pay  call c3"),
        (f"{3:016x}", "pay  call c3"),
        ("chat-2", "turn 1"),
        ("2222", "turn 1"),
        ("f" * 16, "chat gpt  span ffff"),
        ("ffff", "chat gpt  span ffff"),
        ("conversation:both", "turn 1"),
        ("call:both", "pay  call both"),
    ],
)
def test_show_takes_the_id_of_a_call_a_span_a_conversation_or_a_trace(ids, given, beginning):
    code, out, err = run("show", given, ids)
    assert (code, err) == (0, "")
    assert out.startswith(beginning)
    assert json.loads(run("show", given, ids, "-f", "json")[1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("both", "a call and a conversation have the id 'both': pass call:both or conversation:both"),
        ("chat-", "'chat-' begins 2 ids: conversation chat-2, conversation chat-1. Pass more of the id"),
        ("call:chat-1", "has an id that begins with 'chat-1'"),
    ],
)
def test_show_says_that_an_id_is_ambiguous(ids, given, message):
    code, out, err = run("show", given, ids)
    assert (code, out) == (1, "")
    assert message in err


RUNS = ("a" * 32, "b" * 32)
"""Traces of two runs without a conversation; the second one repeats a call, and waits longer for the last one."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "runs.duckdb"
    journal = Journal(StorePaths.of(path).journal)
    calls = [(RUNS[0], "search", 10.0), (RUNS[0], "pay", 100.0)]
    calls += [*[(RUNS[1], "search", 10.0)] * 3, (RUNS[1], "pay", 500.0)]
    for number, (trace, tool, lasted) in enumerate(calls, 1):
        known = {"arguments": '{"q":"tea"}', "result": "[]", "status": "success", "duration_ms": lasted}
        identity = {"call_id": f"call_{number}", "trace_id": trace, "span_id": f"{number:016x}"}
        journal.write(encode(ToolCall(tool=tool, started_at=START + timedelta(seconds=number), **identity, **known)))
    journal.close()
    return str(create_empty_store(path))


def test_the_id_that_loops_gives_to_calls_without_a_conversation_can_be_shown(runs):
    _, out, _ = run("query", "loops", runs, "-f", "json", "--since", "all")
    assert [row["conversation"] for row in json.loads(out)] == [RUNS[1]]
    code, out, err = run("show", RUNS[1], runs)
    assert code == 0, err
    shown = out.splitlines()
    assert "search: repeat, 3 rounds" in shown[0]
    assert [line.split()[2:4] for line in shown if "call_5" in line and line.startswith("  +")] == [["search", "loop"]]
    assert sum("search" in line for line in shown[1:]) == 3


def test_two_runs_without_a_conversation_are_compared_by_their_traces(runs):
    code, out, err = run("diff", *RUNS, "-s", runs, "-f", "json")
    assert code == 0, err
    assert sorted((row["kind"], row["tool"]) for row in json.loads(out)) == [
        ("added", "search"), ("added", "search"), ("same", "pay"), ("same", "search"),
    ]  # fmt: skip


def test_diff_marks_a_duration_that_differs(runs):
    _, out, _ = run("diff", *RUNS, "-s", runs)
    assert [line.strip() for line in out.splitlines() if "pay" in line] == ["pay  100.0 ms → 500.0 ms  5 × as long"]
    assert [line for line in out.splitlines() if "as long" in line or "as fast" in line and "pay" not in line] == [
        "  pay  100.0 ms → 500.0 ms  5 × as long"
    ]
    _, out, _ = run("diff", *reversed(RUNS), "-s", runs)
    assert "pay  500.0 ms → 100.0 ms  5 × as fast" in out
    _, out, _ = run("diff", *RUNS, "-s", runs, "-f", "json")
    assert {row["duration_factor"] for row in json.loads(out)} == {None, 5.0}


def test_show_begins_with_the_outcome_of_the_conversation(tmp_path):
    path = tmp_path / "labelled.duckdb"
    journal = Journal(StorePaths.of(path).journal)
    identity = {"call_id": "a", "conversation_id": "one", "trace_id": "1" * 32, "span_id": "1" * 16}
    journal.write(encode(ToolCall(tool="pay", started_at=START, status="success", **identity)))
    label = {"target_kind": "conversation", "labeler": "check", "labeled_at": START}
    journal.write(encode(Outcome(conversation_id="one", score=0.8, **label)))
    journal.close()
    _, out, err = run("show", "one", str(create_empty_store(path)))
    assert out.splitlines()[0].split() == ["outcome", "goal", "reached", "score", "0.8,", "by", "check"], err
