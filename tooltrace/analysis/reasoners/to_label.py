"""Calls to label next: the order of the candidates by what their labels teach, and the probability of each to be in the list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final

from tooltrace.store.result import Gathered

_BANDS: Final = {1: "low", 2: "middle", 3: "high", 4: "none", 5: "unread"}
_NONE, _UNREAD = 4, 5
_EVERY: Final = 5
"""Each row of this number is an unread result."""

Row = dict[str, Any]


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the calls to label next, at most ``limit``."""
    strata: dict[tuple[str, int], list[Row]] = {}
    for row in sorted(gathered.rows(), key=lambda row: (row["draw"], row["span_id"])):
        strata.setdefault((row["tool"], row["stratum"]), []).append(row)
    rows = [{**row, "gain": _gain(row, before)} for drawn in strata.values() for before, row in enumerate(drawn)]
    # of equal gain, those of a stratum stay in the order of their draw
    rows.sort(key=lambda row: (-row["gain"], row["tool"], row["stratum"]))
    taught = [row for row in rows if row["stratum"] not in (_NONE, _UNREAD)]
    others = [row for row in rows if row["stratum"] == _NONE] if parameters["without_confidence"] == "yes" else []
    listed = _interleaved(chain(taught, others), [row for row in rows if row["stratum"] == _UNREAD])
    chosen = list(islice(listed, parameters["limit"]))
    drawn_of = Counter((row["tool"], row["stratum"]) for row in chosen)
    for row in chosen:
        yield row | {
            "band": _BANDS[row["stratum"]],
            "calls": row["stratum_calls"],
            "labelled": row["stratum_labelled"],
            "probability": drawn_of[row["tool"], row["stratum"]] / (row["stratum_calls"] - row["stratum_labelled"]),
        }


def _gain(row: Mapping[str, Any], before: int) -> float:
    """Return by how much a label reduces the variance of the tool's accuracy, after ``before`` others of its stratum."""
    share = row["stratum_calls"] / row["tool_calls"]
    p = (row["stratum_right"] + 1) / (row["stratum_labelled"] + 2)
    n = row["stratum_labelled"] + before
    return float(share * share * p * (1 - p) / ((n + 2) * (n + 3)))


def _interleaved(rows: Iterable[Row], unread: Iterable[Row]) -> Iterator[Row]:
    """Yield ``rows`` with one of ``unread`` behind each four of them; where one kind ends, the rest of the other."""
    read, unseen = iter(rows), iter(unread)
    while group := list(islice(read, _EVERY - 1)):
        yield from group
        yield from islice(unseen, 1)
    yield from unseen
