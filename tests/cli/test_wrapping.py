"""Sentences on a terminal end their lines between words."""

from __future__ import annotations

import io
import shlex
import sys

import pytest
from rich.console import Console
from rich.text import Text

from tooltrace.cli.wrapping import echo_command, echo_sentence, print_wrapped

SENTENCE = "crm_lookup is first: 182 of 279 calls failed (65.2 %, 55.6 % to 73.7 %), last with 401 token expired."


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_sentence_is_broken_between_words_on_a_terminal(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    echo_sentence(SENTENCE)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) < width
    assert " ".join(lines) == SENTENCE


def test_a_sentence_in_a_file_is_one_line_without_control_characters(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    echo_sentence(f"{SENTENCE}\x1b[31m", err=True)
    assert capsys.readouterr().err == f"{SENTENCE}\\x1b[31m\n"


COMMAND = "Next: tooltrace query errors --tool 'crm lookup of the customer' --since 7d --store stores/agent.duckdb"


@pytest.mark.parametrize("width", [30, 60, 80])
def test_a_command_is_broken_between_words_and_can_be_pasted(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    echo_command(COMMAND, err=True)
    written = capsys.readouterr().err
    lines = written.splitlines()
    assert len(lines) > 1
    assert all(line.endswith(" \\") for line in lines[:-1])
    assert max(map(len, lines)) < max(width, len("  'crm lookup of the customer' \\") + 1)
    # a shell drops a backslash with the line break behind it; shlex does not
    assert shlex.split(written.replace("\\\n", "")) == shlex.split(COMMAND)


def test_a_command_in_a_file_is_one_line(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    echo_command(COMMAND)
    assert capsys.readouterr().out == f"{COMMAND}\n"


def test_a_full_line_is_not_followed_by_an_empty_one():
    out = Console(file=io.StringIO(), width=11, force_terminal=True, color_system=None)
    print_wrapped(out, Text("hello world  and more"), 2)
    assert out.file.getvalue().split("\n") == ["hello world", "  and more", ""]
