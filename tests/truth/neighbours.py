"""Intervals that count the correlation of neighbouring clusters: ``python -m tests.truth.neighbours``.

docs/explanation/statistics.md has a part of what it prints: the share of intervals that contain the true rate, and their mean width.
The queries use the last way where clusters have several items, and the first way where each cluster has one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

import duckdb
import numpy as np
from numpy.typing import NDArray

from tests.truth.cells import Cell
from tests.truth.histories import Draws
from tooltrace.store.database.macros import MACROS

Numbers = NDArray[np.float64]

HISTORIES: Final = 2000
CELLS: Final = (
    Cell("clusters", 5, 10, 0.2),
    Cell("clusters", 20, 10),
    Cell("clusters", 20, 10, 0.2),
    Cell("clusters", 20, 10, 0.5),
    Cell("clusters", 50, 10, 0.2),
    Cell("unequal sizes", 20, 10, 0.2, unequal=True),
    Cell("autocorrelated", 20, 10, lag=0.5),
    Cell("autocorrelated", 20, 10, lag=0.8),
    Cell("autocorrelated", 50, 10, lag=0.8),
    Cell("autocorrelated", 60, 3, lag=0.5),
    Cell("autocorrelated", 60, 3, lag=0.8),
    Cell("autocorrelated", 100, 2, lag=0.8),
    Cell("independent", 200, 1, ids="none"),
    Cell("autocorrelated", 200, 1, lag=0.5, ids="none"),
    Cell("autocorrelated", 200, 1, lag=0.8, ids="none"),
)


def none(_own: Numbers, _next: Numbers) -> Numbers:
    """Return 1: the clusters alone."""
    return np.ones_like(_own)


def one(own: Numbers, following: Numbers) -> Numbers:
    """Return the variance with one neighbour, as a multiple: Bartlett's weight of a half (Newey and West 1987)."""
    return 1 + np.maximum(0, following / own)


def whole(own: Numbers, following: Numbers) -> Numbers:
    """Return the variance with one neighbour of weight 1."""
    return 1 + 2 * np.maximum(0, following / own)


def chain(own: Numbers, following: Numbers) -> Numbers:
    """Return the variance of a chain in which each cluster resembles the one before (Bayley and Hammersley 1946)."""
    correlation = np.clip(following / own, 0, 0.9)
    return (1 + correlation) / (1 - correlation)


WAYS: Final[dict[str, Callable[[Numbers, Numbers], Numbers]]] = {
    "clusters": none,
    "one neighbour": one,
    "one neighbour, weight 1": whole,
    "chain": chain,
}


def main() -> None:
    """Print the table."""
    con = duckdb.connect()
    for macro in MACROS:
        con.execute(macro.temporary)
    sys.stdout.write(f"| history | {' | '.join(WAYS)} |\n|---|{'---|' * len(WAYS)}\n")
    for cell in CELLS:
        cells = [f"{100 * covered:.1f} % ({width:.2f})" for covered, width in measure(con, cell)]
        sys.stdout.write(f"| {cell.name} | {' | '.join(cells)} |\n")


def measure(con: duckdb.DuckDBPyConnection, cell: Cell) -> list[tuple[float, float]]:
    """Return the coverage and the mean width of each way."""
    n, s = clusters(cell)
    items, counted = n.sum(axis=1), s.sum(axis=1)
    residuals = s - n * (counted / items)[:, None]
    own = np.maximum((residuals**2).sum(axis=1), 1e-9)
    following = (residuals[:, 1:] * residuals[:, :-1]).sum(axis=1)
    effective = effective_n(con, n, s)
    return [limits(con, counted, items, effective / way(own, following), cell.rate) for way in WAYS.values()]


def clusters(cell: Cell) -> tuple[Numbers, Numbers]:
    """Return the items and the failures of each cluster, in the order of time; a row is a history."""
    draws = Draws(cell, HISTORIES)
    failed = draws.uniform() < draws.chances(cell.rate)
    shape = (HISTORIES, cell.clusters)
    items = np.bincount(draws.cluster, minlength=draws.clusters).reshape(shape)
    counted = np.bincount(draws.cluster, failed, draws.clusters).reshape(shape)
    return items.astype(np.float64), counted.astype(np.float64)


def effective_n(con: duckdb.DuckDBPyConnection, n: Numbers, s: Numbers) -> Numbers:
    """Return the number of independent items, without neighbours."""
    sums = {
        "n": n.sum(axis=1),
        "s": s.sum(axis=1),
        "ss": (s * s).sum(axis=1),
        "sn": (s * n).sum(axis=1),
        "nn": (n * n).sum(axis=1),
    }
    con.register("sums", sums)
    found = con.execute(f"SELECT effective_n({n.shape[1]}, n, s, ss, sn, nn) AS effective FROM sums").fetchnumpy()
    return np.asarray(found["effective"], dtype=float)


def limits(
    con: duckdb.DuckDBPyConnection, s: Numbers, n: Numbers, effective: Numbers, truth: float
) -> tuple[float, float]:
    """Return the share of intervals that contain ``truth``, and their mean width."""
    con.register("shares", {"s": s, "n": n, "effective": effective})
    found = con.execute(
        "SELECT avg(CAST(low <= $1 + 1e-9 AND high >= $1 - 1e-9 AS INTEGER)), avg(high - low) FROM "
        "(SELECT cluster_low(s, n, effective) AS low, cluster_high(s, n, effective) AS high FROM shares) AS intervals",
        [truth],
    ).fetchall()
    return float(found[0][0]), float(found[0][1])


if __name__ == "__main__":
    main()
