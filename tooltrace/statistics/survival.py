"""Survival: how many items have had their event after each step, where some leave before. Plain Python, no numpy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tooltrace.statistics.shares import Z_95, wilson


class Step(NamedTuple):
    """One step of a curve: the items at risk, and the share that has had its event by then, with its 95 % interval."""

    at_risk: int
    share: float
    low: float
    high: float


def kaplan_meier(events: Sequence[int], left: Sequence[int], effects: Sequence[float]) -> Iterator[Step]:
    """Yield the share of items with their event after each step, if none had left, while items are at risk.

    ``events`` and ``left``: items that have their event at the step, or leave after it. ``effects``: design effect of each step,
    the items for each independent one; the variance is multiplied by it.

    Source: Kaplan and Meier 1958; variance of Greenwood 1926; interval on the log-log scale, Kalbfleisch and Prentice 1980. Where
    that is undefined: without an event, Wilson's interval of none of the items at risk; where all had theirs, Wilson's of all of
    them, times the lower limit before.
    """
    at_risk = sum(events) + sum(left)
    pending, greenwood, low = 1.0, 0.0, 0.0
    for had, gone, effect in zip(events, left, effects, strict=True):
        if not at_risk:
            return
        missed = wilson(0, at_risk / effect)[1]
        pending *= (at_risk - had) / at_risk
        if had == at_risk:
            low, high = 1 - (1 - low) * missed, 1.0
        elif pending == 1:
            low, high = 0.0, missed
        else:
            greenwood += had / (at_risk * (at_risk - had))
            spread = Z_95 * math.sqrt(greenwood * effect) / abs(math.log(pending))
            low, high = 1 - pending ** math.exp(-spread), 1 - pending ** math.exp(spread)
        yield Step(at_risk, 1 - pending, low, high)
        at_risk -= had + gone
