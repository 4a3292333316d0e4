"""Wait for a condition, without a bound in seconds that a busy machine breaks: pytest's timeout ends a test that hangs."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def until(condition: Callable[[], T], *processes: subprocess.Popen[Any]) -> T:
    """Return the first true value of ``condition``. Fails where one of the ``processes`` that bring it about has ended."""
    while not (found := condition()):
        for process in processes:
            assert process.poll() is None, f"{process.args!r} ended with {process.returncode}"
        time.sleep(0.01)
    return found


def until_page(page: Any, expression: str) -> None:
    """Wait for ``expression``. The policy forbids what Playwright's own waiting does: it evaluates text in the page."""
    while not page.evaluate(expression):
        page.wait_for_timeout(50)
