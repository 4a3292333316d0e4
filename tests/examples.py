"""How many examples a property gets."""

from __future__ import annotations

from typing import Final

from hypothesis import settings

PROFILES: Final = {"quick": 10, "full": 25, "thorough": 500}
"""Examples of a property in ``make test``, ``make test-simulations`` and ``make test-thorough``."""
FEWEST: Final = 3
"""The first example is the simplest one, which shows little."""


def examples(full: int) -> int:
    """Return the number of examples of an expensive property: ``full`` in ``make test-simulations``, and in proportion else."""
    return max(min(full, FEWEST), full * settings().max_examples // PROFILES["full"])
