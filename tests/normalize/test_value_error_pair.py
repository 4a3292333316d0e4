"""Pairs of a value and its error, and pairs that are none."""

from __future__ import annotations

from typing import Any, NamedTuple

import httpx
import pytest

from tooltrace.normalize import normalize
from tooltrace.normalize.protocols.value_error_pair import RULES


def test_an_exception_in_second_place_is_an_error_with_the_value() -> None:
    response = normalize(([1, 2], TimeoutError("slow")), rules=RULES)
    assert (response.status, response.code, response.payload) == ("error", "TIMEOUT", [1, 2])
    assert (response.meta.rule, response.meta.rule_grade) == ("value_and_exception", "certain")
    assert response.error is not None
    assert (response.error.message, response.error.type, response.error.retryable) == ("slow", "TimeoutError", True)


def test_an_exception_gives_its_retry_delay() -> None:
    request = httpx.Request("GET", "https://x.test")
    limited = httpx.Response(429, headers={"retry-after": "30"}, request=request)
    response = normalize((None, httpx.HTTPStatusError("m", request=request, response=limited)), rules=RULES)
    assert (response.code, response.stats, response.next_action) == ("RATE_LIMIT", {"retry_after_s": 30.0}, "retry")
    assert response.error is not None
    assert response.error.suggestion is not None
    assert "30 s" in response.error.suggestion


def test_nothing_and_a_message_is_an_error_but_a_heuristic_one() -> None:
    response = normalize((None, "user not found"), rules=RULES)
    assert (response.status, response.code, response.payload) == ("error", "NOT_FOUND", None)
    assert (response.meta.rule, response.meta.rule_grade) == ("nothing_and_message", "heuristic")
    assert response.error is not None
    assert response.error.message == "user not found"


class Place(NamedTuple):
    name: str | None
    note: str


@pytest.mark.parametrize(
    "value",
    [
        ("value", None),
        ("value", "not found"),
        (None, ""),
        (None, "  "),
        (None, None),
        (48.1, 11.6),
        (None, "a", "b"),
        (TimeoutError("first"), "second"),
        [None, "a list is no pair"],
        Place(None, "not found"),
        (),
        (None, 7),
    ],
)
def test_other_tuples_are_ordinary_data(value: Any) -> None:
    response = normalize(value, rules=RULES)
    assert (response.status, response.meta.rule) == ("success", "plain")


def test_a_hostile_exception_in_a_pair_is_an_error_all_the_same() -> None:
    class Hostile(Exception):
        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError

        def __str__(self) -> str:
            raise RuntimeError

    response = normalize(("value", Hostile()), rules=RULES)
    assert (response.status, response.code, response.payload) == ("error", "EXECUTION_ERROR", "value")
