"""The gate of a comparison: which of its verdicts fail a build."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tooltrace.store.result import QueryResult

MEASURES: Final = (
    "failure_rate", "call_failure_rate", "cut_off_share", "p50", "p95", "attempts_per_call", "accuracy",
    "confidence_gap",
)  # fmt: skip
"""The measures of the query ``compare``."""
LATENCY: Final = frozenset({"p50", "p95"})
"""Measures in milliseconds, which fail only beyond a least change."""
LEVELS: Final = {"worse": frozenset({"worse"}), "maybe": frozenset({"worse", "maybe_worse"})}
"""Verdicts that count as a regression, by level; ``worse`` accepts only the certain ones."""
MIN_SLOWDOWN_PERCENT: Final = 10.0
MIN_SLOWDOWN_MS: Final = 1.0
_NOT_COMPARED: Final = frozenset({"new", "gone", "too_few"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionGate:
    """The conditions under which a comparison fails."""

    level: str
    """``worse`` or ``maybe``."""
    measures: frozenset[str] = frozenset(MEASURES)
    """The measures that can fail."""
    min_slowdown_percent: float = MIN_SLOWDOWN_PERCENT
    """A latency fails only if it is longer by at least this part of the earlier one."""
    min_slowdown_ms: float = MIN_SLOWDOWN_MS
    """A latency fails only if it is also longer by at least this time, in milliseconds."""

    def regressions(self, compared: QueryResult) -> list[dict[str, Any]]:
        """Return the rows of a result of ``compare`` that fail."""
        return [row for row in self._worse(compared) if not self._is_small(row)]

    def tolerated(self, compared: QueryResult) -> list[dict[str, Any]]:
        """Return the rows that are worse, but only by less than the least change of a latency."""
        return [row for row in self._worse(compared) if self._is_small(row)]

    def has_compared(self, compared: QueryResult) -> bool:
        """Whether any of the measures has enough data on both sides."""
        return any(row["measure"] in self.measures and row["verdict"] not in _NOT_COMPARED for row in compared.dicts())

    def _worse(self, compared: QueryResult) -> list[dict[str, Any]]:
        return [
            row for row in compared.dicts() if row["measure"] in self.measures and row["verdict"] in LEVELS[self.level]
        ]

    def _is_small(self, row: Mapping[str, Any]) -> bool:
        if row["measure"] not in LATENCY:
            return False
        least = max(self.min_slowdown_ms, row["before"] * self.min_slowdown_percent / 100)
        return bool(row["difference"] < least)
