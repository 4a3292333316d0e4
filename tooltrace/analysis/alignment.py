"""Two conversations side by side: their calls aligned by the sequence of tools, and the differences of each pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final

Call = dict[str, Any]
"""The last attempt of a call: a row of the query ``conversation_calls``."""

COMPARED = ("arguments", "result", "answer", "status", "code", "error")
"""Values of a pair that are compared. A duration alone makes no pair different; see ``duration_factor``."""
FACTOR: Final = 2.0
"""A duration differs where one side took at least this many times as long."""
LEAST_MS: Final = 100.0
"""A duration differs where the sides are at least this far apart, in milliseconds."""


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """One row of the comparison: a call of each side, or of one side only."""

    a: Call | None
    b: Call | None

    @property
    def kind(self) -> str:
        """The kind of the row: same, changed, removed (only in A) or added (only in B)."""
        if self.a is None:
            return "added"
        if self.b is None:
            return "removed"
        return "changed" if self.changes else "same"

    @property
    def changes(self) -> tuple[str, ...]:
        """The names of the values that differ; empty where a side is missing."""
        if self.a is None or self.b is None:
            return ()
        return tuple(name for name in COMPARED if self.a[name] != self.b[name])

    @property
    def duration_factor(self) -> float | None:
        """How many times as long B took as A; None if a duration is unknown or the two are about the same."""
        if self.a is None or self.b is None:
            return None
        a, b = self.a["duration_ms"], self.b["duration_ms"]
        if a is None or b is None or not abs(b - a) >= LEAST_MS:
            return None
        # Below a millisecond a quotient shows only the resolution of the clock.
        a, b = max(a, 1.0), max(b, 1.0)
        return float(b / a) if b >= FACTOR * a or a >= FACTOR * b else None


def align(a: Sequence[Call], b: Sequence[Call]) -> list[AlignedPair]:
    """Align two sequences of calls by the names of their tools.

    The matching blocks are those of ``difflib.SequenceMatcher``. Between two blocks, the calls of A come before those of B.
    """
    # Without autojunk=False, difflib ignores the tools that are called often.
    matcher = SequenceMatcher(None, [call["tool"] for call in a], [call["tool"] for call in b], autojunk=False)
    pairs: list[AlignedPair] = []
    for kind, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        if kind == "equal":
            pairs += [AlignedPair(one, other) for one, other in zip(a[a_from:a_to], b[b_from:b_to], strict=True)]
            continue
        pairs += [AlignedPair(call, None) for call in a[a_from:a_to]]
        pairs += [AlignedPair(None, call) for call in b[b_from:b_to]]
    return pairs
