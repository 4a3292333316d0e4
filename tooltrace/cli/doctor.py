"""``tooltrace doctor``: examine the state of a store, and mend it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import click

from tooltrace.cli.errors import CommandError
from tooltrace.cli.options import format_option, store_option
from tooltrace.cli.sanitize import clean


@click.command(short_help="Say what state a store is in; mend what can be.")
@click.option("--mend", is_flag=True, help="Fold what waits, put what is damaged aside, rebuild what can be.")
@format_option("table", "json")
@store_option
def doctor(*, mend: bool, form: str, store: Path) -> None:
    """Say what is stored, unfolded, lost, damaged and held by whom; --mend puts right what can be.

    Exit code 1 where there is no store, or something is wrong that --mend did not put right.
    """
    from tooltrace.store import doctor as physician

    mended = physician.mend(store) if mend else None
    found = mended.after if mended else physician.examine(store)
    report = facts(found) if mended is None else {**facts(found), "done": list(mended.done)}
    if form == "json":
        click.echo(json.dumps(report, ensure_ascii=False, indent=2))
    elif found.exists:
        click.echo("\n".join(clean(line) for line in _lines(report, "")))
    if not found.exists:
        raise CommandError(f"there is no store at {found.path}: nothing was recorded there yet")
    if found.problems:
        raise SystemExit(1)


def facts(value: Any) -> Any:
    """Return ``value``, a report of dataclasses, in the types of JSON."""
    from tooltrace.cli.json_values import plain

    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: facts(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): facts(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [facts(item) for item in value]
    return plain(value)


def _lines(value: dict[str, Any], indent: str) -> Iterator[str]:
    width = max((len(name) for name in value), default=0)
    for name, item in value.items():
        words = name if indent else name.replace("_", " ")
        if isinstance(item, dict) and item:
            yield f"{indent}{words}:"
            yield from _lines(item, indent + "  ")
        elif isinstance(item, list) and item:
            yield f"{indent}{words}:"
            yield from (f"{indent}  {_inline(part)}" for part in item)
        else:
            yield f"{indent}{words:<{width}}  {_inline(item)}"


def _inline(item: Any) -> str:
    if isinstance(item, dict):
        return "  ".join(f"{name} {_inline(part)}" for name, part in item.items()) or "none"
    if isinstance(item, bool):
        return "yes" if item else "no"
    if item is None or item == []:
        return "none"
    return f"{item:,}" if isinstance(item, int) else str(item)
