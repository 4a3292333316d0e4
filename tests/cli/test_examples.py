"""The examples in the help of every command, run on a store of the demo."""

from __future__ import annotations

import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import tooltrace as tt
from tooltrace.cli import cli

NOT_RUN = (
    "tooltrace diff version:",  # the demo has one version of each tool
    "tooltrace compare version:",  # the same
    "tooltrace compare agent:",  # its agents have other names
    "tooltrace import messages.json",  # tests/ingest has such files
    "tooltrace import calls.csv",
    "tooltrace show 4bf9",  # a trace of another store
    "tooltrace serve",  # runs until Ctrl-C
    "tooltrace mcp",  # the same
    "tooltrace check",  # its exit code is that of the tools; tests/cli/test_check.py runs it
    "tooltrace claude",  # reads the transcripts of this machine; tests/ingest/transcripts runs it
    "tooltrace codex",
    "tooltrace watch",  # does not end; tests/cli/test_watch.py runs it
    "tooltrace briefing",  # prints nothing where no tool fails
    "tooltrace export otlp",  # needs a collector
    "tooltrace clickhouse",  # needs a server
    "tooltrace demo",  # tests/demo runs it
    "tooltrace report",  # tests/report runs it
)
"""Beginnings of the examples whose options are only parsed, because a run needs more than a store."""


def commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield words, command
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from commands(below, (*words, name))


def examples(command: click.Command) -> list[str]:
    lines = (command.epilog or "").splitlines()
    return [line.strip() for line in lines[2:]] if lines[:2] == ["\b", "Examples:"] else []


COMMANDS = dict(commands(cli))


def parse(arguments: list[str]) -> None:
    """Parse the options of a command without a run of it. Raises click.UsageError."""
    command: click.Command = cli
    while isinstance(command, click.Group) and arguments[0] in command.commands:
        name, *arguments = arguments
        command = command.commands[name]
    if "--help" not in arguments:
        command.make_context(command.name, arguments)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the store of a short demo, and with the files that the examples read."""
    folder = tmp_path_factory.mktemp("examples")
    store = folder / "tooltrace.duckdb"
    environment = {name: value for name, value in os.environ.items() if name != "TOOLTRACE_STORE"}
    command = [sys.executable, "-m", "tooltrace", "demo", "--calls", "60", "--days", "0", "--seed", "5"]
    subprocess.run(
        command, cwd=folder, env={**environment, "PYTHONPATH": str(Path(__file__).parents[2])}, check=True,
        capture_output=True,
    )  # fmt: skip
    with tt.connect(store) as db:
        call_id = db.sql("SELECT call_id FROM calls WHERE tool = 'fetch' ORDER BY attempts DESC LIMIT 1").fetchall()[0][
            0
        ]
        conversations = db.sql("SELECT DISTINCT conversation_id FROM attempts ORDER BY 1 LIMIT 2").fetchall()
    (folder / "call_id").write_text(call_id)
    (folder / "conversations").write_text("\n".join(row[0] for row in conversations))
    (folder / "labels.csv").write_text(f"call_id,correct\n{call_id},true\n")
    for name in ("agent", "monday", "one", "two"):
        shutil.copy(store, folder / f"{name}.duckdb")
    for path in ("traces.jsonl", "exported/calls.jsonl"):
        done = CliRunner().invoke(cli, ["export", "jsonl", str(store), "-o", str(folder / path), "--again"])
        assert done.exit_code == 0, done.output
    (folder / "logs.jsonl.gz").write_bytes(gzip.compress((folder / "traces.jsonl").read_bytes()))
    return folder


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_help_of_a_command_ends_with_examples_at_80_columns(words: tuple[str, ...]) -> None:
    shown = examples(COMMANDS[words])
    assert shown
    done = CliRunner().invoke(cli, [*words, "--help"], env={"COLUMNS": "80"}, terminal_width=80)
    assert done.exit_code == 0
    assert done.output.endswith("\n\n  Examples:\n" + "".join(f"    {example}\n" for example in shown))
    assert max(map(len, done.output.splitlines())) <= 80, "a line is broken in a terminal of 80 columns"


@pytest.mark.processes
@pytest.mark.parametrize("most", [1, pytest.param(100, marks=pytest.mark.simulations)])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_examples_run_on_the_store_of_the_demo(
    words: tuple[str, ...], most: int, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The options of every example are parsed; ``most`` of a command are run."""
    monkeypatch.delenv("TOOLTRACE_STORE")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(demo, tmp_path, dirs_exist_ok=True)
    if words == ("backup",):
        (tmp_path / "monday.duckdb").unlink()
    for number, example in enumerate(examples(COMMANDS[words])):
        first, second = (demo / "conversations").read_text().split()
        names = {"call_17": (demo / "call_id").read_text(), "session-17": first, "session-18": second}
        arguments = shlex.split(re.sub("|".join(names), lambda found: names[found[0]], example))[1:]
        if example.startswith(NOT_RUN) or number >= most:
            parse(arguments)
            continue
        if arguments[:1] == ["tail"] and "--no-follow" not in arguments:
            arguments.append("--no-follow")
        done = CliRunner().invoke(cli, arguments)
        assert done.exit_code == 0, f"{example}: {done.output}"
        assert done.output, example


@pytest.mark.processes
@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.simulations)])
def test_every_suggested_next_command_runs(demo: Path, monkeypatch: pytest.MonkeyPatch, every: int) -> None:
    """The last line of a query's output, typed into a shell; of each query, or of each fourth one.

    ``test_every_query_leads_on_to_a_command_that_exists`` parses all of them.
    """
    from tooltrace.analysis import catalogue

    monkeypatch.delenv("TOOLTRACE_STORE")
    monkeypatch.chdir(demo)
    call_id = (demo / "call_id").read_text()
    suggested = set()
    for name in list(catalogue())[::every]:
        required = {
            "call": f"id={call_id}",
            "call_gates": f"call_id={call_id}",
            "labels": f"call_id={call_id}",
            "compare": "after=7d",
            "ids": f"id={call_id}",
            "conversation_calls": f"conversation={(demo / 'conversations').read_text().split()[0]}",
            "find": "text=e",
            "version_pairs": "before_version=1.2 version=2.0",
        }
        more = [part for value in required.get(name, "").split() for part in ("-p", value)]
        done = CliRunner().invoke(cli, ["query", name, *more])
        assert done.exit_code == 0, f"{name}: {done.output}"
        last = done.stderr.splitlines()[-1]
        assert last.startswith("Next: tooltrace "), f"{name}: {done.stderr}"
        suggested.add(last.removeprefix("Next: tooltrace "))
    for command in suggested:
        done = CliRunner().invoke(cli, shlex.split(command))
        assert done.exit_code == 0, f"{command}: {done.output}"
