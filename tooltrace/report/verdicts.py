"""What a comparison comes to."""

from __future__ import annotations

from collections import Counter

from tooltrace.report.asking import Answer
from tooltrace.report.words import Words

LEVELS = {"worse": frozenset({"worse"}), "maybe": frozenset({"worse", "maybe_worse"})}
"""Verdicts that are bad news, from the surest on."""


def tally(answer: Answer) -> Counter[str]:
    """How many measures have each verdict."""
    at = answer.names.index("verdict")
    return Counter(row[at] for row in answer.rows)


def is_bad(answer: Answer, level: str) -> bool:
    """Whether any verdict is bad news at this level."""
    return any(verdict in LEVELS[level] for verdict in tally(answer))


def counts(answer: Answer, words: Words) -> str:
    """The verdicts in one sentence."""
    found = tally(answer)
    return words("report.counts", **{name: found[name] for name in ("worse", "maybe_worse", "better", "maybe_better")})


def noise(answer: Answer, words: Words) -> str:
    """What may be chance among so many comparisons."""
    at = answer.names.index("compared")
    compared = answer.rows[0][at] if answer.rows else 0
    if not compared:
        return words("report.noise.none")
    return words("report.noise", n=compared, chance=f"{0.05 * compared:.1f}")
