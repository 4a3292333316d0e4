"""``tooltrace check``: what is wanted of the tools, shown or refuted by their calls."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tooltrace.diagnosis.checks import Check, Checked, Seen, judge, read_checks
from tooltrace.errors import ConfigError
from tooltrace.statistics.verdicts import holm, p_at_least, p_below


@pytest.mark.parametrize(
    ("wanted", "needed"), [(0.8, (14, 22, 30)), (0.9, (29, 46, 61)), (0.95, (59, 93, 124)), (0.99, (299, 473, 628))]
)
def test_the_calls_that_show_a_rate_are_those_of_the_exact_binomial_test(wanted: float, needed: Any) -> None:
    for failures, calls in enumerate(needed):
        assert p_at_least(calls - failures, calls, wanted) <= 0.05 < p_at_least(calls - 1 - failures, calls - 1, wanted)


def test_known_probabilities() -> None:
    assert p_at_least(9, 10, 0.5) == pytest.approx(11 / 1024)
    assert p_below(1, 10, 0.5) == pytest.approx(11 / 1024)
    assert (p_at_least(0, 10, 0.5), p_below(10, 10, 0.5)) == (1, 1)
    assert holm([0.01, 0.04, 0.03], 0.05) == [True, False, False]
    assert holm([0.01, 0.02, 0.03], 0.05) == [True, True, True]


def objective(calls: int, succeeded: int, effect: float = 1.0, **wanted: Any) -> Checked:
    return Checked(check=Check(**wanted or {"success": 0.9}), seen=Seen(calls, succeeded, 0, effect), base=None)


def compared(now: tuple[int, int], base: tuple[int, int]) -> Checked:
    return Checked(check=Check(baseline="version:a", candidate="version:b"), seen=Seen(*now), base=Seen(*base))


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (objective(60, 60), "holds"),
        (objective(60, 60, 3.0), "undecided"),
        (objective(60, 40), "broken"),
        (objective(10, 9), "undecided"),
        (objective(0, 0), "undecided"),
        (compared((400, 380), (400, 380)), "holds"),
        (compared((400, 300), (400, 380)), "broken"),
        (compared((40, 38), (40, 38)), "undecided"),
        (compared((10, 0), (10, 10)), "undecided"),
        (compared((4000, 3750), (4000, 3880)), "holds"),
    ],
)
def test_a_verdict_is_only_given_where_the_calls_show_it(one: Checked, verdict: str) -> None:
    assert [found.verdict for found in judge([one])] == [verdict]


def test_one_of_many_checks_needs_more_to_be_broken() -> None:
    bad, good = objective(60, 48), objective(60, 56)
    assert [one.verdict for one in judge([bad])] == ["broken"]
    assert [one.verdict for one in judge([bad, *[good] * 19])] == ["undecided"] * 20


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"must have tables \[\[check\]\]"),
        ("x = 1", r"must have tables \[\[check\]\]"),
        ("[[check]]", "either success or baseline"),
        ("[[check]]\nsucces = 0.9", "did you mean 'success'"),
        ("[[check]]\nsuccess = 90", "between 0 and 1, got 90"),
        ("[[check]]\nsuccess = true", "between 0 and 1, got True"),
        ("[[check]]\ntool = 1\nsuccess = 0.9", "must be a text, got 1"),
        ("[[check]]\nsuccess = 0.9\ncandidate = 'a'", "needs a baseline"),
        ("[[check]", "cannot be read as TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "checks.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_checks(path)


@pytest.mark.simulations
@pytest.mark.parametrize("rate", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("calls", [20, 50])
def test_without_a_change_at_most_one_suite_in_twenty_is_called_broken(rate: float, calls: int) -> None:
    rng = random.Random(f"{rate} {calls}")

    def seen() -> Seen:
        return Seen(calls, sum(rng.random() < rate for _ in range(calls)))

    def suite() -> list[Checked]:
        border = Checked(check=Check(success=rate), seen=seen(), base=None)
        return [border, *(Checked(check=Check(baseline="a"), seen=seen(), base=seen()) for _ in range(2))]

    broken = sum(any(one.verdict == "broken" for one in judge(suite())) for _ in range(1000))
    assert broken / 1000 <= 0.05 + 2 * (0.05 * 0.95 / 1000) ** 0.5
