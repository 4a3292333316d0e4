"""A file of labels into the journal of a store."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tooltrace.errors import LabelError
from tooltrace.outcomes.keeper import Keeper
from tooltrace.outcomes.lines import Advance, Line, read
from tooltrace.outcomes.row import outcome_of
from tooltrace.record import Outcome
from tooltrace.settings import Settings
from tooltrace.store.base import Store, open_store

SHOWN = 10
"""How many of the rows that were skipped are kept as examples."""


class Skipped(NamedTuple):
    """A row that is no label, and why."""

    line: int
    reason: str


@dataclass(slots=True)
class Labelled:
    """What came of one file."""

    labels: int = 0
    skipped: int = 0
    examples: list[Skipped] = field(default_factory=list)
    """The first rows that were skipped."""
    unused: list[str] = field(default_factory=list)
    """Columns that a label has not."""
    calls: Counter[str] = field(default_factory=Counter)
    """Labels of calls, by the call's id."""
    attempts: Counter[str] = field(default_factory=Counter)
    """Labels of attempts, by the span's id."""

    def skip(self, line: int, reason: str) -> None:
        """Count the row, and keep it while there are few."""
        self.skipped += 1
        if self.skipped <= SHOWN:
            self.examples.append(Skipped(line, reason))

    def strange(self, names: list[str]) -> None:
        """These columns are not used."""
        if len(self.unused) < SHOWN:
            self.unused += [name for name in names if name not in self.unused]

    def took(self, outcome: Outcome) -> None:
        """Count the label."""
        self.labels += 1
        if outcome.span_id is not None:
            self.attempts[outcome.span_id] += 1
        elif outcome.call_id is not None:
            self.calls[outcome.call_id] += 1


def label_file(path: Path, settings: Settings, labeler: str, advance: Advance = lambda _: None) -> Labelled:
    """Keep the labels of the file at ``path`` in the store of ``settings``; ``labeler`` where a row does not say who.

    A row that is no label is skipped and counted. ``advance`` is told of the bytes read. Raises LabelError where the
    file cannot be read, StoreError where the journal cannot be written.
    """
    done = Labelled()
    with Keeper(settings) as keeper:
        for line in read(path, done.strange, advance):
            outcome = _outcome(line, settings, labeler, done)
            if outcome is not None:
                keeper.keep(outcome)
                done.took(outcome)
    return done


def unmatched(labelled: Labelled, store: Store) -> int:
    """How many of the labels are of a call or an attempt that ``store`` has not. Raises StoreError."""
    with open_store(store).connect() as con:
        found = 0
        for column, counted in (("call_id", labelled.calls), ("span_id", labelled.attempts)):
            sql = f"SELECT DISTINCT {column} FROM tool_calls WHERE {column} IN (SELECT unnest($ids))"
            there = con.execute(sql, {"ids": list(counted)}).fetchall()
            found += sum(counted[name] for (name,) in there)
    return labelled.labels - found


def _outcome(line: Line, settings: Settings, labeler: str, done: Labelled) -> Outcome | None:
    """The row's label; None where it is none, which is counted."""
    if line.fault is not None:
        done.skip(line.number, line.fault)
        return None
    try:
        return outcome_of(line.row, settings, labeler)
    except LabelError as error:
        done.skip(line.number, str(error))
        return None
