"""A process of its own for a measurement."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def apart(function: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """Run ``function(folder, …)`` in a process of its own, with a folder of its own."""
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(function, Path(folder), *arguments, **named).result()
