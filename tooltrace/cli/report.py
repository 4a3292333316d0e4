"""``tooltrace report``: one document about a time range, or a comparison of two."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tooltrace.analysis.sides import Comparison, parse_words
from tooltrace.cli.errors import CommandError, UsageError
from tooltrace.cli.gate import exit_on_regression, gate_options
from tooltrace.cli.known_names import require_known, require_sides
from tooltrace.cli.options import examples, history_options, output_option, place_option, tool_option
from tooltrace.cli.sanitize import clean
from tooltrace.report import build_report, query_count
from tooltrace.report.history_window import history_window
from tooltrace.store.base import StoreBackend
from tooltrace.wording.i18n import Translations

if TYPE_CHECKING:
    from tooltrace.report import Report, TimeRange
    from tooltrace.report.build import OnQuery, SectionResult
    from tooltrace.report.gate import RegressionGate

FORMATS = ("html", "markdown", "json")
_SUFFIXES = {".md": "markdown", ".markdown": "markdown", ".json": "json"}


@click.command(
    short_help="Write a report for people, pull requests or programs.",
    epilog=examples(
        "tooltrace report -o report.html",
        "tooltrace report --since 24h --format markdown",
        "tooltrace report --compare 7d --format markdown",
        "tooltrace report --compare 'version:1 version:2' --fail-on worse -o r.json",
    ),
)
@output_option("File to write; - is standard output.")
@history_options
@tool_option()
@click.option(
    "--compare",
    "compared",
    metavar="'A B'",
    help="Compare two sides, as 'tooltrace compare' does: 'version:1.2 version:2.0', 'agent:a agent:b', 7d (with the 7 days "
    "before) or '14d..7d 7d'.",
)
@gate_options(
    "With --compare: exit with code 3 if the verdict of any measure is 'worse'; with 'maybe' also if it is 'maybe worse'."
)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Output format. Default: by the extension of the file, else html.",
)
@click.option(
    "--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True, help="Language of the report."
)
@place_option
def report(
    *,
    output: Path | None,
    since: str | None,
    until: str | None,
    tool: str | None,
    compared: str | None,
    gate: RegressionGate | None,
    form: str | None,
    lang: str,
    store: StoreBackend,
) -> None:
    """Write a report on all tools and on each tool.

    Every figure has the query behind it. The HTML report is a single file that works without a network. Text from a trace never becomes markup.

    Exit codes: 0 success, 1 failure, 2 wrong usage, 3 --fail-on found a regression, 4 --fail-on had nothing to compare:
    for every measure one side is empty or too small (too few calls, or fewer than five conversations).
    """
    form = form or _SUFFIXES.get(output.suffix.lower() if output else "", "html")
    if gate and compared is None:
        raise UsageError("--fail-on needs --compare")
    if form == "html":
        _require_jinja()
        if output is None and sys.stdout.isatty():
            raise UsageError("an HTML report is not printed to a terminal: use -o report.html, or --format markdown")
    if compared is not None:
        before, after = parse_words(compared)
        about: TimeRange[datetime] | Comparison = Comparison.parse(before, after, since=since, until=until, tool=tool)
    else:
        about = history_window(store, since=since, until=until).range(tool)
    require_known(store, tools=[tool])
    if isinstance(about, Comparison):
        require_sides(store, about)
    built = _build(store, about)
    _write(_text(built, form, lang), output)
    if gate and built.comparison is not None:
        _exit_on_regression(built.comparison, gate)


def _build(store: StoreBackend, about: TimeRange[datetime] | Comparison) -> Report:
    with _progress(query_count(about)) as on_query:
        return build_report(store, about, on_query)


def _text(report: Report, form: str, lang: str) -> str:
    if form == "json":
        from tooltrace.report.json import as_json

        return as_json(report)
    if form == "markdown":
        from tooltrace.report.markdown import as_markdown

        return as_markdown(report, Translations(lang))
    from tooltrace.report.html import as_html

    return as_html(report, Translations(lang))


def _write(text: str, output: Path | None) -> None:
    from tooltrace.exporters.atomic_file import STANDARD, AtomicFile

    output = output or STANDARD
    if output == STANDARD and sys.stdout.isatty():
        click.echo(clean(text, lines=True), nl=False)
        return
    file = AtomicFile(output)  # UTF-8, whatever the terminal's encoding
    file.write(text.encode())
    file.publish()
    if output != STANDARD:
        click.echo(f"Wrote {output} ({len(text.encode()) / 1024:,.0f} KiB).", err=True)


def _exit_on_regression(comparison: SectionResult, gate: RegressionGate) -> None:
    from tooltrace.report.narrative import chance_note, verdict_counts

    words = Translations("en")
    click.echo(f"{verdict_counts(comparison, words)}. {chance_note(comparison, words)}", err=True)
    exit_on_regression(comparison.result, gate)


def _require_jinja() -> None:
    if find_spec("jinja2") is None:
        raise CommandError(
            "an HTML report needs jinja2: pip install 'tooltrace-recorder[report]'; --format markdown and json work without it"
        )


@contextmanager
def _progress(total: int) -> Iterator[OnQuery]:
    """Show the current query on standard error: a bar on a terminal, else one line."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from tooltrace.cli.table import console

    screen = console(stderr=True)
    if not screen.is_terminal:
        screen.print(f"Running {total} quer{'ies' if total > 1 else 'y'} …")
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task("", total=total)

        def on_query(name: str) -> None:
            progress.update(task, description=name, completed=min(progress.tasks[0].completed + 1, total))

        yield on_query
