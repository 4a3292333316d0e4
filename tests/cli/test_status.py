"""``tooltrace`` without a command shows the state of the store."""

from __future__ import annotations

from benchmarks.story import BROKEN_TOOL, make_story


def test_a_broken_tool_is_named_with_the_commands_that_lead_on(run, where):
    make_story(where)
    shown = run()
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[0] == f"Store {where}, the last 7 days:"
    assert lines[1].startswith(f"{BROKEN_TOOL} fails 100.0 % of its calls")
    assert "with version 2.4.0: PERMISSION_DENIED '401 token expired'" in lines[1]
    assert any(line.lstrip().startswith(BROKEN_TOOL) for line in lines[3:])
    assert f"query errors --tool {BROKEN_TOOL} --since 7d" in shown.stdout
    assert f"compare version:2.3.1..2.4.0 --tool {BROKEN_TOOL}" in shown.stdout


def test_a_usual_history_has_no_failing_tool(run, history):
    assert "Too few calls" in run().stdout or "Nothing unusual" in run().stdout


def test_without_a_store_the_demo_is_next(run):
    shown = run()
    assert (shown.exit_code, "No call has been recorded" in shown.stdout, " demo" in shown.stdout) == (0, True, True)


def test_a_query_begins_with_its_sentence_for_people_only(run, where):
    make_story(where)
    assert run("query", "failure_rate").stderr.startswith(f"{BROKEN_TOOL} fails most: ")
    assert "fails most" not in run("query", "failure_rate", "--format", "json").output
    assert "fails most" not in run("query", "failure_rate", "--format", "csv").output
