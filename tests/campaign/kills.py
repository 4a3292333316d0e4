"""Kills: agents and a folding reader are killed at any moment, several times over one store."""

from __future__ import annotations

import random
import time
from pathlib import Path

from tests.campaign.processes import Agent, Durability, reader
from tests.campaign.trial import Trial, checked

DURABILITIES: tuple[Durability, ...] = ("batch", "call", "fsync")


def kills(choose: random.Random, folder: Path) -> Trial:
    """Kill two agents and a reader in three rounds. Each acknowledged call must be stored once."""
    store = folder / "store.duckdb"
    begun: list[str] = []
    acknowledged: list[str] = []
    for number in range(3):
        agents = [Agent(store, choose.choice(DURABILITIES), f"r{number}-a{each}") for each in range(2)]
        reading = reader(store)
        for agent in agents:
            agent.wait_for_output()
        time.sleep(choose.uniform(0, 1))
        processes = [*agents, reading]
        choose.shuffle(processes)
        for process in processes:
            process.kill()
            time.sleep(choose.uniform(0, 0.1))
        for agent in agents:
            begun += agent.begun()
            acknowledged += agent.acknowledged()
    return checked(store, begun, acknowledged)[0]
