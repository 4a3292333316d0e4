"""Exceptions by which frameworks pause, cancel or redirect a tool."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tooltrace.normalize.exceptions.control_flow import ENDINGS, ending_by_name, ending_of


def error_class(module: str, name: str, *bases: type[BaseException]) -> Any:
    return type(name, bases or (Exception,), {"__module__": module})


LISTED = [(package, name, ending) for package, names in ENDINGS.items() for name, ending in names.items()]


@pytest.mark.parametrize(("package", "name", "ending"), LISTED)
def test_an_exception_and_its_name_have_the_same_ending(package: str, name: str, ending: str) -> None:
    kind = error_class(f"{package}.errors", name)
    assert ending_of(kind) == ending
    assert ending_by_name([f"{package}.errors.{name}"]) == ending
    assert ending_by_name([name]) == ending


def test_a_subclass_has_the_ending_of_its_nearest_listed_base() -> None:
    paused = error_class("langgraph.errors", "GraphInterrupt")
    assert ending_of(error_class("app", "Mine", paused)) == "paused"
    cancelled = error_class("pydantic_ai.exceptions", "RunCancelled", RuntimeError)
    assert ending_of(error_class("pydantic_ai.exceptions", "RunTimedOut", cancelled, TimeoutError)) == "raised"


def test_a_class_of_the_same_name_in_another_package_is_a_failure() -> None:
    assert ending_of(error_class("app.errors", "GraphInterrupt")) == "raised"
    assert ending_by_name(["app.errors.GraphInterrupt"]) == "raised"
    assert ending_of(error_class("langgraphs", "GraphInterrupt")) == "raised"


def test_cancellations_and_other_exceptions() -> None:
    assert ending_of(asyncio.CancelledError) == ending_of(KeyboardInterrupt) == ending_of(SystemExit) == "cancelled"
    assert ending_of(GeneratorExit) == "abandoned"
    assert ending_of(ValueError) == "raised"
    assert ending_of(error_class("app", "Stop", BaseException)) == "cancelled"
    assert ending_by_name(["trio.Cancelled"]) == "raised"
    assert ending_by_name(["concurrent.futures.CancelledError"]) == "cancelled"


def test_a_metaclass_of_the_application_does_not_run() -> None:
    class Loud(type):
        def __getattribute__(cls, name: str) -> Any:
            raise AssertionError(name)

        def __hash__(cls) -> int:
            raise AssertionError

    assert ending_of(Loud("Bad", (Exception,), {})) == "raised"
