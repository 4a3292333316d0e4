"""No value costs more than the budget: nested, shared, circular or hostile."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from tests.examples import examples
from tests.redact.graphs import Plan, plans
from tests.redact.hostile_values import VALUES, Attrs, Model, Node, laughs
from tooltrace.redact.plain_data import left_over
from tooltrace.redact.walk import Walk

LITTLE = 10_000
"""A budget that small values exceed."""
MOST_CALLS = 20 * LITTLE // 32
"""Calls of functions, in Python and in C, with that budget."""


def calls_of(function: Callable[[], Any]) -> int:
    """Return how many functions are called, in Python and in C."""
    calls = 0

    def count(_: Any, event: str, __: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return calls


@settings(max_examples=examples(150), deadline=None)
@given(plan=plans())
def test_any_value_costs_at_most_the_budget(plan: Plan) -> None:
    value, walk = plan.build(), Walk(LITTLE)
    assert calls_of(lambda: left_over(value, LITTLE)) < MOST_CALLS
    assert calls_of(lambda: json.loads(walk.json(value))) < MOST_CALLS


@pytest.mark.parametrize("make", [list, tuple, Node, Attrs, lambda items: Model.model_construct(inner=items)])
def test_shared_references_cost_the_budget_and_no_more(make: Any) -> None:
    small, large = (calls_of(lambda levels=levels: Walk(LITTLE).json(laughs(make, levels))) for levels in (6, 60))
    assert large < 1.5 * small + 1000
    walk = Walk(LITTLE)
    assert len(walk.json(laughs(make))) < LITTLE
    assert walk.cut


PROGRAM = """
import resource, sys, threading, time
from tests.redact.hostile_values import VALUES
from tooltrace.normalize.exceptions.reader import summarize
from tooltrace.redact.snapshot import BUDGET, snapshot, split_cut
import orjson

def attack():
    for name, make in VALUES.items():
        value = make()
        before = time.thread_time()
        taken = snapshot({"x": value, "last": "kept"})
        spent = time.thread_time() - before
        data = orjson.loads(split_cut(taken)[0])
        if len(taken) > 6 * BUDGET or spent > 0.5 or data["last"] != "kept":
            print(name, len(taken), spent)
        if issubclass(type(value), BaseException):
            before = time.thread_time()
            summary = summarize(value)
            if len(summary.message) > BUDGET or time.thread_time() - before > 1:
                print("message of", name)
        del value, taken, data
    print("ended")

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
threading.stack_size(512 * 1024)
thread = threading.Thread(target=attack)
thread.start()
thread.join()
"""


@pytest.mark.processes
def test_hostile_values_neither_crash_nor_exceed_the_budget_on_a_small_stack() -> None:
    assert len(VALUES) > 120
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr[-3000:]
