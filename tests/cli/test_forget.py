"""``tooltrace forget``, ``compact``, ``backup``, ``restore`` and ``merge`` as commands."""

from __future__ import annotations

import json

import pytest


def test_forget_needs_a_confirmation(run, history):
    assert run("forget").exit_code == 2
    refused = run("forget", "--call", "call_1")
    assert refused.exit_code == 2
    assert "Forget 2 attempts of 1 call for good? Pass --yes" in refused.stderr
    assert json.loads(run("forget", "--call", "call_1", "--dry-run", "--format", "json").stdout) == {
        "attempts": 2,
        "calls": 1,
        "exports": [],
    }
    done = json.loads(run("forget", "--call", "call_1", "--yes", "--format", "json").stdout)
    assert done["rows"] == {"attempts": 2, "outcomes": 1}
    assert done["remaining"] == []
    assert "Forgot 0 attempts" in run("forget", "--call", "call_1", "--yes").stdout


def test_a_wrong_condition_is_a_sentence(run, history):
    done = run("forget", "--where", "no_such = 1", "--yes")
    assert done.exit_code == 1
    assert "wrong condition" in done.stderr
    assert "nothing was forgotten" in done.stderr


@pytest.mark.long
def test_a_backup_is_restored_and_merged(run, history, where, tmp_path):
    copy = tmp_path / "copy.duckdb"
    assert json.loads(run("backup", str(copy), "--format", "json").stdout)["file"] == str(copy)
    assert "--force" in run("backup", str(copy)).stderr
    assert json.loads(run("compact", "--format", "json").stdout)["bytes_after"] > 0
    assert "--force" in run("restore", str(copy)).stderr
    assert "restored" in run("restore", str(copy), "--force").stdout
    merged = run("merge", str(copy), "-o", str(tmp_path / "all.duckdb"), "--format", "json")
    assert json.loads(merged.stdout)["added"] == 25


@pytest.mark.long
def test_secrets_are_found_by_doctor_and_removed_by_redact(run, put, made):
    secret = "sk-" + "4f" * 20
    put(made(1, text=f"key {secret}"))
    found = run("doctor", "--secrets", "--format", "json")
    assert found.exit_code == 1
    assert json.loads(found.stdout)["values"] == {"attempts.text": 1}
    assert run("redact").exit_code == 2
    assert "--yes" in run("redact", "--defaults").stderr
    assert run("redact", "--pattern", "(", "--yes").exit_code == 2
    done = run("redact", "--defaults", "--yes")
    assert "1 value redacted" in done.stdout
    assert secret not in found.output + done.output
    assert run("doctor", "--secrets").exit_code == 0
