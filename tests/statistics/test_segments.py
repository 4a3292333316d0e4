"""Changes that were made are found, at their place; a rate that is constant has none."""

from __future__ import annotations

import numpy as np
import pytest

from tooltrace.statistics.segments import find_state

DAYS = 10 * 86_400.0


def history(rng, *parts, rhythm=0.0):
    rates = np.concatenate([np.full(n, rate) for rate, n in parts])
    times = np.sort(rng.uniform(0, DAYS, len(rates)))
    rates = rates * (1 + rhythm * np.sin(2 * np.pi * times / 86_400))
    return times, (rng.random(len(rates)) < rates).astype(float), np.arange(len(rates))


@pytest.mark.parametrize("parts", [[(0.0, 300)], [(0.01, 1000)], [(0.05, 1000)], [(0.3, 1000)]], ids=str)
@pytest.mark.parametrize("rhythm", [0.0, pytest.param(0.9, marks=pytest.mark.simulations)])
def test_a_constant_rate_has_no_change(parts, rhythm):
    rng = np.random.default_rng(1)
    states = [find_state(*history(rng, *parts, rhythm=rhythm)) for _ in range(100)]
    assert sum(state.usual is not None or state.run > 0 or bool(state.past) for state in states) <= 5


@pytest.mark.long
@pytest.mark.parametrize("correlation", [0.5, 0.8])
def test_failures_in_bursts_are_no_change(correlation):
    rng, found = np.random.default_rng(1), 0
    for _ in range(60):
        hits = (rng.random(800) < 0.1).astype(float)
        for at in np.flatnonzero(rng.random(799) < correlation) + 1:
            hits[at] = hits[at - 1]
        state = find_state(np.linspace(0, DAYS, 800), hits, np.arange(800))
        found += state.usual is not None or state.run > 0
    assert found <= 4


@pytest.mark.long
def test_conversations_that_fail_as_a_whole_are_no_change():
    rng, found = np.random.default_rng(1), 0
    for _ in range(60):
        hits = np.repeat((rng.random(100) < 0.1).astype(float), 8)
        state = find_state(np.linspace(0, DAYS, 800), hits, np.repeat(np.arange(100), 8))
        found += state.usual is not None or state.run > 0
    assert found <= 4


@pytest.mark.parametrize(
    ("parts", "first", "usual", "past"),
    [
        ([(0.01, 300), (0.4, 60)], 300, (0, 300), 0),
        ([(0.02, 2000), (0.1, 500)], 2000, (0, 2000), 0),
        ([(0.01, 500), (0.5, 100), (0.2, 150)], 500, (0, 500), 0),
        ([(0.01, 500), (0.9, 60), (0.01, 300), (0.4, 60)], 860, (560, 860), 1),
        ([(0.01, 2500), (1.0, 30), (0.01, 2500)], 2530, None, 1),
        ([(0.4, 300), (0.01, 300)], 300, None, 0),
    ],
    ids=str,
)
def test_changes_are_found_at_their_place(parts, first, usual, past):
    rng = np.random.default_rng(1)
    states = [find_state(*history(rng, *parts)) for _ in range(20)]
    near = 0.04 * sum(n for _, n in parts)
    right = [
        state
        for state in states
        if abs(state.first - first) <= near
        and len(state.past) == past
        and (state.usual is None) == (usual is None)
        and (usual is None or state.usual is None or abs(state.usual.first - usual[0]) <= near)
    ]
    assert len(right) >= 17


def test_a_run_of_failures_is_now_only_where_chance_does_not_explain_it():
    rng = np.random.default_rng(1)
    assert find_state(*history(rng, (0.01, 200), (1.0, 10))).run >= 10
    assert find_state(*history(rng, (1.0, 3))).run == 3
    assert find_state(*history(rng, (1.0, 2))).run == 0
    often = [find_state(*history(rng, (0.5, 200), (1.0, 3))) for _ in range(20)]
    assert not any(state.run for state in often)
