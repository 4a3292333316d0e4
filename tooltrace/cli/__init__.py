"""The command ``tooltrace``: one module here for each of its subcommands.

Exit codes: 0 success (an empty result is a success), 1 the command failed (no store, a locked or damaged one, wrong
SQL, an unknown call), 2 wrong usage of a command or a parameter, an unknown query, tool or version. Results go to standard output, messages about them to
standard error.
"""

from __future__ import annotations

import sys

import click

from tooltrace.cli.backup import backup, compact, merge, restore
from tooltrace.cli.briefing import briefing
from tooltrace.cli.check import check
from tooltrace.cli.clickhouse import clickhouse
from tooltrace.cli.columns import columns
from tooltrace.cli.compare import compare
from tooltrace.cli.correct import correct
from tooltrace.cli.demo import demo
from tooltrace.cli.diff import diff
from tooltrace.cli.doctor import doctor
from tooltrace.cli.errors import CommandGroup, escape_unencodable, explained
from tooltrace.cli.export import export
from tooltrace.cli.find import find
from tooltrace.cli.findings import findings
from tooltrace.cli.forget import forget
from tooltrace.cli.import_ import imports
from tooltrace.cli.label import label
from tooltrace.cli.mcp import mcp
from tooltrace.cli.options import examples
from tooltrace.cli.paths import paths
from tooltrace.cli.prune import prune
from tooltrace.cli.query import query
from tooltrace.cli.redact import redact
from tooltrace.cli.report import report
from tooltrace.cli.reread import reread
from tooltrace.cli.serve import serve
from tooltrace.cli.show import show
from tooltrace.cli.sql import sql
from tooltrace.cli.state import state
from tooltrace.cli.tail import tail
from tooltrace.cli.top import top
from tooltrace.cli.transcripts import COMMANDS as TRANSCRIPTS
from tooltrace.cli.unread import unread
from tooltrace.cli.watch import watch
from tooltrace.core.installation import is_overwritten, overwritten_message
from tooltrace.version import __version__

__all__ = ["cli", "main"]


@click.group(
    cls=CommandGroup,
    default="state",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "tooltrace", "tooltrace agent.duckdb --since 24h", "tooltrace query failure_rate", "tooltrace serve"
    ),
)
@click.version_option(__version__, prog_name="tooltrace")
def cli() -> None:
    """Record and analyse the tool calls of LLM agents.

    Without a command, show the state of the store: which tools fail, since when and why.

    Exit codes: 0 success, 1 failure, 2 wrong usage.
    """


for _command in (
    state,
    findings,
    check,
    demo,
    *TRANSCRIPTS,
    query,
    compare,
    diff,
    find,
    paths,
    sql,
    columns,
    tail,
    top,
    watch,
    show,
    label,
    correct,
    reread,
    unread,
    imports,
    export,
    report,
    serve,
    mcp,
    briefing,
    doctor,
    prune,
    forget,
    redact,
    compact,
    backup,
    restore,
    merge,
    clickhouse,
):
    cli.add_command(_command)


def main() -> None:
    """Run the command line."""
    if is_overwritten():
        sys.exit(f"tooltrace: {overwritten_message()}")
    escape_unencodable()
    with explained():
        cli(prog_name="tooltrace")
