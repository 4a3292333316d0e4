"""Confidence from named signals, and what a confidence allows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal, Self

from tooltrace.errors import ConfigError

HIGH = 0.8
LOW = 0.5

Band = Literal["low", "middle", "high"]


def band(confidence: float) -> Band:
    """``high`` from 0.8, ``middle`` from 0.5, ``low`` below."""
    return "high" if confidence >= HIGH else "middle" if confidence >= LOW else "low"


class Score(float):
    """A confidence in [0, 1] that knows how it came about. A ``ToolResponse`` takes its ``signals`` with it."""

    signals: dict[str, float]
    """The signals that fired, and what each added."""

    def __new__(cls, value: float, signals: Mapping[str, float]) -> Self:
        score = super().__new__(cls, min(max(value, 0.0), 1.0))
        score.signals = dict(signals)
        return score


class ConfidenceRules:
    """What each named signal adds to, or takes from, a confidence that begins at ``base``.

    A number that nobody can take apart cannot be mended. Signals are recorded by name, so that the history can tell
    which of them are worth anything. Raises ConfigError for a base outside [0, 1] or a weight that is no number.
    """

    def __init__(self, weights: Mapping[str, float], *, base: float = 0.5) -> None:
        bad = {name: weight for name, weight in weights.items() if not _is_number(weight)}
        if bad:
            raise ConfigError(f"the weight of a signal is a number, got {bad!r}")
        if not _is_number(base) or not 0.0 <= base <= 1.0:
            raise ConfigError(f"base must lie in [0, 1], got {base!r}")
        self.weights = dict(weights)
        self.base = float(base)

    def score(self, signals: Iterable[str] | Mapping[str, float | bool]) -> Score:
        """The confidence, clamped to [0, 1].

        ``signals``: names of those that fired; or names with True, False, or how strongly each fired, from 0 to 1.
        Raises ConfigError for a signal without a weight: a typo would go unseen.
        """
        if isinstance(signals, str):
            raise ConfigError(f"score() takes a list of signals, got the text {signals!r}")
        strengths = signals if isinstance(signals, Mapping) else dict.fromkeys(signals, True)
        unknown = sorted(set(strengths) - set(self.weights))
        if unknown:
            raise ConfigError(
                f"no weight for the signal {', '.join(map(repr, unknown))}; known are {', '.join(self.weights)}"
            )
        fired = {name: self.weights[name] * _strength(name, value) for name, value in strengths.items() if value}
        return Score(math.fsum((self.base, *fired.values())), fired)


def _strength(name: str, value: float) -> float:
    if not _is_number(value) or not 0.0 <= value <= 1.0:
        raise ConfigError(f"the signal {name!r} fires with True, False or a number in [0, 1], got {value!r}")
    return float(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
