"""What findings cost in tokens and in money."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tooltrace.diagnosis.finding import Cost, Finding
from tooltrace.diagnosis.summary import cost
from tooltrace.diagnosis.turns import with_turns
from tooltrace.diagnosis.wording import english, sentence
from tooltrace.errors import ConfigError
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.prices import money, read_prices

PRICES = {"gpt-5-mini": (0.25, 2.0), "gpt-5": (1.0, 10.0)}


def turns(tool: str, model: str, *, calls: int = 100, failed: int = 10) -> dict[str, Any]:
    """Model calls of 1,000 and 100 tokens after calls, of 2,000 and 200 after failed ones."""
    return {
        "tool": tool, "model": model, "calls": calls, "input_tokens": 1000 * calls, "output_tokens": 100 * calls,
        "failed": failed, "failed_input_tokens": 2000 * failed, "failed_output_tokens": 200 * failed,
    }  # fmt: skip


def finding(kind: str, *tools: str, calls: float = 5.0, tokens: int = 0) -> Finding:
    return Finding(kind=kind, tools=tools, said=sentence("never"), steps=(), query="", cost=Cost(calls, 0.0, tokens))


@pytest.mark.parametrize(
    ("one", "rows", "tokens", "paid"),
    [
        (finding("broken", "a"), [turns("a", "gpt-5-mini")], 5 * 2200, 5 * (2000 * 0.25 + 200 * 2.0) / 1e6),
        (finding("looping", "a", tokens=58), [turns("a", "gpt-5-mini")], 5 * 1100, 5 * (1000 * 0.25 + 100 * 2.0) / 1e6),
        (finding("broken", "a"), [turns("a", "gpt-5-mini"), turns("a", "other")], 5 * 2200, 2.5 * 0.0009),
        (finding("broken", "a", "b"), [turns("a", "other"), turns("b", "other")], 5 * 2200, None),
        (finding("broken", "a"), [turns("b", "gpt-5")], 0, None),
        (finding("broken", "a"), [turns("a", "gpt-5", failed=0)], 0, None),
        (finding("overconfident", "a"), [turns("a", "gpt-5")], 0, None),
    ],
)
def test_a_needless_call_costs_the_turn_that_follows_it(one: Finding, rows: Any, tokens: int, paid: Any) -> None:
    [found] = with_turns([one], rows, PRICES)
    assert (found.cost.tokens, found.cost.money) == (tokens, None if paid is None else pytest.approx(paid))


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("gpt-5", 11.0),
        ("gpt-5-mini-2026-08-07", 2.25),
        ("openai/gpt-5-mini", 2.25),
        ("claude-opus-5@20260801", None),
        ("gpt-5-nano", None),
        ("gpt-50", None),
        ("", None),
    ],
)
def test_a_price_is_also_that_of_a_models_dated_versions(model: str, price: float | None) -> None:
    assert money(PRICES, model, 1e6, 1e6) == price


def test_prices_stay_with_the_store_and_wrong_ones_are_refused(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    tt.configure(store=store, prices={"gpt-5-mini": (0.25, 2)})
    tt.configure(store=store)
    assert read_prices(StorePaths.of(store)) == {"gpt-5-mini": (0.25, 2.0)}
    for wrong in ({"m": (1,)}, {"m": (-1, 1)}, {1: (1, 1)}, {"m": ("x", 1)}, [("m", 1)]):
        with pytest.raises(ConfigError, match="two numbers of at least 0"):
            tt.configure(prices=wrong)  # type: ignore[arg-type]
    assert [path.stat().st_mode & 0o777 for path in StorePaths.of(store).journal.glob(".prices")] == [0o600]


def test_the_cost_names_the_money() -> None:
    said = cost(Finding(kind="broken", tools=("a",), said=sentence("never"), steps=(), query="", cost=Cost(5, 0, 11_000, 0.0045)))  # fmt: skip
    assert said is not None
    assert english(said) == "Cost: 5 calls beyond normal, 11,000 tokens, 0.0045 at your prices."
