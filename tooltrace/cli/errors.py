"""What all commands share in failing: one line on standard error, and the exit code."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from tooltrace.cli.sanitize import clean
from tooltrace.errors import BadParameter, StoreLocked, TooltraceError, UnknownQuery

_INTERRUPTED = "Query interrupted"
"""What DuckDB makes of Ctrl-C while it answers: a RuntimeError."""


class CommandError(click.ClickException):
    """It could not be done, and a person can do something about it."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it; no more than it."""
        click.echo(f"tooltrace: {clean(self.message, lines=True)}", file=file, err=file is None)


class UsageError(CommandError):
    """The question was put wrongly."""

    exit_code = 2


class Group(click.Group):
    """A group whose commands may raise TooltraceError."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; see :class:`Failed`."""
        try:
            return super().invoke(ctx)
        except TooltraceError as error:
            kind = UsageError if isinstance(error, UnknownQuery | BadParameter) else CommandError
            raise kind(sentence(error)) from error
        except RuntimeError as error:
            if str(error) != _INTERRUPTED:
                raise
            raise KeyboardInterrupt from error


@contextmanager
def until_stopped() -> Iterator[None]:
    """For what goes on until Ctrl-C: that is its end, and no fault, whatever it comes into."""
    try:
        yield
    except KeyboardInterrupt:
        pass
    except RuntimeError as error:
        if str(error) != _INTERRUPTED:
            raise


def sentence(error: TooltraceError) -> str:
    """What ``error`` says; a locked store with the process that holds it."""
    text = str(error)
    if isinstance(error, StoreLocked) and error.pid is not None and str(error.pid) not in text:
        text = f"{text} (held by process {error.pid})"
    return text


def soften() -> None:
    """Let a character that the terminal's encoding lacks be shown as its escape instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
