"""``tooltrace label``: record whether a result was right, for one call or for a file of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tooltrace.cli.errors import UsageError
from tooltrace.cli.options import examples, place_option
from tooltrace.cli.sanitize import clean
from tooltrace.core.plural import format_count
from tooltrace.errors import LabelError, StoreError, UnsupportedByStore
from tooltrace.labels.label import make_outcome
from tooltrace.recording.settings import Settings
from tooltrace.store.base import Store, StoreBackend, open_store
from tooltrace.store.url import address_of

if TYPE_CHECKING:
    from tooltrace.labels.from_file import LabelFileReport

_SCORE = click.FloatRange(0, 1)
_LABELER_KIND = click.Choice(["person", "rule", "agent"])


@click.command(
    short_help="Label results, or conversations, as right or wrong.",
    epilog=examples(
        "tooltrace label call_17 --correct",
        'tooltrace label call_17 --wrong --labeler ann --reason "outdated page"',
        "tooltrace label call_17 --score 0.7 --labeler judge --labeler-kind agent",
        "tooltrace label --conversation session-17 --wrong --reason 'not booked'",
        "tooltrace label --file labels.csv --labeler ann",
    ),
)
@click.argument("call_id", required=False)
@click.option("--correct", is_flag=True, help="The result was right.")
@click.option("--wrong", is_flag=True, help="The result was wrong.")
@click.option("--score", type=_SCORE, help="Score from 0 (wrong) to 1 (right).")
@click.option(
    "--labeler",
    default="human",
    show_default=True,
    help="Name of the labeler; with --file, for rows without a labeler.",
)
@click.option("--labeler-kind", type=_LABELER_KIND, help="Kind of the labeler; 'human' is a person.")
@click.option("--reason", help="Reason for the label.")
@click.option("--span", is_flag=True, help="CALL_ID is a span id: label one attempt instead of the call.")
@click.option("--conversation", metavar="ID", help="Label this conversation: whether it reached its goal.")
@click.option("--file", type=click.Path(path_type=Path), help="File of labels as CSV, JSON Lines or Parquet.")
@place_option
def label(
    *,
    call_id: str | None,
    correct: bool,
    wrong: bool,
    score: float | None,
    labeler: str,
    labeler_kind: str | None,
    reason: str | None,
    span: bool,
    conversation: str | None,
    file: Path | None,
    store: StoreBackend,
) -> None:
    """Label the result of a call as right or wrong, or a whole conversation by --conversation.

    With --file, many calls are labelled. If one labeler labels a call several times, the latest label counts. A label may be recorded before its call. The
    columns of a file are call_id, span_id or conversation_id, correct and/or score, and optionally labeler, labeler_kind, reason and
    labeled_at (UTC unless it names a zone). Values of 'correct': true or false, yes or no, right or wrong, 1 or 0. Rows that are not
    valid labels are skipped and reported.
    """
    if not labeler.strip():
        raise UsageError("--labeler must not be blank: pass the name of the labeler; nothing was recorded")
    if call_id is not None and (conversation is not None or file is not None) and _is_store(call_id):
        # click gives the first argument to CALL_ID: with --conversation and --file it is the store
        store = open_store(call_id)
        call_id = None
    has_verdict = correct or wrong or score is not None
    if file is not None:
        if call_id is not None or has_verdict or reason is not None or labeler_kind is not None or span or conversation:
            raise UsageError(
                "--file can only be combined with --labeler and --store: the file contains the other values"
            )
        try:
            path = store.path
        except UnsupportedByStore as error:
            raise UsageError("--file needs the path of a local store; nothing was recorded") from error
        _label_file(file, labeler, path)
        return
    if conversation is not None and (call_id is not None or span):
        raise UsageError(
            "--conversation labels a whole conversation: leave CALL_ID and --span out; nothing was recorded"
        )
    if not (call_id or conversation):
        raise UsageError("argument CALL_ID is missing: pass CALL_ID, --conversation or --file; nothing was recorded")
    if not has_verdict or (correct and wrong):
        raise UsageError("a label needs exactly one of --correct and --wrong, or --score; nothing was recorded")
    target = "conversation_id" if conversation else "span_id" if span else "call_id"
    verdict = correct if correct or wrong else None
    _label_one({target: conversation or call_id or ""}, verdict, score, labeler, labeler_kind, reason, store)


def _is_store(argument: str) -> bool:
    """Whether ``argument`` names a store: an address, an existing file, or a file that is created by its first label."""
    path = Path(argument)
    return address_of(argument) is not None or path.is_file() or path.suffix == ".duckdb"


def _label_one(
    target: dict[str, str],
    correct: bool | None,
    score: float | None,
    labeler: str,
    labeler_kind: str | None,
    reason: str | None,
    store: StoreBackend,
) -> None:
    from tooltrace.labels.from_file import LabelFileReport
    from tooltrace.labels.writer import write_label

    ((kind, identifier),) = target.items()
    try:
        outcome = make_outcome(
            Settings(store=None),
            call_id=target.get("call_id"),
            span_id=target.get("span_id"),
            conversation_id=target.get("conversation_id"),
            correct=correct,
            score=score,
            labeler=labeler,
            reason=reason,
            labeler_kind=labeler_kind,
        )
    except LabelError as error:
        raise UsageError(f"{error}; nothing was recorded") from error
    sent = write_label(outcome, store)
    if sent is not None:
        click.echo(clean(f"{identifier} is labelled by {labeler}: {sent}."))
        return
    verdicts = [word for word, applies in (("right", correct), ("wrong", correct is False)) if applies]
    verdicts += [] if score is None else [f"{score:g}"]
    click.echo(clean(f"{identifier} is labelled {', '.join(verdicts)} by {labeler}."))
    done = LabelFileReport()
    done.count(outcome)
    if _unmatched(done, store):
        noun = {"call_id": "call", "span_id": "attempt"}.get(kind, "conversation")
        unknown = f"No {noun} {identifier} has been recorded in {store}; the label applies once it is."
        click.echo(clean(unknown), err=True)


def _label_file(file: Path, labeler: str, store: Path) -> None:
    from tooltrace.labels.from_file import label_file

    with _bar(file) as advance:
        done = label_file(file, Settings(store=store), labeler, advance)
    if done.unused:
        click.echo(clean(f"{file}: ignored columns: {', '.join(done.unused)}"), err=True)
    for line in done.examples:
        click.echo(clean(f"{file}:{line.line}: {line.reason}; skipped"), err=True)
    more = done.skipped - len(done.examples)
    if more:
        click.echo(clean(f"{file}: {format_count(more, 'more row')} skipped"), err=True)
    unmatched = _unmatched(done, store) if done.labels else 0
    rest = f"; {unmatched:,} without a recorded call" if unmatched else ""
    click.echo(f"{format_count(done.labels, 'label')} recorded, {format_count(done.skipped, 'row')} skipped{rest}.")


def _unmatched(done: LabelFileReport, store: Store) -> int:
    """Return the number of labels without a recorded call; 0, with a message, if the store cannot be read."""
    from tooltrace.labels.from_file import unmatched

    try:
        return unmatched(done, store)
    except StoreError as error:
        click.echo(clean(f"Recorded, but the calls cannot be looked up: {error}"), err=True)
        return 0


@contextmanager
def _bar(file: Path) -> Iterator[Callable[[int], None]]:
    """Show the progress on a terminal."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from tooltrace.cli.table import console

    screen = console(stderr=True)
    columns = (TextColumn("Labelling"), BarColumn(), DownloadColumn())
    if not screen.is_terminal:  # a disabled Progress writes an empty line in older versions of rich
        yield lambda _count: None
        return
    with Progress(*columns, console=screen, transient=True) as progress:
        task = progress.add_task("", total=file.stat().st_size if file.is_file() else None)
        yield lambda count: progress.advance(task, count)
