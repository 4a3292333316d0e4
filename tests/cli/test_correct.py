"""``tooltrace correct`` and ``tooltrace reread``."""

from __future__ import annotations

import pytest

import tooltrace as tt
from tooltrace.redact.snapshot import Json


@pytest.fixture
def statuses(where):
    def statuses(call_id):
        with tt.connect(where) as db:
            sql = "SELECT status, code, status_recorded FROM tool_calls WHERE call_id = ? ORDER BY attempt"
            return db.execute(sql, [call_id]).fetchall()

    return statuses


def test_a_call_is_corrected_and_restored(run, history, statuses):
    done = run("correct", "call_3", "--status", "error", "--code", "TIMEOUT", "--labeler", "ann", "--reason", "empty")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "call_3 is corrected to error by ann.\n", "")
    assert statuses("call_3") == [("error", "TIMEOUT", "success")]
    done = run("correct", "call_3", "--status", "recorded")
    assert (done.exit_code, done.stdout) == (0, "call_3 has the recorded reading again.\n")
    assert statuses("call_3") == [("success", None, None)]


def test_one_attempt_is_corrected_by_its_span(run, history, statuses):
    assert run("correct", f"{1:016x}", "--span", "--status", "partial").exit_code == 0
    assert statuses("call_1") == [("partial", None, "error"), ("success", None, None)]


def test_a_call_that_is_not_recorded_is_reported(run, history):
    done = run("correct", "later", "--status", "success")
    assert done.exit_code == 0
    assert "No call later has been recorded" in done.stderr


@pytest.mark.parametrize(
    "args", [(), ("--status", "ok"), ("--status", "success", "--code", "X"), ("--status", "error", "--labeler", " ")]
)
def test_wrong_usage_records_nothing(run, history, where, args):
    assert run("correct", "call_3", *args).exit_code == 2
    with tt.connect(where) as db:
        assert db.execute("SELECT count(*) FROM corrections").fetchall() == [(0,)]


def test_results_are_read_again_after_a_dry_run(run, put, made, statuses):
    put(made(1, ending="returned", rule="plain", rule_grade="certain", result=Json('{"ok":false,"error":"gone"}')))
    for more, verb, status in ((("--dry-run",), "would change", "success"), ((), "changed", "error")):
        done = run("reread", "--rules", "current", *more)
        assert done.exit_code == 0, done.stderr
        assert done.stdout.splitlines()[-1] == f"1 attempt read again, 1 {verb}."
        assert "call_1" in done.stdout
        assert statuses("call_1")[0][0] == status
    assert run("reread", "--rules", "current").stdout == "1 attempt read again, 0 changed.\n"
    assert run("reread", "--rules", "current", "--since", "yesterday").exit_code == 2
