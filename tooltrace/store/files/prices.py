"""The prices of models, as the user gives them: a store keeps them, so that all that reads it can state money."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from tooltrace.errors import ConfigError
from tooltrace.redact.plain_data import json_of
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.syncing import replace_file

Prices = Mapping[str, tuple[float, float]]
"""The price of a million input tokens and of a million output tokens, by the name of the model."""

FILE: Final = ".prices"
_MILLION: Final = 1_000_000
_DATE: Final = re.compile("[-@]([0-9]{4}[-0-9]*|latest)$")


def check_prices(prices: Mapping[Any, Any]) -> dict[str, tuple[float, float]]:
    """Return ``prices`` as plain numbers. Raises ConfigError."""
    checked = {}
    for model, price in prices.items() if isinstance(prices, Mapping) else ((None, prices),):
        try:
            read, written = map(float, price)
            good = isinstance(model, str) and all(math.isfinite(one) and one >= 0 for one in (read, written))
        except (TypeError, ValueError):
            good = False
        if not good:
            raise ConfigError(
                "prices must map names of models to two numbers of at least 0, the price of a million input tokens and of a "
                f"million output tokens, such as {{'gpt-5-mini': (0.25, 2.0)}}; got {model!r}: {price!r}; nothing was changed"
            )
        checked[model] = (read, written)
    return checked


def write_prices(paths: StorePaths, prices: Prices) -> None:
    """Make ``prices`` those of the store. Raises OSError where they cannot be written."""
    paths.journal.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(paths.journal / FILE, json_of({model: list(price) for model, price in prices.items()}))


def read_prices(paths: StorePaths | None) -> Prices:
    """Return the prices of the store; none where it has none, is remote, or the file cannot be read."""
    if paths is None:
        return {}
    try:
        return check_prices(orjson.loads((paths.journal / FILE).read_bytes()))
    except (OSError, ValueError, ConfigError):
        return {}


def money(prices: Prices, model: str, read: float, written: float) -> float | None:
    """Return what a model takes for tokens that it ``read`` and has ``written``; None without a price.

    A price of ``gpt-5-mini`` is also that of ``openai/gpt-5-mini`` and of ``gpt-5-mini-2026-08-07``, but not that of ``gpt-5-mini-high``.
    """
    bare = model.rpartition("/")[2]
    price = next((prices[name] for name in (model, bare, _DATE.sub("", bare)) if name in prices), None)
    return None if price is None else (read * price[0] + written * price[1]) / _MILLION
