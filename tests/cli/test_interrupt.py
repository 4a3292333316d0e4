"""Ctrl-C during a query, which DuckDB reports as a RuntimeError."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from tooltrace.cli.errors import CommandGroup, until_stopped


def answer() -> None:
    """As DuckDB's client does where Ctrl-C comes while it answers."""
    raise RuntimeError("Query interrupted")


def test_a_live_view_ends_in_peace():
    with until_stopped():
        answer()
    with until_stopped():
        raise KeyboardInterrupt


def test_a_command_is_aborted_in_one_line():
    @click.group(cls=CommandGroup)
    def cli() -> None: ...

    cli.command("ask")(answer)
    done = CliRunner().invoke(cli, ["ask"])
    assert done.exit_code == 1
    assert done.output.strip() == "Aborted!"


def test_other_errors_are_raised():
    with pytest.raises(RuntimeError, match="other"), until_stopped():
        raise RuntimeError("other")
