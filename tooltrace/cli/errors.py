"""Error handling of all commands: one line on standard error, and the exit code."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from tooltrace.analysis import catalog
from tooltrace.cli.sanitize import clean
from tooltrace.cli.store_name import is_store_name
from tooltrace.errors import BadParameter, ConfigError, StoreLocked, TooltraceError, near

_INTERRUPTED = "Query interrupted"
"""Message of the RuntimeError that DuckDB raises for Ctrl-C during a query."""
TRACEBACK = "TOOLTRACE_TRACEBACK"
"""Environment variable with which an unexpected exception ends in its traceback."""


class CommandError(click.ClickException):
    """A failure of a command that the user can act on."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message and nothing else."""
        click.echo(f"tooltrace: {clean(self.message, lines=True)}", file=file, err=file is None)


class UsageError(CommandError):
    """A wrong command or parameter."""

    exit_code = 2


class CommandGroup(click.Group):
    """A group of commands that may raise TooltraceError.

    ``default``: the command that is meant where the first word is the name of a store or one of its options.
    """

    def __init__(self, *args: Any, default: str | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self._default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse ``args``, with the name of the default command where they leave it out."""
        if self._default is not None and self._leaves_out_command(ctx, args):
            if not ctx.resilient_parsing and (name := next(filter(self.commands.get, args), None)):
                raise UsageError(
                    f"options follow the command: {ctx.command_path} {name} {' '.join(each for each in args if each != name)}"
                )
            args = [self._default, *args]
        return super().parse_args(ctx, args)

    def _leaves_out_command(self, ctx: click.Context, args: list[str]) -> bool:
        if not args:
            return not ctx.resilient_parsing
        own = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        first = args[0]
        if first.startswith("-"):
            return first not in own and first != "-"
        return self.get_command(ctx, first) is None and is_store_name(first)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that ``args`` name. Raises UsageError with the nearest names for an unknown one."""
        name = args[0]
        if self.get_command(ctx, name) is None and not ctx.resilient_parsing and not name.startswith("-"):
            if ctx.parent is None and catalog.has(name):
                raise UsageError(f"{name!r} is a query, not a command: tooltrace query {name}")
            hint = near(name, self.list_commands(ctx)) or f"; {ctx.command_path} --help lists the commands"
            raise UsageError(clean(f"unknown command {name!r}{hint}"))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and turn a TooltraceError into a :class:`CommandError`."""
        try:
            return super().invoke(ctx)
        except TooltraceError as error:
            kind = UsageError if isinstance(error, LookupError | BadParameter | ConfigError) else CommandError
            raise kind(error_message(error)) from error
        except RuntimeError as error:
            if str(error) != _INTERRUPTED:
                raise
            raise KeyboardInterrupt from error


@contextmanager
def until_stopped() -> Iterator[None]:
    """End the block without an error on Ctrl-C, for commands that run until it.

    DuckDB's RuntimeError for an interrupted query is suppressed as well.
    """
    try:
        yield
    except KeyboardInterrupt:
        pass
    except RuntimeError as error:
        if str(error) != _INTERRUPTED:
            raise


def error_message(error: TooltraceError) -> str:
    """Return the message of ``error``; for a locked store with the process that holds the lock."""
    text = str(error)
    if isinstance(error, StoreLocked) and error.pid is not None and str(error.pid) not in text:
        text = f"{text} (held by process {error.pid})"
    return text


EXTRAS = {
    "clickhouse_connect": "clickhouse", "sqlglot": "clickhouse", "httpx": "demo", "stamina": "demo", "grpc": "grpc",
    "mcp": "mcp", "mcp_types": "mcp", "google": "otlp", "urllib3": "otlp", "jinja2": "report", "starlette": "serve",
    "uvicorn": "serve", "markdown_it": "serve",
}  # fmt: skip
"""The extra that has each optional package, by the name under which it is imported."""


@contextmanager
def explained() -> Iterator[None]:
    """End the program with one sentence for an exception that no command handles."""
    try:
        yield
    except Exception as error:  # a fault of tooltrace, or of a library
        if os.environ.get(TRACEBACK, "") not in ("", "0"):
            raise
        module = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        if module in EXTRAS:
            hint = f"pip install 'tooltrace-recorder[{EXTRAS[module]}]'"
            raise SystemExit(f"tooltrace: this needs the package {module}, which is not installed: {hint}") from None
        cause = " ".join(str(error).split())[:300] or "no message"
        raise SystemExit(
            clean(f"tooltrace: unexpected {type(error).__name__}: {cause} ({TRACEBACK}=1 prints the traceback)")
        ) from None


def escape_unencodable() -> None:
    """Print characters that the terminal's encoding lacks as escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
