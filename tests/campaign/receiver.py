"""A receiver of OTLP that fails: errors, requests to slow down, closed connections, and kills of the sender."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

from tests.campaign.processes import Agent
from tests.campaign.trial import Trial, checked
from tests.exporters.otlp.receiver import Answer, HttpReceiver
from tooltrace.store.read.reader import open_reader

DELIVERY_SECONDS = 120
"""Seconds without progress after which a delivery is missed."""


def receiver_faults(choose: random.Random, folder: Path) -> Trial:
    """Send to a receiver that answers two of three requests with a fault, and kill the first of two agents.

    Once the receiver works, it must get each stored call. A call may arrive twice only where an answer did not reach
    the sender.
    """
    store = folder / "store.duckdb"
    receiver = HttpReceiver()
    receiver.rule = lambda _signal, _message: _fault(choose)
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint}
    first = Agent(store, "call", "a0", **environment)
    first.wait_for_output()
    time.sleep(choose.uniform(0, 1))
    first.kill()
    second = Agent(store, "batch", "a1", **environment)
    second.wait_for_output()
    time.sleep(choose.uniform(0, 0.5))
    receiver.stop()
    time.sleep(choose.uniform(0, 0.5))
    receiver.rule = lambda _signal, _message: None
    receiver.start()
    arrived = _wait_for_all(store, receiver, second)
    code = second.end()
    trial, _ = checked(store, first.begun() + second.begun(), first.acknowledged() + second.flushed())
    trial.check(arrived, f"the receiver misses stored calls, and none came for {DELIVERY_SECONDS} s")
    trial.check(code == 0, f"the agent ended with {code}: {second.errors()[-500:]}")
    receiver.stop()
    return trial


def _wait_for_all(store: Path, receiver: HttpReceiver, agent: Agent) -> bool:
    """Whether everything that is stored now arrives; ``agent`` runs on and delivers it."""
    with open_reader(store) as db:
        stored = {span for (span,) in db.execute("SELECT span_id FROM tool_calls").fetchall()}
    arrived, moved = 0, time.monotonic()
    while not stored <= receiver.spans.keys():
        if len(receiver.spans) > arrived:
            arrived, moved = len(receiver.spans), time.monotonic()
        if time.monotonic() - moved > DELIVERY_SECONDS or not agent.is_running:
            return False
        time.sleep(0.05)
    return True


def _fault(choose: random.Random) -> Any:
    kind = choose.choice(["none", "unavailable", "slow down"])
    if kind == "unavailable":
        return Answer(503)
    if kind == "slow down":
        return Answer(429, {"retry-after": "0"})
    return None
