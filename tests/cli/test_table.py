"""Tables: units, intervals, colours on a terminal only, and narrow terminals."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from datetime import datetime

import pytest

from tooltrace.analysis import find
from tooltrace.cli.table import format_value, write_table
from tooltrace.store.result import QueryResult


def table(columns, rows, groups=0):
    return QueryResult(columns, ["VARCHAR"] * len(columns), rows, groups=groups)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.30798, "share", "30.8 %"),
        (1234567, "count", "1,234,567"),
        (1.2345, "ms", "1.23"),
        (123.45, "ms", "123.5"),
        (12345.6, "ms", "12,346"),
        (1.22, "ratio", "1.22"),
        (None, "share", "-"),
        (True, "mark", "yes"),
        (False, "mark", ""),
        (False, "flag", "no"),
        (datetime(2026, 3, 1, 12, 0, 1, 5), "time", "2026-03-01 12:00:01"),
        (12345, "text", "12345"),
        ("x" * 300, "text", "x" * 200 + "…"),
    ],
)
def test_values_as_people_read_them(value, unit, text):
    assert format_value(value, unit) == text


@pytest.mark.parametrize("width", [50, 70, 100, 140])
def test_nothing_is_cut_however_narrow(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    columns = find("failure_rate").header.columns
    values = {
        "attempts": 101,
        "failures": 33,
        "rate": 33 / 101,
        "low": 0.25,
        "high": 0.42,
        "calls": 99,
        "failed_calls": 21,
    }
    write_table(table(columns, [tuple(values.get(column.name, 0) for column in columns)]))
    text = capsys.readouterr().out
    assert all(len(line) <= width for line in text.splitlines())
    assert "…" not in text
    for shown in ("101", "33", "32.7 % [25.0, 42.0]", "99", "21"):
        assert shown in text


@pytest.mark.processes
def test_colours_on_a_terminal_and_hostile_text_is_still_harmless(history):
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "tooltrace", "tail", "--no-follow", "--status", "error"]
    environment = {**os.environ, "TOOLTRACE_STORE": str(history), "TERM": "xterm-256color", "NO_COLOR": ""}
    environment.pop("NO_COLOR")
    with subprocess.Popen(command, stdout=slave, env=environment) as process:
        os.close(slave)
        output = b""
        while b"next" not in output:
            output += os.read(master, 65536)
        process.wait()
    os.close(master)
    text = output.decode()
    assert "\x1b[1;31m" in text
    assert r"\x1b]0;title\x07" in text, "shown, as on the pages"
    assert "\x1b]" not in text
    assert "\x07" not in text
    assert "[bold]not bold[/bold]" in text


def test_a_table_that_is_too_wide_is_transposed(capsys, monkeypatch):
    columns = find("retries").header.columns
    row = tuple(
        None if column.unit in ("text", "json") else 0.5 if column.unit == "share" else 12 for column in columns
    )
    monkeypatch.setenv("COLUMNS", "80")
    answer = table(columns, [("search", *row[1:]), ("fetch", *row[1:])], groups=1)
    write_table(answer)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[0].split() == ["calls", "search", "fetch"]
    assert ["amplification", "12.00", "12.00"] in [line.split() for line in lines]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", ["latency", "retries", "signals"])
def test_no_title_and_no_figure_is_cut(monkeypatch, capsys, name):
    columns = find(name).header.columns
    row = tuple(
        0.25 if column.unit in ("share", "ms", "ratio") or column.end_of else 1234 if column.unit == "count" else "a b"
        for column in columns
    )
    words = {word for column in columns if column.unit == "ms" for word in column.name.split("_")}
    for width in range(60, 240, 7):
        monkeypatch.setenv("COLUMNS", str(width))
        write_table(table(columns, [row], 0))
        printed = capsys.readouterr().out
        assert max(map(len, printed.splitlines())) <= width
        assert words <= set(printed.split()), width
        assert printed.count("1,234") == sum(column.unit == "count" for column in columns), width
