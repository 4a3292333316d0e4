"""The tables of docs/telemetry.md, made of the catalogue: ``python -m tests.otel.page`` writes them anew."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from tooltrace.otel.catalog import ATTRIBUTES, SOURCES, Attribute, Signal

PAGE = Path(__file__).parents[2] / "docs" / "telemetry.md"
LEVELS = ("required", "conditionally required", "recommended", "opt-in", "custom")


def table(signal: Signal) -> str:
    """The attributes of ``signal``, the most needed first."""
    found = [attribute for attribute in ATTRIBUTES if attribute.signal == signal]
    rows = [_row(attribute) for level in LEVELS for attribute in found if attribute.level == level]
    return "\n".join(("| attribute | level | type | meaning | defined by |", "|---|---|---|---|---|", *rows))


def _row(attribute: Attribute) -> str:
    place = SOURCES.get(attribute.source)
    source = f"[{attribute.source}]({place})" if place else attribute.source
    return f"| `{attribute.name}` | {attribute.level} | {attribute.kind} | {attribute.meaning} | {source} |"


def written(text: str) -> str:
    """``text`` with each table between its marks."""
    for signal in get_args(Signal):
        start, end = f"<!-- {signal} -->", f"<!-- /{signal} -->"
        inside = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
        assert len(inside.findall(text)) == 1, f"{PAGE.name} has no place for the table of {signal}"
        made = f"{start}\n{table(signal)}\n{end}"
        text = inside.sub(lambda _, made=made: made, text)
    return text


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
