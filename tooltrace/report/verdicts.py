"""What a comparison comes to."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tooltrace.report.asking import Answer
from tooltrace.report.words import Words

LEVELS = {"worse": frozenset({"worse"}), "maybe": frozenset({"worse", "maybe_worse"})}
"""Verdicts that are bad news, from the surest on."""
_CHANGED = frozenset({"worse", "maybe_worse", "maybe_better", "better"})


def tally(answer: Answer) -> Counter[str]:
    """How many measures have each verdict."""
    at = answer.names.index("verdict")
    return Counter(row[at] for row in answer.rows)


def foremost(answer: Answer, most: int) -> list[dict[str, Any]]:
    """At most so many rows, in their order: where there are more, those without a change are the first to be left out."""
    rows = answer.dicts()
    kept = sorted(range(len(rows)), key=lambda at: (rows[at]["verdict"] not in _CHANGED, at))[:most]
    return [rows[at] for at in sorted(kept)]


def is_bad(answer: Answer, level: str) -> bool:
    """Whether any verdict is bad news at this level."""
    return any(verdict in LEVELS[level] for verdict in tally(answer))


def compared(answer: Answer) -> int:
    """How many measures had enough on both sides to be compared."""
    return int(answer.rows[0][answer.names.index("compared")]) if answer.rows else 0


def counts(answer: Answer, words: Words) -> str:
    """The verdicts in one sentence."""
    found = tally(answer)
    return words(
        "report.counts", **{name: found[name] for name in ("worse", "maybe_worse", "better", "maybe_better", "too_few")}
    )


def noise(answer: Answer, words: Words) -> str:
    """What may be chance among so many comparisons."""
    if not (n := compared(answer)):
        return words("report.noise.none")
    return words("report.noise", n=n, chance=f"{0.05 * n:.1f}")
