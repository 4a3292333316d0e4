"""``tooltrace claude``: find the transcripts, import what is new, print the diagnosis."""

from __future__ import annotations

import json
import os
import stat

import pytest
from click.testing import CliRunner

import tooltrace as tt
from tooltrace.cli import cli

from .claude_lines import answers, asks, prompt
from .conftest import write_lines


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


@pytest.fixture
def run(home):
    def run(*arguments):
        result = CliRunner().invoke(cli, ["claude", "--since", "all", *arguments], catch_exceptions=False)
        return result.exit_code, result.output.replace("\n", " ")

    return run


def session(home, name, *lines, folder="-home-ada-shop"):
    return write_lines(home / "claude" / "projects" / folder / f"{name}.jsonl", lines)


def stored(home, sql="SELECT call_id FROM tool_calls ORDER BY started_at"):
    with tt.connect(home / "data" / "tooltrace" / "claude.duckdb") as db:
        return [row[0] for row in db.execute(sql).fetchall()]


@pytest.mark.long
def test_only_what_is_new_is_imported(home, run):
    path = session(
        home, "a", prompt(0), asks(1, "toolu_1"), answers(2, "toolu_1", "Exit code 2", True), {"type": "psi"}
    )
    code, said = run()
    assert code == 0
    assert "1 new call in 1 of 1 transcript" in said
    assert "1 × claude-code 2.1.332: lines of the type psi" in said
    assert "Bash" in said
    assert "make" in said  # the command
    assert "0 new calls in 0 of 1 transcript" in run()[1]
    with path.open("a") as file:
        file.write(json.dumps(asks(3, "toolu_2")) + "\n" + json.dumps(answers(4, "toolu_2", "ok")) + "\n")
    assert "1 new call in 1 of 1 transcript" in run()[1]
    assert stored(home) == ["toolu_1", "toolu_2"]
    assert stored(home, "SELECT sum(count) FROM losses") == [1]
    files = [each for each in (home / "data" / "tooltrace").rglob("*") if each.is_file()]
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}


@pytest.mark.long
def test_a_call_that_ran_is_read_once_its_result_is_there(home, run):
    path = session(home, "a", prompt(0), asks(1, "toolu_1"))
    os.utime(path)
    assert "1 call without a result may still run" in run()[1]
    os.utime(path, (0, 1_700_000_000))
    run()
    assert stored(home, "SELECT ending FROM tool_calls") == ["lost"]


@pytest.mark.long
def test_a_store_that_was_removed_is_filled_again(home, run):
    session(home, "a", prompt(0), asks(1, "toolu_1"), answers(2, "toolu_1", "ok"))
    run()
    (home / "data" / "tooltrace" / "claude.duckdb").unlink()
    assert "1 new call" in run()[1]


def test_a_project_is_named_by_its_folder(home, run):
    session(home, "a", prompt(0), asks(1, "toolu_1"), answers(2, "toolu_1", "ok"))
    session(home, "b", prompt(0, cwd="/srv/bank"), asks(1, "toolu_2"), answers(2, "toolu_2", "ok"), folder="-srv-bank")
    assert "in 1 of 1 transcript" in run("--project", "bank")[1]
    assert stored(home) == ["toolu_2"]


def test_without_transcripts_the_place_is_named(home, run):
    code, said = run()
    assert code == 1
    assert f"{home}/claude/projects" in said
    (home / "claude" / "projects").mkdir(parents=True)
    code, said = run("--project", "shop")
    assert code == 1
    assert "no transcript of the project shop" in said
    assert "found no store" not in said


def test_import_recognises_a_transcript(home, run):
    path = session(home, "a", prompt(0), asks(1, "toolu_1"), answers(2, "toolu_1", "ok"))
    result = CliRunner().invoke(cli, ["import", str(path), "--store", str(home / "other.duckdb")])
    assert result.output == "1 call and 1 other record read from 1 file, 0 lines skipped.\n"
