"""What a comparison comes to."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tooltrace.report.asking import PartResult
from tooltrace.report.words import Words

LEVELS = {"worse": frozenset({"worse"}), "maybe": frozenset({"worse", "maybe_worse"})}
"""Verdicts that are bad news, from the surest on."""
_CHANGED = frozenset({"worse", "maybe_worse", "maybe_better", "better"})


def tally(answer: PartResult) -> Counter[str]:
    """How many measures have each verdict."""
    at = answer.result.columns.index("verdict")
    return Counter(row[at] for row in answer.result.rows)


def foremost(answer: PartResult, most: int) -> list[dict[str, Any]]:
    """At most so many rows, in their order: where there are more, those without a change are the first to be left out."""
    rows = answer.result.dicts()
    kept = sorted(range(len(rows)), key=lambda at: (rows[at]["verdict"] not in _CHANGED, at))[:most]
    return [rows[at] for at in sorted(kept)]


def is_bad(answer: PartResult, level: str) -> bool:
    """Whether any verdict is bad news at this level."""
    return any(verdict in LEVELS[level] for verdict in tally(answer))


def compared(answer: PartResult) -> int:
    """How many measures had enough on both sides to be compared."""
    return int(answer.result.rows[0][answer.result.columns.index("compared")]) if answer.result.rows else 0


def counts(answer: PartResult, words: Words) -> str:
    """The verdicts in one sentence."""
    found = tally(answer)
    return words(
        "report.counts", **{name: found[name] for name in ("worse", "maybe_worse", "better", "maybe_better", "too_few")}
    )


def noise(answer: PartResult, words: Words) -> str:
    """What may be chance among so many comparisons."""
    if not (n := compared(answer)):
        return words("report.noise.none")
    return words("report.noise", n=n, chance=f"{0.05 * n:.1f}")
