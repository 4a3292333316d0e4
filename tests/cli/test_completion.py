"""Completion by the shell: the names it offers, and that it neither waits nor writes nor fails."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from tests.stores import create_empty_store
from tooltrace.cli import cli
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.read.tool_names import tools_at_once


def offered(*words: str) -> list[str]:
    """The names for the last of ``words``."""
    return [
        item.value for item in ShellComplete(cli, {}, "tooltrace", "_").get_completions(list(words[:-1]), words[-1])
    ]


@pytest.fixture
def store(pending_history: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOOLTRACE_STORE", str(pending_history))
    return pending_history


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["que"], ["query"]),
        (["query", "failure"], ["failure_rate"]),
        (["query", "rank"], ["ranking"]),
        (["query", "failure_rate", "--by", "too"], ["tool"]),
        (["query", "failure_rate", "--by", "tool,ver"], ["tool,version"]),
        (["query", "compare", "--by", "a"], ["agent", "attributes."]),
        (["query", "errors", "-c", "tool,cod"], ["tool,code"]),
        (["query", "version_pairs", "-p", "before_v"], ["before_version="]),
        (["compare", "-c", "verd"], ["verdict"]),
        (["export", "otlp-"], ["otlp-json"]),
        (["columns", "outc"], ["outcomes"]),
        (["sql", "--format", "mark"], ["markdown"]),
        (["query", "no_such_query", "--by", "t"], []),
    ],
    ids=lambda value: " ".join(value),
)
def test_known_names_are_offered(words, expected):
    assert offered(*words) == expected


def test_recorded_tools_and_versions_are_offered(store, put, made):
    put(
        made(30, tool="fetch", tool_version="1.0"),
        made(31, tool="fetch", tool_version="2.0"),
        made(32, tool="no version"),
    )
    assert offered("query", "failure_rate", "--tool", "") == ["fetch", "no version", "search"]
    fold(store)
    assert offered("query", "failure_rate", "--tool", "f") == ["fetch"]
    assert offered("compare", "version") == ["version:1.0", "version:2.0"]
    assert offered("compare", "version:1.0", "ag") == ["agent:"]
    assert offered("query", "version_pairs", "-p", "before_version=") == ["before_version=1.0", "before_version=2.0"]


def test_the_store_of_the_command_line_is_meant(store, tmp_path):
    empty = str(create_empty_store(tmp_path / "empty.duckdb"))
    assert offered("query", "failure_rate", "--tool", "s") == ["search"]
    assert offered("query", "failure_rate", empty, "--tool", "s") == []
    assert offered("query", "failure_rate", "-s", empty, "--tool", "s") == []
    assert offered("tail", empty, "--tool", "s") == []


def test_completion_folds_nothing_and_creates_nothing(store, monkeypatch):
    before = files(store.parent)
    assert offered("query", "failure_rate", "--tool", "") == ["fetch", "search"]
    monkeypatch.setenv("TOOLTRACE_STORE", str(store.parent / "missing.duckdb"))
    assert offered("tail", "--tool", "") == []
    assert files(store.parent) == before


def test_completion_does_not_wait_for_a_store_in_use(store):
    fold(store)
    with StorePaths.of(store).lock.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert tools_at_once(store) == set()
    assert {tool for tool, _ in tools_at_once(store)} == {"fetch", "search"}


def test_completion_of_what_is_not_a_store_offers_nothing(tmp_path, monkeypatch):
    notes = tmp_path / "notes.duckdb"
    notes.write_text("notes\n" * 99)
    monkeypatch.setenv("TOOLTRACE_STORE", str(notes))
    assert offered("query", "failure_rate", "--tool", "") == []
    monkeypatch.setenv("TOOLTRACE_STORE", "clickhouse://nowhere.invalid/otel")
    assert offered("query", "failure_rate", "--tool", "") == []


@pytest.mark.processes
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell):
    environment = {**os.environ, "_TOOLTRACE_COMPLETE": f"{shell}_source"}
    code = "from tooltrace.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_TOOLTRACE_COMPLETE={shell}_complete" in done.stdout
