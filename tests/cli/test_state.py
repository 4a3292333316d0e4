"""``tooltrace`` without a command shows the state of a store; all surfaces have one default window, and state it."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from benchmarks.story import BROKEN_TOOL, make_story


def test_a_broken_tool_is_named_with_the_commands_that_lead_on(run, where):
    make_story(where)
    shown = run()
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[0].startswith(f"Store {where}. ")
    assert lines[1].startswith("1 problem and ")
    assert lines[2].startswith(f"problem (broken): {BROKEN_TOOL} failed in each of its last ")
    assert "with version 2.4.0, mostly PERMISSION_DENIED '401 token expired'" in lines[2]
    assert "Roll back to version 2.3.1, or see what 2.4.0 changed." in lines[3]
    assert any(line.lstrip().startswith(BROKEN_TOOL) for line in lines[4:])
    assert f"query errors --tool {BROKEN_TOOL}" in shown.stdout


@pytest.mark.long
def test_a_usual_history_has_no_failing_tool(run, history):
    assert "Too few calls" in run().stdout or "Nothing unusual" in run().stdout


@pytest.mark.long
def test_every_finding_is_listed_and_in_every_format(run, where):
    make_story(where)
    listed = json.loads(run("findings", "--format", "json").stdout)
    assert listed[0] | {"kind": "broken", "tools": BROKEN_TOOL, "severity": "problem", "version": "2.4.0"} == listed[0]
    assert [row["sentence"] for row in listed] == [
        line.partition(": ")[2] for line in run("findings").stdout.splitlines() if not line.startswith("  ")
    ]
    assert {row["tools"] for row in json.loads(run("findings", "--tool", BROKEN_TOOL, "-f", "json").stdout)} == {
        BROKEN_TOOL
    }
    assert run("findings", "-f", "csv").stdout.startswith("kind,severity,tools,")
    assert run("findings", "-f", "markdown").stdout.startswith("| kind | severity |")


def test_a_history_without_a_finding_says_so(run, history):
    assert run("findings", "--tool", "none").stdout == "No finding.\n"


def test_without_a_store_the_demo_is_next(run):
    shown = run()
    assert (shown.exit_code, "No call has been recorded" in shown.stdout, " demo" in shown.stdout) == (0, True, True)


@pytest.mark.long
def test_a_query_begins_with_its_sentence_for_people_only(run, where):
    make_story(where)
    assert run("query", "failure_rate").stderr.splitlines()[1].startswith(f"{BROKEN_TOOL} fails most: ")
    assert "fails most" not in run("query", "failure_rate", "--format", "json").output
    assert "fails most" not in run("query", "failure_rate", "--format", "csv").output


@pytest.mark.parametrize(
    "words", [["{}"], ["--store", "{}"], ["--since", "7d", "-s", "{}"], ["{}", "--since", "7d"], ["state", "{}"]]
)
def test_the_state_is_that_of_the_named_store(run, history, where, monkeypatch, words):
    monkeypatch.delenv("TOOLTRACE_STORE")
    shown = run(*(word.format(where) for word in words))
    assert (shown.exit_code, shown.stdout.partition(". ")[0]) == (0, f"Store {where}")


def test_options_before_a_command_are_refused_with_the_words_to_type(run, history, where):
    shown = run("--store", str(where), "query", "errors")
    assert shown.exit_code == 2
    assert shown.stderr.startswith("tooltrace: options follow the command: ")
    assert shown.stderr.endswith(f" query --store {where} errors\n")


SHORT, LONG, GIVEN = "Since the first record: {:%Y-%m-%d %H:%M}", "The last 7 days: since ", "Since {:%Y-%m-%d %H:%M}"


@pytest.mark.parametrize(
    ("oldest_days", "since", "first_line", "attempts"),
    [
        (2, None, SHORT, 2),
        (20, None, LONG, 1),
        pytest.param(20, "all", SHORT, 2, marks=pytest.mark.long),
        pytest.param(20, "30d", "Since ", 2, marks=pytest.mark.long),
    ],
)
def test_all_surfaces_have_one_window_and_state_it_first(
    run, put, made, where, tmp_path, oldest_days, since, first_line, attempts
):
    oldest = made(1).started_at - timedelta(days=oldest_days)
    put(made(1, started_at=oldest), made(2))
    option, expected = [] if since is None else ["--since", since], first_line.format(oldest)
    assert run(*option).stdout.splitlines()[0].startswith(f"Store {where}. {expected}")
    shown = run("query", "failure_rate", *option, "-f", "json")
    assert shown.stderr.startswith(expected)
    assert [row["attempts"] for row in json.loads(shown.stdout)] == [attempts]
    if since != "30d":  # the beginning alone is stated for a given one
        assert run("report", *option, "-f", "markdown").stdout.splitlines()[2].startswith(expected.partition(":")[0])
