"""Round times on the axis of a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MOST_STEPS: Final = 4
"""Steps of an axis: labels of more would touch each other."""

_SECOND, _MINUTE, _HOUR, _DAY = 1e3, 60e3, 3600e3, 86400e3
_STEPS: Final = (
    *(factor * 10.0**power for power in range(-3, 3) for factor in (1, 2, 2.5, 5)),
    *(count * unit for unit in (_SECOND, _MINUTE) for count in (1, 2, 3, 5, 10, 15, 30)),
    *(count * _HOUR for count in (1, 2, 3, 6, 12)),
    *(2.0**power * _DAY for power in range(18)),
)
"""Lengths of a step in milliseconds: 1, 2, 2.5 and 5, and beyond a second those of a clock.

Each is at most twice the one before, so that an axis has two steps at least.
"""


@dataclass(frozen=True, slots=True)
class Tick:
    """A label of the axis: its time in milliseconds, and its place in percent."""

    ms: float
    left: float


def ticks(total_ms: float) -> list[Tick]:
    """Return round times from 0 to ``total_ms``; 0 alone for an axis without a length."""
    step = next((step for step in _STEPS if total_ms <= MOST_STEPS * step), _STEPS[-1])
    count = int(total_ms / step * (1 + 1e-9))
    return [Tick(number * step, 100 * number * step / total_ms if number else 0.0) for number in range(count + 1)]
