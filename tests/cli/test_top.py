"""``tooltrace top``: the tools of the last minutes, printed once or shown live on a terminal."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from tests.grids import covering
from tooltrace.analysis import query_store
from tooltrace.cli.top_view import load_view
from tooltrace.store.base import open_store

HOSTILE = "\x1b[31mred\x1b]0;title\x07[bold]x[/bold]\u202e"


def rows(done) -> list[list[str]]:
    """The body of the table, a line each."""
    lines = done.stdout.splitlines()
    rule = next(at for at, line in enumerate(lines) if "───" in line)
    return [line.split() for line in lines[rule + 1 :] if line.strip()]


@pytest.fixture
def busy(put, made):
    """Two tools a minute ago: one fails often and briefly, one seldom and long."""
    at = datetime.now(UTC) - timedelta(minutes=1)

    def attempt(number, tool, *, failed, ms):
        return made(
            number, tool=tool, started_at=at + timedelta(seconds=number / 100), duration_ms=ms,
            status="error" if failed else "success", code="TIMEOUT" if failed else None, error_message=HOSTILE if failed else None,
        )  # fmt: skip

    put(
        *(attempt(100 + n, "brief", failed=n < 30, ms=5.0) for n in range(50)),
        *(attempt(200 + n, "long", failed=n < 2, ms=4000.0) for n in range(20)),
        made(400, tool="old", started_at=at - timedelta(hours=3)),
    )


@pytest.mark.usefixtures("busy")
def test_without_a_terminal_the_table_is_printed_once(run):
    done = run("top")
    assert done.exit_code == 0
    assert "70 calls, 32 failed" in done.stdout
    first, second = rows(done)
    assert [first[0], second[0]] == ["brief", "long"], (
        "30 of 50 are further beyond the usual than 2 of 20, however brief"
    )
    assert first[2:8] == ["50", "30", "60.0", "%", "[46,", "72]"], "behind the failures beyond the usual"
    assert "TIMEOUT" in first
    assert not set(done.stdout) & set("\x1b\x07\u202e")


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize(
    ("sort", "first"), [("failing", "brief"), ("hurt", "long"), ("calls", "brief"), ("failed", "brief"), ("rate", "brief"), ("p95", "long"), ("tool", "brief")]
)  # fmt: skip
def test_tools_are_sorted_by_the_option_sort(run, sort, first):
    assert rows(run("top", "--sort", sort))[0][0] == first


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize(
    ("sort", "title", "width"),
    covering(
        [("failing", "at least ▼"), ("hurt", "lost ms ▼"), ("failed", "failed ▼"), ("rate", "rate of calls ▼"), ("retries", "tries ▼"), ("tool", "tool ▲")],
        ["80", "200"],
    ),
)  # fmt: skip
def test_the_column_that_sorts_the_tools_is_shown_and_marked(run, sort, title, width):
    head = next(
        line for line in run("top", "--sort", sort, env={"COLUMNS": width}).stdout.splitlines() if "p95" in line
    )
    assert title in head
    assert head.count("▼") + head.count("▲") == 1


@pytest.mark.usefixtures("busy")
def test_since_sets_the_time_range(run):
    assert {row[0] for row in rows(run("top", "--since", "1d"))} == {"brief", "long", "old"}


@pytest.mark.usefixtures("busy")
def test_no_more_tools_than_lines(where, put, made):
    put(*(made(500 + n, tool=f"tool_{n:02}") for n in range(30)))
    from rich.console import Console

    console = Console(width=118, height=20, file=io.StringIO())
    console.print(load_view(where, "1d", "failing").table(118, 20))
    lines = console.file.getvalue().splitlines()
    assert len(lines) <= 20
    assert lines[-1] == "and 19 more"
    (brief,) = [line for line in lines if line.startswith(" brief")]
    assert "60.0 % [46, 72]" in brief, "where there is little room, it is the message that is cut short"
    assert brief.rstrip().endswith("…")


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize(("width", "heads"), [(70, 7), (80, 7), (100, 8), (200, 9)])
def test_figures_are_never_cut_in_a_narrow_terminal(where, width, heads):
    from rich.console import Console

    console = Console(width=width, height=20, file=io.StringIO())
    console.print(load_view(where, "1d", "failing").table(width, 20))
    lines = console.file.getvalue().splitlines()
    (head,) = [line for line in lines if "calls  " in line and "tooltrace" not in line]
    assert len(re.split(r"\s{2,}", head.strip())) == heads
    (brief,) = [line for line in lines if line.startswith(" brief")]
    assert re.match(r" brief +\d+ +50 +30 +60\.0 % \[46, 72\] +1\.00 +5\.00", brief)
    assert max(map(len, lines)) <= width


def test_a_time_range_without_calls_is_a_success(run, put, made):
    put(made(1, started_at=datetime.now(UTC) - timedelta(days=2)))
    done = run("top")
    assert done.exit_code == 0
    assert "0 calls" in done.stdout


def test_a_missing_store_and_a_wrong_span_are_errors(run):
    assert run("top", "--once").exit_code == 1
    assert run("top", "--since", "soon").exit_code in (1, 2)


class Screen:
    """A terminal of 100 × 30 with a program on it."""

    def __init__(self, *command: str, **environment: str) -> None:
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        known = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = subprocess.Popen(
            command, stdin=follower, stdout=follower, stderr=follower, close_fds=True,
            env={**known, "TERM": "xterm-256color", "PYTHONUTF8": "1", **environment},
        )  # fmt: skip
        os.close(follower)
        self.leader, self.text = leader, ""

    def until(self, pattern: str) -> None:
        """Wait until ``pattern`` is printed, and forget what was printed before it."""
        while not (found := re.search(pattern, self.text)):
            self.text += os.read(self.leader, 65536).decode(errors="replace")
        self.text = self.text[found.end() :]


@contextmanager
def screen(*command: str, **environment: str):
    shown = Screen(*command, **environment)
    try:
        yield shown
    finally:
        shown.process.kill()
        shown.process.wait()
        os.close(shown.leader)


@pytest.mark.processes
def test_calls_of_another_process_appear_on_the_live_screen(where, put, made):
    command = (sys.executable, "-m", "tooltrace", "top", "--interval", "0.5")
    with screen(*command, TOOLTRACE_STORE=str(where)) as shown:
        shown.until("found no store")  # it waits for one
        put(*(made(n, tool="fresh_tool", started_at=datetime.now(UTC)) for n in range(1, 30)))
        shown.until("fresh_tool")
        put(made(50, tool="fresher", started_at=datetime.now(UTC), status="error"))
        shown.until("fresher")
        shown.process.send_signal(signal.SIGINT)
        shown.until(r"\x1b\[\?1049l")  # the screen that was there before is back
        assert shown.process.wait() == 0


@pytest.mark.processes
def test_a_termination_signal_restores_the_terminal(where, put, made):
    put(made(1, tool="fresh_tool", started_at=datetime.now(UTC)))
    with screen(sys.executable, "-m", "tooltrace", "top", TOOLTRACE_STORE=str(where)) as shown:
        shown.until("fresh_tool")
        shown.process.terminate()
        shown.until(r"\x1b\[\?1049l")
        assert shown.process.wait() == 0


@pytest.mark.usefixtures("busy")
def test_the_default_order_is_that_of_the_ranking_and_shows_its_figure(run, where):
    """The failed calls that are certain; the figure is the one that orders the rows."""
    ranked = query_store(open_store(where), "ranking", since="1d").dicts()
    shown = rows(run("top", "--since", "1d"))
    assert [row[0] for row in shown] == [row["tool"] for row in ranked]
    for row, rank in zip(shown, ranked, strict=True):
        assert row[1] == f"{rank['at_least']:,.0f}"
