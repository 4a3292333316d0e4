"""The gate of a comparison: equal histories pass, the chosen measures alone can fail, small slowdowns pass."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from click.testing import CliRunner

from tests.queries.answers import run as run_query
from tests.queries.conftest import START, empty_store, engine, instances  # noqa: F401 - fixtures
from tooltrace.analysis import find
from tooltrace.cli import cli
from tooltrace.report.gate import LATENCY, MEASURES, RegressionGate
from tooltrace.store.database import hashes
from tooltrace.store.result import QueryResult

MIDDLE = START + timedelta(days=1)
HISTORIES = 30
EQUAL_HISTORIES = f"""
INSERT INTO attempts BY NAME
WITH runs AS (
    -- the machine is up to 6 % slower in one run than in another, and each run has its own microseconds
    SELECT history, side, 1 + 0.06 * ((hash(history, side, 3) >> 11) / 9007199254740992.0) AS pace
    FROM range({HISTORIES}) AS a(history), range(2) AS b(side)
),
talks AS (
    SELECT *, 1 / (1 + exp(1.5 - 2 * ((hash(history, side, talk, 1) >> 11) / 9007199254740992.0))) AS failing
    FROM runs, range(40) AS c(talk)
)
SELECT 'tool_' || history AS tool, concat_ws('/', history, side, talk, i) AS call_id,
    concat_ws('/', history, side, talk) AS conversation_id, 1 AS attempt, 't' AS trace_id,
    concat_ws('/', history, side, talk, i) AS span_id, 'returned' AS ending,
    pace * (CASE WHEN history % 2 = 0 THEN 0.05 ELSE 80 END)
        * (1 + 0.02 * ((hash(history, side, talk, i, 5) >> 11) / 9007199254740992.0)) AS duration_ms,
    TIMESTAMP '2026-03-01 12:00:00' + to_days(CAST(side AS INTEGER)) AS started_at,
    CASE WHEN (hash(history, side, talk, i, 17) >> 11) / 9007199254740992.0 < failing THEN 'error' ELSE 'success' END AS status
FROM talks, range(5) AS d(i)
"""


def compared(*rows: tuple[str, str, float, float]) -> QueryResult:
    """A result of ``compare``: measure, verdict, and the values of both sides."""
    values = [
        ("search", measure, "ms" if measure in LATENCY else "share", before, after, after - before, verdict)
        for measure, verdict, before, after in rows
    ]
    names = ("tool", "measure", "unit", "before", "after", "difference", "verdict")
    statement = replace(find("compare").statement(None, before="version:1", after="version:2"), conclude=None)
    return QueryResult.of_rows([(name, "VARCHAR") for name in names], values, statement)


def failing(gate: RegressionGate, *rows: tuple[str, str, float, float]) -> list[str]:
    return [row["measure"] for row in gate.regressions(compared(*rows))]


@pytest.mark.simulations
def test_equal_histories_seldom_fail(engine: Any) -> None:  # noqa: F811
    """Two runs of one program differ by the load of the machine: a verdict on latency is true, and no reason to fail."""
    con = engine()
    con.execute(EQUAL_HISTORIES)
    hashes.refresh(con)
    gate, verdicts, failures = RegressionGate(level="worse"), 0, 0
    for history in range(HISTORIES):
        result = run_query(
            con, "compare", before=f"..{MIDDLE.isoformat()}", after=f"{MIDDLE.isoformat()}..", tool=f"tool_{history}"
        )
        verdicts += bool(gate.regressions(result) or gate.tolerated(result))
        failures += bool(gate.regressions(result))
        assert gate.has_compared(result)
    assert verdicts >= HISTORIES // 4, "without a least change these histories fail"
    assert failures <= 0.05 * HISTORIES


@pytest.mark.parametrize(
    ("before", "after", "fails"),
    [
        (0.020, 0.045, False),  # more than twice as long, and microseconds
        (5.0, 5.9, False),  # 18 %, but less than 1 ms
        (200.0, 215.0, False),  # 15 ms, but less than 10 %
        (200.0, 221.0, True),
        (5.0, 6.1, True),
    ],
)
def test_a_slowdown_fails_beyond_both_limits(before: float, after: float, *, fails: bool) -> None:
    gate = RegressionGate(level="worse")
    assert bool(failing(gate, ("p50", "worse", before, after))) is fails
    assert bool(gate.tolerated(compared(("p50", "worse", before, after)))) is not fails
    assert failing(
        RegressionGate(level="worse", min_slowdown_ms=0, min_slowdown_percent=0), ("p50", "worse", before, after)
    )


def test_only_the_chosen_measures_fail_and_count_as_compared() -> None:
    gate = RegressionGate(level="worse", measures=frozenset({"accuracy"}))
    rows = (("failure_rate", "worse", 0.1, 0.5), ("accuracy", "too_few", 0.9, 0.8))
    assert failing(gate, *rows) == []
    assert not gate.has_compared(compared(*rows))
    assert failing(RegressionGate(level="worse"), *rows) == ["failure_rate"]


def test_maybe_worse_fails_at_the_level_maybe_alone() -> None:
    row = ("failure_rate", "maybe_worse", 0.1, 0.2)
    assert failing(RegressionGate(level="worse"), row) == []
    assert failing(RegressionGate(level="maybe"), row) == ["failure_rate"]


def test_the_measures_are_those_of_the_query(report: Any, past: Any) -> None:
    done = report(past, "--compare", "7d", "--format", "json")
    (answer,) = json.loads(done.stdout)["answers"]
    names = [column["name"] for column in answer["columns"]]
    assert {row[names.index("measure")] for row in answer["rows"]} == set(MEASURES) - {"cut_off_share"}, (
        "where attempts were cut off, that too"
    )


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (("--fail-on", "worse"), 3, "fails: fetch: failure_rate"),
        (("--fail-on", "worse", "--measures", "p50"), 0, ""),
        (("--fail-on", "worse", "--measures", "p50, accuracy"), 0, ""),
        (("--fail-on", "worse", "--measures", "failure_rat"), 2, "did you mean"),
        (("--fail-on", "worse", "--measures", ","), 2, "--measures needs a name"),
        (("--measures", "p50"), 2, "--measures needs --fail-on"),
        (("--min-slowdown-ms", "2"), 2, "--min-slowdown-ms needs --fail-on"),
    ],
)
def test_report_and_compare_have_the_same_gate(
    report: Any, past: Any, options: tuple[str, ...], code: int, text: str
) -> None:
    for done in (
        report(past, "--compare", "7d", "--format", "json", *options),
        CliRunner().invoke(cli, ["compare", "7d", "--store", str(past), "--format", "json", *options]),
    ):
        assert (done.exit_code, text in done.stderr) == (code, True), done.stderr
