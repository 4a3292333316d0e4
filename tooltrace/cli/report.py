"""``tooltrace report``: one document about a time range, or a comparison of two."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tooltrace.cli.errors import CommandError, UsageError
from tooltrace.cli.options import place_option
from tooltrace.store.base import StoreBackend

if TYPE_CHECKING:
    from tooltrace.report import Comparison, Report, TimeRange
    from tooltrace.report.build import Told

FORMATS = ("html", "markdown", "json")
_SUFFIXES = {".md": "markdown", ".markdown": "markdown", ".json": "json"}
BAD_NEWS = 3
NO_NEWS = 4
"""Exit code if --fail-on has nothing to compare; BAD_NEWS is the one for a found regression."""


@click.command(short_help="Write a report: one file, for people, pull requests or programs.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write there; - is standard output."
)
@click.option("--since", help="From then on: 30m, 24h, 7d, or a date or time in ISO form.")
@click.option("--until", help="Before then; as --since.")
@click.option("--tool", help="This tool only.")
@click.option(
    "--compare",
    "compared",
    metavar="A..B",
    help="Put two times side by side: 7d or a date (since then against as long before), A..B (from A to B against since "
    "B), A/B..C/D (two windows), version:A..B (two versions).",
)
@click.option(
    "--fail-on",
    type=click.Choice(["worse", "maybe"]),
    help="With --compare: exit code 3 where something got worse for sure enough, or maybe did.",
)
@click.option("--format", "form", type=click.Choice(FORMATS), help="Default: by the name of the file, else html.")
@click.option("--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True, help="Its language.")
@place_option
def report(
    *,
    output: Path | None,
    since: str | None,
    until: str | None,
    tool: str | None,
    compared: str | None,
    fail_on: str | None,
    form: str | None,
    lang: str,
    store: StoreBackend,
) -> None:
    """Write a report: the tools together, and each by itself, with the query behind every figure.

    The HTML is one file that opens anywhere without a network. What comes from a trace is text in it, and in Markdown too.

    Exit codes: 0 written, 1 could not be done, 2 wrong usage, 3 what --fail-on looks for was found, 4 --fail-on had nothing to
    compare: for every measure one of the two sides is empty, or too small (too few calls, or fewer than five conversations).
    """
    from tooltrace.report import TimeRange, compare

    form = form or _SUFFIXES.get(output.suffix.lower() if output else "", "html")
    if fail_on and compared is None:
        raise UsageError("--fail-on goes with --compare: nothing got worse without a before")
    if form == "html":
        _require_jinja()
        if output is None and sys.stdout.isatty():
            raise UsageError("an HTML report wants a file: -o report.html")
    if compared is not None:
        about: TimeRange | Comparison = compare(compared, since=since, until=until, tool=tool)
    else:
        about = TimeRange.of(since=since, until=until, tool=tool)
    found = _asked(store, about)
    _write(_text(found, form, lang), output)
    if fail_on and found.comparison is not None:
        _judge(found, fail_on)


def _asked(store: StoreBackend, about: TimeRange | Comparison) -> Report:
    from tooltrace.report import build_report, query_count

    with _progress(query_count(about)) as told:
        return build_report(store, about, told)


def _text(found: Report, form: str, lang: str) -> str:
    from tooltrace.report.i18n import Translations

    if form == "json":
        from tooltrace.report.json import as_json

        return as_json(found)
    if form == "markdown":
        from tooltrace.report.markdown import as_markdown

        return as_markdown(found, Translations(lang))
    from tooltrace.report.html import as_html

    return as_html(found, Translations(lang))


def _write(text: str, output: Path | None) -> None:
    from tooltrace.exporters.atomic_file import STANDARD, AtomicFile

    output = output or STANDARD
    if output == STANDARD and sys.stdout.isatty():
        from tooltrace.cli.sanitize import clean

        click.echo(clean(text, lines=True), nl=False)
        return
    file = AtomicFile(output)  # UTF-8, whatever the terminal's encoding
    file.write(text.encode())
    file.publish()
    if output != STANDARD:
        click.echo(f"{output} is written ({len(text.encode()) / 1024:,.0f} KiB).", err=True)


def _judge(found: Report, level: str) -> None:
    from tooltrace.report.i18n import Translations
    from tooltrace.report.narrative import chance_note, compared, counts, fails_threshold

    assert found.comparison is not None
    words = Translations("en")
    click.echo(f"{counts(found.comparison, words)}. {chance_note(found.comparison, words)}", err=True)
    if fails_threshold(found.comparison, level):
        raise click.exceptions.Exit(BAD_NEWS)
    if not compared(found.comparison):  # exit code 0 without a comparison would be mistaken for success
        raise click.exceptions.Exit(NO_NEWS)


def _require_jinja() -> None:
    from importlib.util import find_spec

    if find_spec("jinja2") is None:
        raise CommandError(
            "an HTML report needs jinja2: pip install 'tooltrace[report]' (--format markdown and json do not)"
        )


@contextmanager
def _progress(total: int) -> Iterator[Told]:
    """Show the current query on standard error: a bar on a terminal, else one line."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from tooltrace.cli.table import console

    screen = console(stderr=True)
    if not screen.is_terminal:
        screen.print(f"{total} question{'s' * (total > 1)} to the store …")
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task("", total=total)

        def told(name: str) -> None:
            progress.update(task, description=name, completed=min(progress.tasks[0].completed + 1, total))

        yield told
