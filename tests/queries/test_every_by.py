"""Every query groups by each dimension of its heading, and the rows of the groups agree with the one of the whole."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import duckdb
import pytest

from benchmarks.history import make_history
from tests.queries.answers import run
from tooltrace.analysis import catalogue, find
from tooltrace.analysis.dimensions import DIMENSIONS
from tooltrace.store.read.reader import open_reader

EVERY = [*DIMENSIONS, "attributes.region"]
ALONE = pytest.param(EVERY, marks=pytest.mark.simulations, id="alone")
TOGETHER = pytest.param([EVERY[first::2] for first in range(2)], id="together")
"""All dimensions, half of them in one query: a query costs its planning, whatever the number of its groups."""
WITHOUT_ROWS = {"refusals", "commands", "model_turns"}
"""Queries that find nothing in this history: no call was refused, none ran a command of a shell, and there are no model calls."""
OF_PAGES = {"timeline", "ranking", "compare"}
"""Made for one page, and grouped as it needs: rows that are stretches of time, costs of whole calls, one version and another."""
GROUPED = [name for name, query in catalogue().items() if query.header.by]
SAMPLE = {"failure_rate", "retries", "errors"}
ANALYSES = [name for name in GROUPED if name not in OF_PAGES]


def chosen(names: Iterable[str]) -> list[Any]:
    """Return the parameters: `make test` runs three queries that count in different ways, and the simulations all."""
    return [pytest.param(each, marks=[] if each in SAMPLE else [pytest.mark.simulations]) for each in names]


def allowed(name: str, by: list[str]) -> list[str]:
    """Return the dimensions of ``by`` that the query accepts: most accept all, those about conversations a few."""
    return [each for each in by if each.split(".")[0] in find(name).header.by]


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """4,000 attempts of 30 days, in a real store."""
    store = tmp_path_factory.mktemp("history") / "history.duckdb"
    make_history(store, 4_000)
    with open_reader(store) as con:
        con.execute("SET TimeZone='UTC'")
        con.execute("SET threads=1")  # so few rows that more threads would only wait for each other
        yield con


@pytest.fixture(scope="module")
def answers():
    """The answers so far: several tests look at the same one."""
    return {}


@pytest.fixture
def answer(con, answers):
    def answer(name, by, **params):
        if name == "incidents":  # short runs too: chance explains every run of this history
            params = {"chance": 1e9, **params}
        known = (name, *([by] if isinstance(by, str) else by), *params.items())
        if known not in answers:
            relation = run(con, name, by=by, **params)
            assert tuple(relation.columns) == find(name).columns(by)
            answers[known] = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
        return answers[known]

    return answer


@pytest.mark.parametrize("groupings", [TOGETHER, ALONE])
@pytest.mark.parametrize("name", chosen(ANALYSES))
def test_every_query_supports_every_dimension(answer, name, groupings):
    for grouping in [*groupings, ["tool", "code", "day"]]:
        by = allowed(name, [grouping] if isinstance(grouping, str) else grouping)
        groups = find(name).groups(by)
        rows = answer(name, by)
        assert rows or name in WITHOUT_ROWS, by
        assert all(tuple(row)[: len(groups)] == groups for row in rows)


# what is counted for each attempt or call once, whatever the groups: the sums of the groups are those of the whole
PARTS = {
    "failure_rate": ["attempts", "failures", "calls", "failed_calls", "cached", "cancelled", "paused", "unreported", "unread", "heuristic"],
    "latency": ["n", "left_out", "untimed"],
    "retries": ["calls", "attempts", "retried", "recovered", "gave_up", "wasted_ms", "gaps", "backoff_violations"],
    "calibration": ["n"],
    "confidence_bands": ["n", "attempts"],
    "breaker": ["attempts", "failures", "trips", "would_block", "prevented", "blocked_good", "time_open_ms", "saved_ms", "left_out"],
    "burn_rate": ["failures", "short_failures", "left_out", "burn_long", "burn_short"],
    "next_action": ["n", "observed", "followed"],
    "gates": ["n", "approved", "declined", "expired", "waiting", "resumed", "failures"],
    "errors": ["n", "share", "unsaid"],
    "retry_storms": ["attempts", "failures", "retries"],
    "incidents": ["failures", "attempts", "lasted_ms"],
    "signals": ["n_with"],
    "sources": ["n", "labelled"],
    "audit": ["n"],
}  # fmt: skip
CUT = ["code", "status", "day", "hour"]
PARTING = {"breaker", "burn_rate", "incidents"}
"""Queries whose results depend on how histories are split: they add up only over the dimensions in ``CUT``."""


@pytest.mark.parametrize("groupings", [TOGETHER, ALONE])
@pytest.mark.parametrize("name", chosen(PARTS))
def test_groups_add_up_to_the_total(answer, name, groupings):
    for grouping in CUT if name in PARTING else groupings:
        by = allowed(name, [grouping] if isinstance(grouping, str) else grouping)
        if not by:
            continue
        reference, parts = (answer(name, one) for one in ([], by))
        for column in PARTS[name]:
            assert _sum(parts, column) == pytest.approx(_sum(reference, column), rel=1e-9), (by, column)
    two = [row[PARTS[name][0]] for row in answer(name, ["tool", "code"])]
    assert sum(two) == pytest.approx(_sum(answer(name, ["tool"]), PARTS[name][0]))


def _sum(rows, column):
    return sum(row[column] or 0 for row in rows)


@pytest.mark.parametrize("by", CUT)
def test_incidents_of_the_groups_equal_those_of_the_total(answer, by):
    def known(rows):
        return Counter((row["tool"], row["started"], row["ended"], row["failures"], row["attempts"]) for row in rows)

    reference = known(answer("incidents", ["tool"]))
    assert len(reference) > 10
    assert known(answer("incidents", ["tool", by])) == reference


def test_errors_by_code_are_the_errors(answer):
    expected, by_code = (answer("errors", by) for by in (["tool"], ["tool", "code"]))
    assert find("errors").groups(["tool", "code"]) == ("tool", "code")
    assert expected == by_code
    assert list(by_code[0])[:2] == ["tool", "code"]


def test_laundering_by_code_counts_the_errors_of_that_code(answer):
    expected = answer("laundering", "tool", limit=10**6)
    for row in answer("laundering", "code", limit=10**6):
        assert row["n"] == sum(other["code"] == row["code"] for other in expected)
    assert expected


def test_drift_by_code_counts_every_attempt_for_each_code(answer):
    reference = {row["statistic"]: row for row in answer("drift", [])}
    rows = [row for row in answer("drift", "code") if row["statistic"] == "failure_rate"]
    assert {row["n"] for row in rows} == {reference["failure_rate"]["n"]}
    assert sum(row["overall"] for row in rows) == pytest.approx(reference["failure_rate"]["overall"])
    latency = [row["n"] for row in answer("drift", "code") if row["statistic"] == "latency"]
    assert sum(latency) == reference["latency"]["n"]


@pytest.mark.parametrize("name", chosen(ANALYSES))
def test_every_interval_contains_its_figure(answer, name):
    ends = [(column.end_of, column.name) for column in find(name).header.columns if column.end_of]
    units = {column.name: column.unit for column in find(name).header.columns}
    for by in ("tool", "day"):
        for row in answer(name, allowed(name, [by])):
            for (end, of), column in ends:
                if row[of] is None or row[column] is None:
                    continue
                assert math.isfinite(row[column])
                low, high = (row[column], row[of]) if end == "low" else (row[of], row[column])
                assert low <= high + 1e-9, (column, row)
                if units[of] == "share" and not column.startswith(("gap_", "low", "high")):
                    assert 0 <= row[column] <= 1


@pytest.mark.parametrize("name", chosen(ANALYSES))
def test_every_share_has_an_interval_or_a_documented_reason(name):
    columns = find(name).header.columns
    with_ends = Counter(column.end_of[1] for column in columns if column.end_of)
    for column in columns:
        if column.unit == "share" and column.name.endswith(("_share", "_rate", "coverage", "accuracy")):
            assert with_ends[column.name] == 2 or "without interval" in column.meaning, column.name
