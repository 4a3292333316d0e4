"""A closed ledger: each call that is offered is stored, lost or pending, and each stored call is delivered, refused or pending."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import tooltrace as tt
from tests.campaign.processes import Process
from tests.campaign.receiver import DELIVERY_SECONDS
from tests.campaign.trial import Trial
from tests.exporters.otlp.receiver import Answer, HttpReceiver, spans_in

ROUNDS = 3
ABOUT_DELIVERY = ("export_refused", "export_overflow")
"""Reasons of losses of a destination; the store has these calls."""


class Ledger:
    """An agent that records bursts, a receiver that refuses some of them, and the sums that must agree."""

    def __init__(self, choose: random.Random, folder: Path) -> None:
        self.store = folder / "store.duckdb"
        self.trial = Trial()
        self._choose = choose
        self._delivered = 0
        self._receiver = HttpReceiver()
        self._receiver.rule = self._answer
        endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": self._receiver.endpoint}
        self.agent = Process(["-m", "tests.campaign.bursts", str(self.store)], **endpoint)
        self._answers = 0

    def burst(self, calls: int) -> None:
        """Record a burst and check every sum."""
        self.agent.send(f"{calls}\n")
        self._answers += 1
        before, after = json.loads(self.agent.line(self._answers))
        for each in (before, after):
            self._sum("offered", each["offered"], written=each["written"], queued=each["queued"], **each["lost"])
        self.trial.check(not after["queued"], f"a flush left {after['queued']} calls")
        self.trial.begun = self.trial.acknowledged = after["offered"]
        self._check_store(after["offered"])

    def end(self) -> None:
        """End the agent, and check the sums of the store once more."""
        code = self.agent.end()
        self.trial.check(code == 0, f"the agent ended with {code}: {self.agent.errors()[-500:]}")
        self._check_store(self.trial.begun)
        self._receiver.stop()

    def _check_store(self, offered: int) -> None:
        with tt.connect(self.store) as db:
            (stored,) = db.execute("SELECT count(*) FROM tool_calls").fetchall()[0]
        losses = self._losses()
        lost = {reason: count for reason, count in losses.items() if reason not in ABOUT_DELIVERY}
        self._sum("offered", offered, stored=stored, **lost)
        self.trial.stored, self.trial.counted = stored, sum(lost.values())
        settled, moved = 0, time.monotonic()
        while True:
            delivered = self._delivered + len(self._receiver.spans)
            refused = {reason: count for reason, count in self._losses().items() if reason in ABOUT_DELIVERY}
            if delivered + sum(refused.values()) > settled:
                settled, moved = delivered + sum(refused.values()), time.monotonic()
            if settled >= stored or time.monotonic() - moved > DELIVERY_SECONDS:
                break
            time.sleep(0.2)
        self._sum("stored", stored, delivered=delivered, **refused)
        with self._receiver.changed:  # what came is counted: the memory of a long run does not grow
            self._delivered += len(self._receiver.spans)
            for kept in (self._receiver.spans, self._receiver.requests, self._receiver.logs, self._receiver.points):
                kept.clear()

    def _losses(self) -> Counter[str]:
        with tt.connect(self.store) as db:
            return Counter(dict(db.execute("SELECT reason, sum(count)::BIGINT FROM losses GROUP BY 1").fetchall()))

    def _sum(self, name: str, whole: int, **parts: int) -> None:
        self.trial.check(whole == sum(parts.values()), f"{whole} calls were {name}, and {parts} do not sum up to them")

    def _answer(self, signal: str, message: Any) -> Answer | None:
        """Refuse some spans for good, in whatever request they are, and a few requests for a time."""
        if signal == "traces" and any(span.span_id.endswith(b"\0") for span in spans_in(message)):
            return Answer(400)
        return Answer(429, {"retry-after": "0"}) if self._choose.random() < 0.03 else None


def closed_ledger(choose: random.Random, folder: Path) -> Trial:
    """Record bursts beyond what the queue takes, to a receiver that refuses some requests for good."""
    ledger = Ledger(choose, folder)
    for _ in range(ROUNDS):
        ledger.burst(choose.randint(1, 2000))
    ledger.end()
    return ledger.trial
