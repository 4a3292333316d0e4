"""``tooltrace doctor``: examine a store, and repair it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tooltrace.cli.errors import CommandError
from tooltrace.cli.options import examples, output_options, unfolded_store_option
from tooltrace.cli.redact import print_secrets
from tooltrace.cli.sanitize import clean
from tooltrace.redact.redaction import Redaction
from tooltrace.report.json_values import json_safe


@click.command(
    short_help="Examine a store, and repair it.",
    epilog=examples(
        "tooltrace doctor",
        "tooltrace doctor agent.duckdb -f json",
        "tooltrace doctor --mend",
        "tooltrace doctor --secrets",
    ),
)
@click.option("--mend", is_flag=True, help="Fold pending records, set damaged files aside, and rebuild the database.")
@click.option(
    "--secrets", is_flag=True, help="Count stored values that the built-in rules of redaction find; only look."
)
@output_options("table", "json")
@unfolded_store_option
def doctor(*, mend: bool, secrets: bool, form: str, store: Path) -> None:
    """Report the state of a store, and repair it with --mend.

    The report contains rows, pending and lost records, damage, and processes that hold the store's locks. Exit code 1 without a store, or if problems remain.
    """
    from tooltrace.store.upkeep import doctor as store_doctor

    if secrets:
        _find_secrets(store, form)
        return
    repair = store_doctor.mend(store) if mend else None
    found = repair.after if repair else store_doctor.examine(store)
    report = json_safe(found) if repair is None else {**json_safe(found), "done": list(repair.done)}
    if form == "json":
        click.echo(json.dumps(report, ensure_ascii=False, indent=2))
    elif found.exists:
        click.echo("\n".join(clean(line) for line in _lines(report, "")))
    if not found.exists:
        raise CommandError(f"found no store at {found.path}: no call has been recorded")
    if found.problems:
        raise SystemExit(1)


def _find_secrets(store: Path, form: str) -> None:
    """Print the number of stored secrets. Exit code 1 if there are any."""
    from tooltrace.store.upkeep.redact_stored import redact_stored

    report = redact_stored(store, Redaction(), dry_run=True)
    print_secrets(report, form, "found")
    if report.values:
        click.echo("Remove them with tooltrace redact --defaults.", err=True)
        raise SystemExit(1)


def _lines(value: dict[str, Any], indent: str) -> Iterator[str]:
    width = max((len(name) for name in value), default=0)
    for name, item in value.items():
        title = name if indent else name.replace("_", " ")
        if isinstance(item, dict) and item:
            yield f"{indent}{title}:"
            yield from _lines(item, indent + "  ")
        elif isinstance(item, list) and item:
            yield f"{indent}{title}:"
            yield from (f"{indent}  {_inline(part)}" for part in item)
        else:
            yield f"{indent}{title:<{width}}  {_inline(item)}"


def _inline(item: Any) -> str:
    if isinstance(item, dict):
        return "  ".join(f"{name} {_inline(part)}" for name, part in item.items()) or "none"
    if isinstance(item, bool):
        return "yes" if item else "no"
    if item is None or item == []:
        return "none"
    return f"{item:,}" if isinstance(item, int) else str(item)
