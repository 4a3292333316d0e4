"""Many simulated histories in one store: the name of the tool is the number of the history."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray
from scipy import signal, special

from tests.truth.cells import (
    APPROVED,
    FLAGGED,
    HIDDEN,
    LABELLED,
    LEVEL_SHARES,
    LEVELS,
    MEDIAN_MS,
    OTHER_CODE,
    PARTIAL,
    RETRIED,
    SIGMA,
    SIGNALLED,
    SOURCED,
    WITH_CONFIDENCE,
    WITH_SOURCE_ID,
    Cell,
    probability,
)
from tooltrace.store.database import hashes
from tooltrace.store.database.migrations import create

Flags = NDArray[np.bool_]
Whole = NDArray[np.int64]

DAYS = 10
START = "TIMESTAMP '2026-03-01 00:00:00'"

ATTEMPTS = f"""
INSERT INTO attempts BY NAME
SELECT
    printf('t%05d', history) AS tool,
    CASE WHEN late THEN 'v2' ELSE 'v1' END AS tool_version,
    printf('c%d', call) AS call_id,
    attempt,
    printf('%032x', trace) AS trace_id,
    printf('%016x', row_no) AS span_id,
    CASE WHEN has_conversation THEN printf('s%d', cluster) END AS conversation_id,
    {START} + to_microseconds(at_us) AS started_at,
    duration_ms,
    CASE WHEN paused THEN NULL WHEN failed THEN 'error' WHEN partly THEN 'partial' ELSE 'success' END AS status,
    CASE WHEN paused THEN 'paused' ELSE 'returned' END AS ending,
    CASE WHEN failed THEN CASE WHEN other_code THEN 'RATE_LIMIT' ELSE 'TIMEOUT' END END AS code,
    CASE WHEN failed THEN 'no answer' END AS error_message,
    CASE WHEN failed THEN flagged END AS retryable,
    CASE WHEN confident AND NOT paused THEN confidence END AS confidence,
    CASE WHEN paused THEN NULL WHEN signalled THEN '{{"exact":1}}' ELSE '{{"exact":0}}' END AS signals,
    CASE WHEN paused THEN NULL WHEN failed THEN 'retry' ELSE 'continue' END AS next_action,
    CASE WHEN failed THEN CASE WHEN hidden THEN 'Done.' ELSE 'Error: no answer' END END AS seen_text,
    CASE WHEN failed OR paused OR NOT sourced THEN NULL WHEN with_id THEN '[{{"type":"api","id":"a","label":"a"}}]'
        ELSE '[{{"type":"api","label":"a"}}]' END AS sources,
    'certain' AS rule_grade,
    'host' AS host,
    1 AS pid
FROM rows
"""

LABELS = f"""
INSERT INTO outcomes BY NAME
SELECT printf('c%d', call) AS call_id, printf('%016x', row_no) AS span_id, 'ann' AS labeler, correct,
    {START} + to_microseconds(at_us) AS labeled_at
FROM rows
WHERE labelled AND NOT paused
"""

GATES = f"""
INSERT INTO gate_events BY NAME
SELECT printf('c%d', call) AS call_id, printf('%016x', row_no) AS span_id, 'confirmation' AS kind,
    {START} + to_microseconds(at_us) AS asked_at, 'ann' AS answered_by,
    CASE WHEN approved THEN 'approved' ELSE 'declined' END AS decision,
    {START} + to_microseconds(at_us + 500_000) AS answered_at,
    CASE WHEN approved THEN printf('%016x', row_no + 1) END AS resumed_span_id
FROM rows
WHERE paused
"""


class Draws:
    """Random traits of the calls of a cell, alike within a conversation."""

    def __init__(self, cell: Cell, histories: int, batch: int = 0) -> None:
        self.cell = cell
        self.random = np.random.default_rng([cell.seed, batch])
        clusters = histories * cell.clusters
        sizes = self.random.geometric(1 / cell.size, clusters) if cell.unequal else np.full(clusters, cell.size)
        self.cluster: Whole = np.repeat(np.arange(clusters), sizes)
        self.history: Whole = self.cluster // cell.clusters
        self.clusters = clusters
        self.calls = len(self.cluster)
        self.first_of_history = np.concatenate([[True], self.history[1:] != self.history[:-1]])

    def uniform(self) -> NDArray[np.float64]:
        """Return a number in [0, 1) for each call; in an autocorrelated cell it often equals the one before."""
        drawn = self.random.random(self.calls)
        if not self.cell.lag:
            return drawn
        fresh = self.first_of_history | (self.random.random(self.calls) >= self.cell.lag)
        return drawn[np.maximum.accumulate(np.where(fresh, np.arange(self.calls), 0))]

    def chances(self, rate: float) -> NDArray[np.float64]:
        """Return the probability of each call, whose mean is ``rate``."""
        return probability(self.cell, rate, self.random.random(self.clusters))[self.cluster]

    def trait(self, rate: float) -> Flags:
        """Return a trait that a share ``rate`` of the calls has."""
        return self.uniform() < self.chances(rate)

    def right(self, level: Whole) -> Flags:
        """Return whether each result is right: with the probability that its confidence states."""
        place = self.random.random(self.clusters)
        table = np.stack([probability(self.cell, float(rate), place) for rate in LEVELS])
        return self.uniform() < table[level, self.cluster]

    def normal(self) -> NDArray[np.float64]:
        """Return standard normal numbers with the cell's correlations."""
        own = self.random.standard_normal(self.calls)
        if self.cell.lag:
            own = own.reshape(-1, self.cell.clusters * self.cell.size)
            own[:, 1:] *= np.sqrt(1 - self.cell.lag**2)
            return np.asarray(signal.lfilter([1.0], [1.0, -self.cell.lag], own, axis=1)).ravel()
        shared = self.random.standard_normal(self.clusters)[self.cluster]
        return np.sqrt(self.cell.icc) * shared + np.sqrt(1 - self.cell.icc) * own

    def times(self) -> NDArray[np.int64]:
        """Return the start of each call in microseconds: conversations in order, 30 s between their calls."""
        place = np.sort(self.random.random((self.history[-1] + 1, self.cell.clusters)), axis=1).ravel()
        if self.cell.by_day:  # ten times as many at noon as at midnight
            hours = np.linspace(0, DAYS, 10_001)
            load = np.cumsum(1 - 0.82 * np.cos(2 * np.pi * hours))
            place = np.interp(place, load / load[-1], hours / DAYS)
        first = np.concatenate([[0], np.flatnonzero(np.diff(self.cluster)) + 1])
        within = np.arange(self.calls) - np.repeat(first, np.diff(np.concatenate([first, [self.calls]])))
        return np.asarray(place[self.cluster] * DAYS * 86_400e6 + within * 30_000_000, dtype=np.int64)


def make(cell: Cell, histories: int, batch: int = 0) -> duckdb.DuckDBPyConnection:
    """Return a connection to a store in memory with the histories."""
    con = duckdb.connect(":memory:", config={"threads": 1})
    con.execute("SET TimeZone='UTC'")
    con.execute("ATTACH ':memory:' AS store")
    create(con)
    con.execute("USE store")
    rows = columns(cell, histories, batch)
    con.register("rows", rows)
    con.execute(ATTEMPTS)
    hashes.refresh(con)
    con.execute(LABELS)
    if cell.gates:
        con.execute(GATES)
    con.unregister("rows")
    return con


def columns(cell: Cell, histories: int, batch: int = 0) -> dict[str, NDArray[Any]]:
    """Return the attempts of the histories, one array for each trait."""
    draws = Draws(cell, histories, batch)
    chances, calls = draws.chances(cell.rate), draws.calls
    # failed[k]: whether attempt k + 1 fails; made[k]: whether it happens
    failed = np.stack(
        [draws.uniform() < chances] + [draws.random.random(calls) < chances for _ in range(cell.attempts - 1)]
    )
    made = np.ones_like(failed)
    for k in range(1, cell.attempts):
        made[k] = made[k - 1] & failed[k - 1] & (draws.random.random(calls) < RETRIED)
    approved = draws.trait(APPROVED)
    paused = np.zeros((1, calls), dtype=bool)
    if cell.gates:
        failed = np.concatenate([paused, failed])
        made = np.concatenate([~paused, made & approved])
        paused = np.concatenate([~paused, np.zeros((cell.attempts, calls), dtype=bool)])
    else:
        paused = np.zeros_like(failed)
    call, attempt = np.nonzero(made.T)
    level = draws.random.choice(len(LEVELS), calls, p=LEVEL_SHARES)
    started = draws.times()
    half = (draws.cluster % cell.clusters) * 2 >= cell.clusters
    traits = {
        "history": draws.history, "cluster": draws.cluster, "call": np.arange(calls),
        "trace": draws.cluster if cell.ids == "trace" else draws.clusters + np.arange(calls),
        "late": half, "partly": draws.trait(PARTIAL), "flagged": draws.trait(FLAGGED),
        "confident": draws.trait(WITH_CONFIDENCE), "confidence": LEVELS[level], "correct": draws.right(level),
        "labelled": draws.trait(LABELLED), "other_code": draws.trait(OTHER_CODE), "signalled": draws.trait(SIGNALLED), "hidden": draws.trait(HIDDEN),
        "sourced": draws.trait(SOURCED), "with_id": draws.trait(WITH_SOURCE_ID), "approved": approved,
        "duration_ms": MEDIAN_MS * np.exp(SIGMA * draws.normal()),
    }  # fmt: skip
    rows: dict[str, NDArray[Any]] = {name: trait[call] for name, trait in traits.items()}
    rows |= {
        "row_no": np.arange(len(call)), "attempt": attempt + 1, "at_us": started[call] + attempt * 1_000_000,
        "failed": failed.T[call, attempt], "paused": paused.T[call, attempt],
        "has_conversation": np.full(len(call), cell.ids == "conversation"),
    }  # fmt: skip
    return rows


def slowest(share: float) -> float:
    """Return the true percentile of the durations."""
    return float(MEDIAN_MS * np.exp(SIGMA * special.ndtri(share)))
