"""``tail`` and ``top`` show the calls that run, and for how long."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tooltrace.analysis.running_calls import elapsed
from tooltrace.cli.live_rows import RunningFollower
from tooltrace.core.records import Begun
from tooltrace.redact.snapshot import Json
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal import journal_names
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal

HOSTILE = "\x1b[31mred\x1b]0;title\x07[bold]x[/bold]\u202e"


def begun(number: int, *, ago: float = 86_400 + 3.5 * 3600, **given: Any) -> Begun:
    known: dict[str, Any] = {
        "tool": "load", "call_id": f"c{number}", "trace_id": "1" * 32, "span_id": f"{number + 1000:016x}",
        "started_at": datetime.now(UTC) - timedelta(seconds=ago), "host": socket.gethostname(), "pid": os.getpid(),
    }  # fmt: skip
    return Begun(**{**known, **given})


@pytest.fixture
def journal(where: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Journal]:
    """The journal of a process that lives, and has for a week."""
    monkeypatch.setattr(journal_names, "_LOADED_AT", int((time.time() - 7 * 86_400) * 1000))
    made = Journal(StorePaths.of(where).journal)
    yield made
    made.close()


def test_top_lists_the_calls_that_run_for_longest(journal: Journal, run: Any, put: Any, made: Any) -> None:
    put(made(1, started_at=datetime.now(UTC)))
    journal.write(encode(begun(1, tool=HOSTILE, ago=2 * 86_400 + 5.5 * 3600, arguments=Json('{"path":"/all.csv"}'))))
    for number in range(2, 8):
        journal.write(encode(begun(number)))
    lines = run("top").stdout.splitlines()
    assert "running 2 d 5 h" in lines[1]
    assert "/all.csv" in lines[1]
    assert "running 1 d 3 h  load  c2" in lines[2]
    assert "and 2 more calls run" in lines[6]
    assert not set("".join(lines)) & set("\x1b\x07\u202e")


def test_tail_shows_a_call_that_runs_once_and_not_with_a_filter_of_its_end(
    journal: Journal, where: Path, run: Any
) -> None:
    journal.write(encode(begun(1)) + encode(begun(2, tool="other", host="elsewhere")))
    first, second = run("tail", "--no-follow").stdout.splitlines()
    assert ("load" in first, "running" in first, "#1 c1" in first) == (True, True, True)
    assert "unknown" in second
    (line,) = run("tail", "--no-follow", "--tool", "other", "-f", "json").stdout.splitlines()
    assert json.loads(line)["running"]["call_id"] == "c2"
    assert run("tail", "--no-follow", "--ending", "lost").stdout == ""
    follower = RunningFollower(where, {})
    assert [call["call_id"] for call in follower.more()] == ["c1", "c2"]
    journal.write(encode(begun(3)))
    assert [call["call_id"] for call in follower.more()] == ["c3"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (5, "5 s"), (60, "1 min"), (125, "2 min 5 s"), (3605, "1 h 5 s"), (90_061, "1 d 1 h")],
)
def test_a_time_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert elapsed(seconds) == text
