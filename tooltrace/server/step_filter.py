"""The filter of the page of a trace or a conversation: the steps that have a text, over all steps and not only those shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tooltrace.server.steps import StepLine


def matching(lines: Sequence[StepLine], text: str) -> tuple[list[StepLine], int]:
    """Return the lines that have ``text`` and those around them, and the number of steps that have it, ignoring case.

    Searched is what the line shows, the message and what the model received, as in ``scripts/steps.js``.
    """
    wanted = text.casefold()
    matches = [wanted in _words(line) for line in lines]
    kept_after = [0] * (len(lines) + 1)  # number of kept lines from this place on
    kept: list[StepLine] = []
    for place in reversed(range(len(lines))):
        line = lines[place]
        inside = kept_after[place + 1] - kept_after[place + 1 + line.inside]
        keeps = matches[place] or inside > 0
        kept_after[place] = kept_after[place + 1] + keeps
        if keeps:
            kept.append(replace(line, inside=inside))
    found = sum(matched and not line.attempts for line, matched in zip(lines, matches, strict=True))
    return kept[::-1], found


def _words(line: StepLine) -> str:
    row = line.row
    status = (row["code"] or row["status"] or row["ending"]) if row["status"] != "success" else None
    return " ".join(
        filter(None, (row["tool"] or row["span"], row["model"], status, row["message"], row["seen"]))
    ).casefold()
