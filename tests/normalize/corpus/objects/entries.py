"""Where builders are entered, and how an exception gets its traceback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

BUILDERS: dict[str, Callable[[], Any]] = {}


def given(name: str, make: Callable[[], Any]) -> None:
    """Enter a builder under its name."""
    assert name not in BUILDERS, name
    BUILDERS[name] = make


def caught(run: Callable[[], Any]) -> BaseException:
    """Return the exception that ``run`` raises, with its traceback."""
    try:
        run()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def thrown(error: BaseException) -> BaseException:
    """The same exception, after it was raised."""

    def throw() -> None:
        raise error

    return caught(throw)
