"""``tooltrace doctor``: what state a store is in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import click

from tooltrace.cli.options import format_option, store_option


@click.command(short_help="Say what state a store is in; mend what can be.")
@click.option("--mend", is_flag=True, help="Fold what waits, put what is damaged aside, rebuild what can be.")
@format_option("table", "json")
@store_option
def doctor(mend: bool, form: str, store: Path) -> None:
    """Say what is stored, unfolded, lost, damaged and held by whom; --mend puts right what can be."""
    from tooltrace.store import doctor as physician

    mended = facts(physician.mend(store)) if mend else None
    found = facts(physician.examine(store))
    if form == "json":
        report = found if mended is None else {"mended": mended, "found": found}
        click.echo(json.dumps(report, ensure_ascii=False, indent=2))
        return
    from tooltrace.cli.text import clean

    for title, part in (("mended", mended), ("found", found)):
        if part is not None:
            lines = [f"{title}:", *_lines(part, "  ")] if mended is not None else list(_lines(part, ""))
            click.echo("\n".join(clean(line) for line in lines))


def facts(value: Any) -> Any:
    """``value``, a report of dataclasses, as JSON has it."""
    from tooltrace.cli.answer import plain

    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: facts(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): facts(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [facts(item) for item in value]
    return plain(value)


def _lines(value: dict[str, Any], indent: str) -> Iterator[str]:
    width = max((len(name) for name in value), default=0)
    for name, item in value.items():
        words = name.replace("_", " ")
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
