"""Precision and recall on results that the rules were not written for; README.md says how they were collected.

``pytest tests/normalize/unseen -s`` prints the figures, and the open halves' misses.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tooltrace as tt

FILES = ("results", "published", "later", "mixed")


class Reading(NamedTuple):
    row: dict[str, Any]
    status: str
    rule: str | None

    @property
    def held_out(self) -> bool:
        return sha256(self.row["id"].encode()).digest()[0] >= 128

    @property
    def failed(self) -> bool:
        return self.row["label"] != "success"

    @property
    def found(self) -> bool:
        return self.status != "success"


@cache
def readings(file: str) -> tuple[Reading, ...]:
    text = Path(__file__).with_name(f"{file}.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    responses = [(row, tt.normalize(row["value"])) for row in rows if not row.get("doubtful")]
    return tuple(Reading(row, response.status, response.meta.rule) for row, response in responses)


def figures(part: list[Reading]) -> tuple[float, float]:
    """Return precision and recall of ``part``; a partial result counts as a failure."""
    right = sum(each.found and each.failed for each in part)
    return right / sum(each.found for each in part), right / sum(each.failed for each in part)


def print_figures(label: str, part: list[Reading]) -> tuple[float, float]:
    """Print the figures of ``part``; return precision and recall."""
    precision, recall = figures(part)
    failures = sum(each.failed for each in part)
    print(f"\n{label}: {len(part)} results, {failures} failures, precision {precision:.1%}, recall {recall:.1%}")
    return precision, recall


@pytest.mark.parametrize("file", FILES)
def test_precision_and_recall_are_above_their_floors(file: str) -> None:
    halves = {
        "open": [each for each in readings(file) if not each.held_out],
        "held out": [each for each in readings(file) if each.held_out],
    }
    for name, part in halves.items():
        print_figures(f"{file}, {name}", part)
    for each in halves["open"]:
        if each.found != each.failed:
            print(each.row["label"], each.rule, each.row["source"], json.dumps(each.row["value"], ensure_ascii=False))
    precision, recall = figures(halves["open"] + halves["held out"])
    assert precision >= 0.98
    assert recall >= 0.88


def test_precision_and_recall_of_results_that_no_author_of_the_rules_has_read() -> None:
    """``blind.jsonl`` is only measured. To read its results would end its use."""
    precision, recall = print_figures("blind", list(readings("blind")))
    assert precision >= 0.98
    assert recall >= 0.82
