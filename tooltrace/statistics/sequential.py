"""Sequential tests of a rate: after each trial, whether it is shown to be above or below an objective."""

from __future__ import annotations

from typing import Final, Literal

_ABOVE: Final = (0.5, 1.0)
"""Bets that the rate is above: places between the objective and 1."""
_BELOW: Final = tuple(place / 10 for place in range(10))
"""Bets that it is below: places between 0 and the objective."""


def rate_evidence(successes: int, failures: int, rate: float) -> tuple[float, float]:
    """Return the e-values of ``successes`` and ``failures``: against "at most ``rate``", and against "at least ``rate``".

    Each is the capital of a gambler who begins with 1 and divides it among constant bets. The bet on the rate q
    multiplies its part by q / rate for a success, and by (1 - q) / (1 - rate) for a failure: the factor
    1 + l (x - rate) of the outcome x, with l = (q - rate) / (rate (1 - rate)). The bets of the first e-value are q halfway
    between ``rate`` and 1, and 1; those of the second one q = 0, 0.1, …, 0.9 times ``rate``. Under each hypothesis the
    capital is a non-negative supermartingale. By Ville's inequality it therefore ever reaches 1 / risk with a
    probability of at most risk, however often it is looked at, and whenever one stops.

    ``rate``: between 0 and 1, both excluded. The trials are independent. Source: Waudby-Smith and Ramdas 2024, Estimating
    means of bounded random variables by betting, JRSS B 86 (constant bets on a grid); Ville 1939.
    """
    above = [rate + place * (1 - rate) for place in _ABOVE]
    below = [place * rate for place in _BELOW]
    return _capital(successes, failures, rate, above), _capital(successes, failures, rate, below)


def rate_shown(successes: int, failures: int, rate: float, risk: float) -> Literal["above", "below"] | None:
    """Return which side of ``rate`` the true rate is shown to be on; None where neither is shown yet.

    ``risk``: probability of a wrong answer, at any time. See :func:`rate_evidence`.
    """
    above, below = rate_evidence(successes, failures, rate)
    if above >= 1 / risk:
        return "above"
    return "below" if below >= 1 / risk else None


def _capital(successes: int, failures: int, rate: float, bets: list[float]) -> float:
    return sum((bet / rate) ** successes * ((1 - bet) / (1 - rate)) ** failures for bet in bets) / len(bets)
