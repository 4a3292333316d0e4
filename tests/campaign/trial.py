"""The result of one trial, and the promises that every trial checks."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import tooltrace as tt

Fault = Callable[[random.Random, Path], "Trial"]
"""A function that runs one trial in an empty folder."""


@dataclass
class Trial:
    """Numbers of one trial. A trial without ``problems`` held."""

    begun: int = 0
    """Calls that began."""
    acknowledged: int = 0
    """Calls that the store promised to keep."""
    stored: int = 0
    """Calls in the store."""
    counted: int = 0
    """Records that the store counts as lost."""
    problems: list[str] = field(default_factory=list)
    """Promises that were broken, in words."""

    def check(self, holds: bool, problem: str) -> None:
        """Add ``problem`` unless ``holds``."""
        if not holds:
            self.problems.append(problem)


@dataclass
class Stored:
    """The content of a store, as far as the trials need it."""

    calls: Counter[str]
    """Rows by call id."""
    losses: Counter[str]
    """Lost records by reason."""

    @classmethod
    def of(cls, store: Path) -> Stored:
        with tt.connect(store) as db:
            calls = db.execute("SELECT call_id, count(*) FROM tool_calls GROUP BY 1").fetchall()
            losses = db.execute("SELECT reason, sum(count)::BIGINT FROM losses GROUP BY 1").fetchall()
        return cls(Counter(dict(calls)), Counter(dict(losses)))


def checked(store: Path, begun: Iterable[str], acknowledged: Iterable[str]) -> tuple[Trial, Stored]:
    """Return a trial that has checked the store: no call is invented or doubled, and each acknowledged call is stored."""
    stored, begun, acknowledged = Stored.of(store), set(begun), set(acknowledged)
    trial = Trial(len(begun), len(acknowledged), len(stored.calls), stored.losses.total())
    invented = stored.calls.keys() - begun
    doubled = [call for call, rows in stored.calls.items() if rows > 1]
    lost = acknowledged - stored.calls.keys()
    trial.check(not invented, f"{len(invented)} calls were invented, such as {sorted(invented)[:3]}")
    trial.check(not doubled, f"{len(doubled)} calls were doubled, such as {sorted(doubled)[:3]}")
    trial.check(not lost, f"{len(lost)} acknowledged calls were lost, such as {sorted(lost)[:3]}")
    return trial, stored
