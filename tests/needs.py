"""Real parts that tests need and a machine may lack: then they are skipped with one line that says how to get it."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(name: str, reason: str) -> NoReturn:
    """The part ``name`` is not there: the test is skipped, and fails where ``$TOOLTRACE_REQUIRE`` has the name."""
    assert name not in os.environ.get("TOOLTRACE_REQUIRE", "").split(","), reason
    pytest.skip(reason)
