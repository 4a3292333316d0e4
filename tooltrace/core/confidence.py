"""Confidence computed from named signals, and the band that a confidence falls into."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, Self

from tooltrace.errors import ConfigError
from tooltrace.faults import faults

HIGH = 0.8
LOW = 0.5

Band = Literal["low", "middle", "high"]


def band(confidence: float) -> Band:
    """Return the band of ``confidence``: ``high`` from 0.8, ``middle`` from 0.5, ``low`` below."""
    return "high" if confidence >= HIGH else "middle" if confidence >= LOW else "low"


TOLERANCE: Final = 1e-6
"""Distance from [0, 1] within which a confidence is an error of rounding, as in ``0.7 + 0.2 + 0.1``, and is clamped."""
OUT_OF_RANGE: Final = "confidence_out_of_range"
"""Flag of a response whose confidence was not one, and is unknown."""


def valid_confidence(value: Any) -> float | None:
    """Return ``value`` as a confidence: clamped within ``TOLERANCE`` of [0, 1]; None where it is not such a number.

    Numbers of other libraries, such as those of numpy, are numbers. NaN, infinities, booleans and texts are not.
    """
    if type(value) is not float:
        if isinstance(value, bool | str | bytes) or not hasattr(type(value), "__float__"):
            return None
        try:
            value = float(value)
        except Exception:  # of a foreign class
            return None
    if not -TOLERANCE <= value <= 1.0 + TOLERANCE:  # false for NaN too
        return None
    return float(min(max(value, 0.0), 1.0))


def warn_of_unknown(value: Any) -> None:
    """Log once in a process that a tool stated ``value``, which is not a confidence."""
    shown = repr(value) if isinstance(value, int | float) else f"of the type {type(value).__name__}"
    faults.warn_once(
        "confidence",
        f"a tool stated a confidence {shown}, which is not a number in [0, 1]: it is recorded as unknown, with the flag "
        f"{OUT_OF_RANGE}",
        counted=False,
    )


def is_uncertain(confidence: float | None) -> bool:
    """Whether an answer with ``confidence`` is marked as uncertain for the model: below 0.8."""
    return confidence is not None and confidence < HIGH


class Score(float):
    """A confidence in [0, 1] together with the signals that produced it.

    A ``ToolResponse`` that receives a ``Score`` copies its ``signals``.
    """

    signals: dict[str, float]
    """Contribution of each signal that fired, by name."""

    def __new__(cls, value: float, signals: Mapping[str, float]) -> Self:
        score = super().__new__(cls, min(max(value, 0.0), 1.0))
        score.signals = dict(signals)
        return score


class ConfidenceRules:
    """Weights of named signals; a confidence is ``base`` plus the weights of the signals that fired.

    Signals are recorded by name, so that the history shows which signals predict correct results, and a
    wrong weight can be corrected. Raises ConfigError for a base outside [0, 1] or a weight that is not a
    finite number.
    """

    def __init__(self, weights: Mapping[str, float], *, base: float = 0.5) -> None:
        if not isinstance(weights, Mapping) or not all(isinstance(name, str) for name in weights):
            raise ConfigError(
                f"the weights must be a dict from the names of signals to numbers, such as {{'exact_match': 0.3}}, got {weights!r}"
            )
        bad = {name: weight for name, weight in weights.items() if not _is_number(weight)}
        if bad:
            raise ConfigError(f"the weight of a signal must be a finite number, got {bad!r}")
        if not _is_number(base) or not 0.0 <= base <= 1.0:
            raise ConfigError(f"base must lie in [0, 1], got {base!r}")
        self.weights = dict(weights)
        self.base = float(base)

    def score(self, signals: Iterable[str] | Mapping[str, float | bool]) -> Score:
        """Return the confidence for ``signals``, clamped to [0, 1].

        ``signals``: names of the signals that fired; or a mapping from name to True, False, or the strength of the
        signal from 0 to 1. Raises ConfigError for a signal without a weight, because a typo would otherwise go
        unnoticed, and for a strength outside [0, 1].
        """
        if isinstance(signals, str) or not isinstance(signals, Iterable):
            raise ConfigError(
                f"score() needs the names of the signals that fired, such as ['exact_match'], or a dict, got {signals!r}"
            )
        strengths = signals if isinstance(signals, Mapping) else dict.fromkeys(signals, True)
        unknown = sorted(set(strengths) - set(self.weights))
        if unknown:
            raise ConfigError(
                f"no weight for the signal {', '.join(map(repr, unknown))}: the signals are {', '.join(self.weights)}"
            )
        fired = {name: self.weights[name] * _strength(name, value) for name, value in strengths.items() if value}
        return Score(math.fsum((self.base, *fired.values())), fired)


def _strength(name: str, value: float) -> float:
    if not _is_number(value) or not 0.0 <= value <= 1.0:
        raise ConfigError(
            f"the strength of the signal {name!r} must be True, False or a number in [0, 1], got {value!r}"
        )
    return float(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
