"""A loss of power after a step that was acknowledged: only what was synced is on the disk. Needs strace."""

from __future__ import annotations

import shutil
from random import Random

import pytest

from tests.crash.history import History
from tests.needs import missing

pytestmark = pytest.mark.processes


@pytest.fixture(autouse=True)
def strace() -> None:
    if shutil.which("strace") is None:
        missing("strace", "strace is not installed: apt-get install strace")


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param("record:red forget:red record:blue end fold forget:blue", id="a removed journal comes back"),
        pytest.param("record:blue end fold prune", id="a removed journal comes back after a prune"),
        pytest.param("record:red backup record:blue end fold restore", id="a replaced database comes back"),
        pytest.param("record:red backup record:blue end restore", id="a restored store has the calls of journals"),
        pytest.param("record:red deliver record:blue end deliver fold", id="a removed journal was delivered"),
    ],
)
def test_an_acknowledged_step_survives_a_loss_of_power(steps: str) -> None:
    at_end = ("names lost", "names and bytes kept")
    history = History(Random(0), cuts=2 * ("deliver" in steps), at_end=at_end, delivers="deliver" in steps)
    try:
        for step in steps.split():
            name, _, conversation = step.partition(":")
            if name == "record":
                history.record(f"conversation-{conversation}")
            else:
                history.do(name, **({"conversation": f"conversation-{conversation}"} if conversation else {}))
    finally:
        history.close()
