"""Grids of cases, of which `make test` runs a selection and `make test-simulations` all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def covering(*axes: Sequence[Any]) -> list[ParameterSet]:
    """Return all combinations of the values of ``axes``; one of each value of each axis stands without the marker ``simulations``.

    An axis whose values are tuples gives several parameters.
    """
    most = max(map(len, axes))
    chosen = {tuple(number % len(axis) for axis in axes) for number in range(most)}
    return [
        pytest.param(*_flat(axes, places), marks=[] if places in chosen else [pytest.mark.simulations])
        for places in product(*(range(len(axis)) for axis in axes))
    ]


def every_fifth(values: Sequence[Any]) -> list[ParameterSet]:
    """Return all ``values``, of which each fifth stands without the marker ``simulations``."""
    return [
        pytest.param(value, marks=[pytest.mark.simulations] if number % 5 else [])
        for number, value in enumerate(values)
    ]


def _flat(axes: Sequence[Sequence[Any]], places: Sequence[int]) -> list[Any]:
    values = [axis[place] for axis, place in zip(axes, places, strict=True)]
    return [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
