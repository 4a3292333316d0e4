"""What came of a request that was taken."""

from __future__ import annotations

from dataclasses import dataclass, field

from tooltrace.server.receiver.limits import Limits
from tooltrace.server.receiver.refusal import too_large

SHOWN = 3
"""How many reasons an answer gives."""
LONGEST_REASON = 300


@dataclass(slots=True)
class Receipt:
    """How many spans, log records or metrics a request had, and how many of them, or of its data points, were not kept."""

    limits: Limits
    seen: int = 0
    rejected: int = 0
    lost: int = 0
    """Of the rejected: those that were to be kept, and could not be read."""
    reasons: dict[str, int] = field(default_factory=dict)

    def see(self) -> None:
        """One more. Raises Refusal where there are too many."""
        self.seen += 1
        if self.seen > self.limits.items:
            raise too_large(f"the request has more than {self.limits.items:,} items; nothing was kept")

    def reject(self, reason: str, count: int = 1) -> None:
        """``count`` that were seen are not kept, for ``reason``."""
        self.rejected += count
        reason = reason[:LONGEST_REASON]
        if reason in self.reasons or len(self.reasons) < SHOWN:
            self.reasons[reason] = self.reasons.get(reason, 0) + count

    def lose(self, reason: str) -> None:
        """One that was seen was to be kept, and cannot be."""
        self.lost += 1
        self.reject(reason)

    def unreadable(self, reason: str) -> None:
        """One more, of which nothing else is known."""
        self.see()
        self.lose(reason)

    @property
    def message(self) -> str:
        """Why something was not kept; "" where all was."""
        told = [f"{count:,} × {reason}" for reason, count in self.reasons.items()]
        left = self.rejected - sum(self.reasons.values())
        return "; ".join([*told, f"{left:,} for other reasons"] if left else told)
