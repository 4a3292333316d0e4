"""Simulate what a briefing saves: ``python -m benchmarks.briefing [--quick]``.

Scripted agents work through tasks: each needs a page, from ``fetch`` or, at more effort, from ``search``. An agent calls
``fetch``, repeats it once after a failure, and then calls ``search``. With a briefing, which is written anew from the real
store after every ten conversations, it follows each piece of advice with the probability p: it calls ``search`` at once where
the briefing says that ``fetch`` fails for the host, or at all, and that ``search`` works. A failed call counts as wasted. The price is the text's
length in tokens, once for each turn of the model, because the system prompt is sent with each.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.diagnosis.briefing import CHARACTERS_PER_TOKEN
from tooltrace.redact.snapshot import Json
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal

TASKS = 3
"""Tasks of a conversation."""
REFRESHED = 10
"""Conversations between two briefings."""
HOSTS = ("a.example", "b.example")
WORLDS = {
    "one host is down": {"a.example": 0.03, "b.example": 0.97},
    "every second call fails": {"a.example": 0.5, "b.example": 0.5},
    "nothing is wrong": {"a.example": 0.03, "b.example": 0.03},
}
"""Probability that ``fetch`` fails, by host. ``search`` fails in 3 % of its calls."""
FOLLOWED = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass
class Simulation:
    """One history in one world."""

    failing: dict[str, float]
    followed: float
    dice: random.Random
    records: list[ToolCall] = field(default_factory=list)
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    calls: int = 0
    wasted: int = 0
    turns: int = 0
    tokens: float = 0.0

    def call(self, tool: str, host: str, conversation: str, at: datetime) -> bool:
        """Make a call; return whether it worked."""
        number = next(self.numbers)
        failed = self.dice.random() < (self.failing[host] if tool == "fetch" else 0.03)
        error = {"status": "error", "code": "TIMEOUT", "error_message": "no response in 5 s"} if failed else {}
        self.records.append(
            ToolCall(
                **{
                    "tool": tool, "call_id": f"call_{number}", "trace_id": f"{number:032x}", "span_id": f"{number:016x}",
                    "conversation_id": conversation, "started_at": at, "duration_ms": 10.0, "status": "success",
                    "arguments": Json(json.dumps({"url": f"https://{host}/{number}"})), **error,
                }
            )
        )  # fmt: skip
        return not failed

    def converse(self, number: int, briefing: str, at: datetime) -> None:
        """Work through the tasks of one conversation."""
        turns = 1
        for task in range(TASKS):
            host = HOSTS[self.dice.random() < 0.6]
            avoided = is_advised_against(briefing, host) and self.dice.random() < self.followed
            for tool in ("search",) if avoided else ("fetch", "fetch", "search"):
                turns += 1
                self.calls += 1
                if self.call(tool, host, f"c{number}", at + timedelta(seconds=10 * task + turns)):
                    break
                self.wasted += 1
        self.turns += turns
        self.tokens += turns * len(briefing) / CHARACTERS_PER_TOKEN


def is_advised_against(briefing: str, host: str) -> bool:
    """Whether the text says that ``fetch`` fails for ``host``, and that ``search`` works."""
    if '- "fetch" failed' not in briefing or '"search" worked' not in briefing:
        return False
    return f'at the host "{host}"' in briefing or "at the host" not in briefing


def write(store: Path, records: list[ToolCall]) -> None:
    """Write ``records`` into a journal of their own."""
    journal = Journal(StorePaths.of(store).journal)
    journal.write(b"".join(map(encode, records)))
    journal.close()


def simulate(world: dict[str, float], followed: float, conversations: int, seed: int) -> Simulation:
    """Return a history of ``conversations`` after three days in which nothing was wrong."""
    simulation = Simulation(dict.fromkeys(HOSTS, 0.03), followed, random.Random(seed))
    now = datetime.now(UTC)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "history.duckdb"
        for number in range(100):
            for tool in ("fetch", "search"):
                at = now - timedelta(days=3, minutes=number)
                simulation.call(tool, HOSTS[number % 2], f"old{number}", at)
        simulation.failing = world
        briefing = ""
        for number in range(conversations):
            if number % REFRESHED == 0:
                write(store, simulation.records)
                simulation.records = []
                briefing = tt.briefing(["fetch", "search"], store=store) if followed else ""
            simulation.converse(number, briefing, now - timedelta(minutes=2 * (conversations - number)))
    return simulation


def main() -> None:
    """Print one row for each world and probability."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one short history of each kind")
    quick = parser.parse_args().quick
    conversations, histories = (40, 1) if quick else (100, 3)
    print("| world | p | wasted calls | of them saved | tokens a conversation | tokens a saved call |")
    print("|---|---|---|---|---|---|")
    for name, world in WORLDS.items():
        without = 0.0
        for followed in FOLLOWED:
            found = [simulate(world, followed, conversations, seed) for seed in range(histories)]
            count = conversations * histories / 100
            wasted = sum(one.wasted for one in found) / count
            tokens = sum(one.tokens for one in found) / count
            without = wasted if not followed else without
            saved = without - wasted
            price = f"{tokens / saved:.0f}" if saved > 0 and tokens else "–"
            share = f"{saved:.0f} ({saved / without:.0%})" if followed and without else "–"
            print(f"| {name} | {followed:g} | {wasted:.0f} | {share} | {tokens / 100:.0f} | {price} |", flush=True)


if __name__ == "__main__":
    main()
