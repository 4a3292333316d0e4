"""Sentences on a terminal end their lines between words."""

from __future__ import annotations

import sys

import pytest

from tooltrace.cli.wrapping import echo_sentence

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
    assert capsys.readouterr().err == f"{SENTENCE}\n"
