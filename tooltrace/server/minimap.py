"""The strip above a long tree of steps, with a mark for each step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tooltrace.server.steps import StepLine

LEAST: Final = 30
"""Steps from which a strip is drawn: fewer fit on a screen."""
HEIGHT: Final = 10


@dataclass(frozen=True, slots=True)
class Minimap:
    """The marks of the steps, one unit wide each."""

    steps: int
    marks: dict[str, str]
    """SVG path of all marks of one class: error, retried, tool, or other."""


def minimap(lines: Sequence[StepLine]) -> Minimap | None:
    """Return the strip of ``lines`` without the single attempts of retried calls; None where there are few."""
    shown = [line for line in lines if not line.hidden]
    if len(shown) < LEAST:
        return None
    marks: dict[str, list[str]] = defaultdict(list)
    for place, line in enumerate(shown):
        name = _class(line)
        top = 0 if name == "error" else 3 if name == "other" else 1
        marks[name].append(f"M{place} {top}h.85V{HEIGHT}h-.85z")
    return Minimap(len(shown), {name: "".join(paths) for name, paths in sorted(marks.items(), reverse=True)})


def _class(line: StepLine) -> str:
    if line.failed:
        return "error"
    if line.attempts:
        return "retried"
    return "tool" if line.row["kind"] == "tool" else "other"
