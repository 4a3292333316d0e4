"""Stopped processes: a reader or an agent is stopped by SIGSTOP at any moment, as a suspended terminal job is."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

from tests.campaign.processes import Agent, reader
from tests.campaign.trial import Stored, Trial, checked
from tooltrace.errors import StoreError

ANSWER_SECONDS = 300
"""Maximum seconds for an answer or an error: the limit of a wait is 10 s, the rest is for a busy machine."""
CALL_SECONDS = 300
"""Maximum seconds of a call while another process is stopped."""


def stopped(choose: random.Random, folder: Path) -> Trial:
    """Stop one of two agents and two readers, and ask the store.

    A question must be answered or refused by an error within the limit, and no call of the agent that runs may wait.
    """
    store = folder / "store.duckdb"
    agents = [Agent(store, "call", f"a{number}") for number in range(2)]
    readers = [reader(store) for _ in range(2)]
    for agent in agents:
        agent.wait_for_output()
    time.sleep(choose.uniform(0, 1))
    victim = choose.choice([*readers, agents[0]])
    victim.signal(signal.SIGSTOP)
    started = time.monotonic()
    answer = ""
    try:
        Stored.of(store)
    except StoreError as error:
        answer = f" ({error})"
    waited = time.monotonic() - started
    victim.signal(signal.SIGCONT)
    for process in readers:
        process.kill()
    for agent in agents:
        agent.end()
    begun = [call for agent in agents for call in agent.begun()]
    trial, _ = checked(store, begun, begun)
    trial.check(waited <= ANSWER_SECONDS, f"a question waited {waited:.1f} s{answer}")
    longest = agents[1].longest_call()
    trial.check(longest <= CALL_SECONDS, f"a call took {longest:.1f} s while another process was stopped")
    return trial
