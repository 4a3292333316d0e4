"""How many examples a property gets."""

from __future__ import annotations

from typing import Final

from hypothesis import settings

QUICK: Final = 25
"""Examples of a property in ``make test``."""
THOROUGH: Final = 500
"""Examples of a property in ``make test-thorough``."""


def examples(quick: int) -> int:
    """Return the number of examples of an expensive property: ``quick`` in ``make test``, and in proportion else."""
    return max(1, quick * settings().max_examples // QUICK)
