"""``tooltrace compact``, ``backup``, ``restore`` and ``merge``: work on whole stores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from tooltrace.cli.forget import working
from tooltrace.cli.options import examples, format_option, named_store_option, store_option
from tooltrace.cli.sanitize import clean
from tooltrace.core.plural import format_count

_WAIT = click.option(
    "--wait", type=click.FloatRange(min=0), default=30.0, show_default=True, help="Seconds to wait for readers."
)
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(
    short_help="Rewrite the store without unused space.",
    epilog=examples(
        "tooltrace compact",
        "tooltrace compact agent.duckdb",
    ),
)
@_WAIT
@format_option("table", "json")
@store_option
def compact(*, wait: float, form: str, store: Path) -> None:
    """Fold pending records and rewrite the database without the space of deleted rows.

    The disk needs room for a second copy meanwhile.
    """
    from tooltrace.store.upkeep.backup import compact as compact_store

    with working("Rewriting"):
        report = compact_store(store, wait=wait)
    values = {"bytes_before": report.bytes_before, "bytes_after": report.bytes_after}
    _print(form, values, f"{store}: {_megabytes(report.bytes_before)} before, {_megabytes(report.bytes_after)} now.")


@click.command(
    short_help="Copy the store into one file.",
    epilog=examples(
        "tooltrace backup monday.duckdb",
        "tooltrace backup monday.duckdb --store agent.duckdb --force",
    ),
)
@click.argument("file", type=_FILE)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@_WAIT
@format_option("table", "json")
@named_store_option
def backup(*, file: Path, force: bool, wait: float, form: str, store: Path) -> None:
    """Copy the store into FILE, which is a complete store: every command reads it with --store FILE.

    Others may record meanwhile; what they had written before is in the copy. FILE appears when it is complete.
    """
    from tooltrace.store.upkeep.backup import backup as back_up

    with working("Copying"):
        report = back_up(store, file, force=force, wait=wait)
    values = {"file": str(file), "bytes": report.bytes_after}
    _print(form, values, f"{file}: {_megabytes(report.bytes_after)}.")


@click.command(
    short_help="Put a backup in the place of the store.",
    epilog=examples(
        "tooltrace restore monday.duckdb --force",
    ),
)
@click.argument("file", type=_FILE)
@click.option("--force", is_flag=True, help="Replace the store if it exists; the old file is kept beside it.")
@_WAIT
@format_option("table", "json")
@named_store_option
def restore(*, file: Path, force: bool, wait: float, form: str, store: Path) -> None:
    """Put the backup FILE in the place of the store.

    Records in the journals of the store are folded into it, and what was forgotten since the backup stays forgotten.
    """
    from tooltrace.store.upkeep.backup import restore as restore_store

    with working("Restoring"):
        report, aside = restore_store(file, store, force=force, wait=wait)
    kept = f" The old database is {aside.name}." if aside else ""
    values = {"store": str(store), "folded": report.rows, "replaced": str(aside) if aside else None}
    _print(form, values, f"{store} is restored from {file}; {format_count(report.rows, 'record')} folded.{kept}")


@click.command(
    short_help="Add the records of other stores.",
    epilog=examples(
        "tooltrace merge one.duckdb two.duckdb -o all.duckdb",
    ),
)
@click.argument("sources", metavar="STORE…", nargs=-1, required=True, type=_FILE)
@click.option("-o", "--output", type=_FILE, metavar="FILE", help="Merge into this store instead of --store.")
@_WAIT
@format_option("table", "json")
@named_store_option
def merge(*, sources: tuple[Path, ...], output: Path | None, wait: float, form: str, store: Path) -> None:
    """Add the records of other stores, such as those of other machines, each record once.

    Labels and corrections are added too. What was forgotten in one of the stores is forgotten in the result.
    """
    from tooltrace.store.upkeep.merge import merge as merge_stores

    into = output or store
    with working("Merging"):
        rows = merge_stores(sources, into, wait=wait)
    _print(form, {"store": str(into), "added": rows}, f"{format_count(rows, 'record')} added to {into}.")


def _print(form: str, values: dict[str, Any], sentence: str) -> None:
    click.echo(json.dumps(values, ensure_ascii=False) if form == "json" else clean(sentence))


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
