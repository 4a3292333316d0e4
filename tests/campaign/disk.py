"""A disk that is full from time to time: no file of the agent grows beyond a limit."""

from __future__ import annotations

import random
import resource
import time
from pathlib import Path

from tests.campaign.kills import DURABILITIES
from tests.campaign.processes import Agent
from tests.campaign.trial import Trial, checked


def full_disk(choose: random.Random, folder: Path) -> Trial:
    """Limit the size of an agent's files several times while it records.

    Each call of an agent that ends by itself must be stored or counted, not both, and each call before a flush that returned True
    must be stored.
    """
    store = folder / "store.duckdb"
    agent = Agent(store, choose.choice(DURABILITIES), "a")
    agent.wait_for_output()
    for _ in range(choose.randint(1, 4)):
        time.sleep(choose.uniform(0, 0.3))
        limit = choose.choice([0, choose.randint(1, 200_000)])
        resource.prlimit(agent.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        time.sleep(choose.uniform(0, 0.3))
        resource.prlimit(agent.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    code = agent.end()
    trial, stored = checked(store, agent.begun(), agent.flushed())
    trial.check(code == 0, f"the agent ended with {code}: {agent.errors()[-500:]}")
    accounted = len(stored.calls) + stored.losses.total()
    trial.check(accounted == trial.begun, f"{trial.begun} calls were offered, and {accounted} are stored or counted")
    return trial
