"""Evidence about a tool: hand-computed cases, and what chance must not state."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta
from typing import Any

import pytest
from statsmodels.stats.proportion import proportion_confint

from tooltrace.analysis.evidence import alternatives, failing_arguments, same_arguments
from tooltrace.statistics.shares import ClusterSums, Proportion

NOW = datetime(2026, 3, 1, 12)


def independent(k: int, n: int) -> Proportion:
    return ClusterSums(n, n, k, k, k, n).proportion()


def attempt(number: int, *, failed: bool, arguments: Any, conversation: str | None = None) -> dict[str, Any]:
    return {
        "span_id": f"{number:016x}", "draw": conversation or f"c{number}", "status": "error" if failed else "success",
        "arguments": arguments if isinstance(arguments, str | None) else json.dumps(arguments),
    }  # fmt: skip


def test_an_argument_with_which_everything_fails_is_found() -> None:
    rows = [attempt(n, failed=n % 2 == 0, arguments={"site": "b" if n % 2 == 0 else "a", "q": n}) for n in range(40)]
    [found] = failing_arguments(rows)
    assert (found.name, found.value, found.is_host) == ("site", '"b"', False)
    assert (found.failed[:2], found.others[:2]) == ((20, 20), (0, 20))
    assert found.failed.low == pytest.approx(proportion_confint(20, 20, method="wilson")[0])


def test_the_host_of_an_address_is_compared() -> None:
    rows = [
        attempt(n, failed=n % 2 == 0, arguments={"url": f"https://{'b' if n % 2 == 0 else 'a'}.example/{n}"})
        for n in range(40)
    ]
    [found] = failing_arguments(rows)
    assert (found.name, found.value, found.is_host) == ("url", "b.example", True)


def test_failures_of_one_conversation_state_nothing() -> None:
    rows = [attempt(n, failed=n < 20, arguments={"site": "b" if n < 20 else "a"}, conversation="one" if n < 20 else None) for n in range(40)]  # fmt: skip
    assert failing_arguments(rows) == []


@pytest.mark.parametrize(
    "arguments", [None, "", "[1]", "{broken", '{"a": ' + "1" * 5_000 + "}", "null", '{"u": "http://["}']
)
def test_arguments_other_than_objects_are_left_out(arguments: str | None) -> None:
    rows = [attempt(n, failed=True, arguments=arguments) for n in range(20)]
    assert [one for one in failing_arguments(rows) if one.is_host] == []
    assert same_arguments(rows, {"a": 1}) == []


@pytest.mark.long
def test_chance_states_an_argument_in_at_most_one_of_twenty_histories() -> None:
    dice = random.Random(3)
    false = 0
    for _ in range(200):
        rows = [
            attempt(n, failed=dice.random() < 0.4, arguments={"a": dice.randrange(5), "b": dice.randrange(4)})
            for n in range(120)
        ]
        false += bool(failing_arguments(rows))
    assert false <= 10


def test_chance_in_conversations_that_differ_states_an_argument_in_at_most_one_of_twenty_histories() -> None:
    """A conversation has one value of the argument, and fails mostly or seldom, whatever the value is."""
    dice = random.Random(5)
    false = 0
    for _ in range(200):
        rows = []
        for conversation in range(16):
            share, value = dice.choice((0.9, 0.1)), dice.randrange(3)
            for _ in range(8):
                failed = dice.random() < share
                rows.append(
                    attempt(len(rows), failed=failed, arguments={"a": value}, conversation=f"talk{conversation}")
                )
        false += bool(failing_arguments(rows))
    assert false <= 10


def test_the_interval_of_an_argument_counts_conversations() -> None:
    """Ten conversations of four attempts each that fail as a whole are ten draws, by hand: effective n = 40 / 4."""
    rows = [
        attempt(n, failed=n < 40, arguments={"site": "b" if n < 40 else "a"}, conversation=f"talk{n // 4}")
        for n in range(80)
    ]
    [found] = failing_arguments(rows)
    assert (found.failed.k, found.failed.n, found.failed.clusters, found.failed.design_effect) == (40, 40, 10, 4.0)
    assert found.failed.low == pytest.approx(proportion_confint(10, 10, method="wilson")[0])
    assert (found.others.k, found.others.n, found.others.clusters, found.others.design_effect) == (0, 40, 10, 4.0)


def test_four_conversations_of_many_attempts_state_nothing() -> None:
    rows = [
        attempt(n, failed=n < 40, arguments={"site": "b" if n < 40 else "a"}, conversation=f"talk{n // 10}")
        for n in range(80)
    ]
    assert failing_arguments(rows) == []


def steps(*names: str) -> list[dict[str, Any]]:
    """Conversations of attempts; a name with a ``!`` failed."""
    found = []
    for conversation, text in enumerate(names):
        for at, name in enumerate(text.split()):
            found.append(
                {
                    "conversation_id": f"c{conversation}",
                    "tool": name.rstrip("!"),
                    "span_id": f"{conversation}-{at}",
                    "started_at": NOW + timedelta(seconds=at),
                    "status": "error" if name.endswith("!") else "success",
                }  # fmt: skip
            )
    return found


def test_the_tool_that_worked_after_failures_is_an_alternative() -> None:
    rows = steps(*["fetch! fetch! search"] * 12, *["fetch! other!"] * 12, *["search fetch"] * 5)
    [found] = alternatives("fetch", rows, independent(36, 41))
    assert (found.tool, found.worked[:2]) == ("search", (12, 12)), "both failures before one search count once"


def test_an_alternative_works_more_often_than_the_tool() -> None:
    rows = steps(*["fetch! search"] * 6, *["fetch! search!"] * 5)
    assert alternatives("fetch", rows, independent(11, 40)) == []
    assert alternatives("fetch", steps(*["fetch! search"] * 4), independent(20, 20)) == [], "four are too few"


def test_the_interval_of_an_alternative_counts_conversations() -> None:
    """Six conversations in which search worked three times each are six draws."""
    rows = steps(*["fetch! search fetch! search fetch! search"] * 6)
    [found] = alternatives("fetch", rows, independent(36, 40))
    assert (found.worked.k, found.worked.n, found.worked.clusters, found.worked.design_effect) == (18, 18, 6, 3.0)
    assert found.worked.low == pytest.approx(proportion_confint(6, 6, method="wilson")[0])
    assert alternatives("fetch", steps(*["fetch! search " * 9] * 4), independent(36, 40)) == [], "four conversations"


def test_the_same_arguments_are_found_in_any_order_of_members() -> None:
    rows = [
        attempt(1, failed=True, arguments='{"b": [1, {"y": 2, "x": 1}], "a": "ü"}'),
        attempt(2, failed=False, arguments={"a": 1}),
    ]
    assert [row["span_id"] for row in same_arguments(rows, {"a": "ü", "b": [1, {"x": 1, "y": 2}]})] == [f"{1:016x}"]
