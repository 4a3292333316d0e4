"""The tools by what failed beyond their baselines, and what failed calls cost."""

from __future__ import annotations

from datetime import timedelta

import pytest
from statsmodels.stats.proportion import proportion_confint

from tests.queries.answers import run
from tooltrace.store.database import hashes

from .conftest import START

NOW = START + timedelta(days=60)
WEEK, DAY, HOUR = (timedelta(days=7), timedelta(days=1), timedelta(hours=1))

STORY = """
INSERT INTO attempts BY NAME
WITH calls AS (
    SELECT tool, ms, began, concat(tool, began) AS id, (hash(tool, began) >> 11) / 9007199254740992.0 AS u,
        CASE WHEN tool = 'crm_lookup' AND began >= $changed_s THEN after ELSE usual END AS failing
    FROM (VALUES ('crm_lookup', 1.0, 1, 0.02, $broken), ('search_docs', 5000.0, 1, 0.03, 0.03), ('fetch', 20.0, 1, 0.02, 0.02),
        ('never', 1.0, 20, $never, $never)) AS tools(tool, ms, each, usual, after), range(0, 60 * 86400, 360) AS times(began)
    WHERE began % (each * 360) = 0
)
SELECT tool, id AS call_id, id AS conversation_id, 1 AS attempt, 't' AS trace_id, id AS span_id, ms AS duration_ms,
    'returned' AS ending, TIMESTAMP '2026-03-01 12:00:00' + to_seconds(began) AS started_at,
    CASE WHEN u < failing THEN 'error' ELSE 'success' END AS status
FROM calls
"""


def story(con, *, since, changed, broken=1.0, never=0.0):
    """Rows by tool, of 60 days of a call of each tool in six minutes (of ``never`` in two hours): crm_lookup failed at 2 %, and
    at ``broken`` in the time ``changed`` before now."""
    con.execute(STORY, {"changed_s": int((NOW - changed - START).total_seconds()), "broken": broken, "never": never})
    hashes.refresh(con)
    return {row["tool"]: row for row in answer(con, since=None if since is None else NOW - since)}


@pytest.mark.parametrize("since", [HOUR, DAY, WEEK, 4 * WEEK, None])
@pytest.mark.parametrize(
    "changed", [5 * DAY, *(pytest.param(other, marks=pytest.mark.simulations) for other in (2 * DAY, 20 * DAY))]
)
def test_a_broken_tool_is_first_in_every_time_range(engine, since, changed):
    """A tool that fails in 1 ms since a change, beside one that is slow and fails as often as always."""
    rows = story(engine(), since=since, changed=changed)
    assert next(iter(rows)) == "crm_lookup"
    assert rows["crm_lookup"]["hurt_share"] < 0.5 or since == HOUR, "time lost says something else"
    if since in (HOUR, DAY, WEEK):
        assert all(rows[tool]["excess_low"] <= 0 for tool in rows if tool != "crm_lookup"), "the others are as always"
        assert rows["search_docs"]["baseline_rate"] == pytest.approx(0.03, abs=0.01)
        assert rows["search_docs"]["baseline_calls"] == 7 * 240


@pytest.mark.parametrize("since", [DAY, WEEK, None])
def test_a_tool_that_fails_a_third_since_days_is_found_too(engine, since):
    rows = story(engine(), since=since, changed=3 * DAY, broken=0.3)
    assert next(iter(rows)) == "crm_lookup"


@pytest.mark.parametrize("since", [DAY, WEEK, None])
def test_a_tool_that_always_failed_is_not_as_usual(engine, since):
    """There is no baseline in a history of failures: 5 % is, and the tool stands before what fails as always."""
    rows = story(engine(), since=since, changed=timedelta(0), never=1.0)
    assert next(iter(rows)) == "never"
    never = rows["never"]
    assert (never["baseline_rate"], never["baseline_calls"]) == (pytest.approx(0.05), 0)
    assert never["excess_failures"] == pytest.approx(0.95 * never["calls"])


def test_where_all_is_as_always_the_time_lost_decides(engine):
    assert next(iter(story(engine(), since=WEEK, changed=timedelta(0)))) == "search_docs"


def test_a_short_history_is_drawn_to_five_percent(engine, make):
    def calls(n, failed, at):
        return [
            make(status="error" if i < failed else "success", started_at=at + timedelta(seconds=i)) for i in range(n)
        ]

    (row,) = answer(engine(*calls(20, 0, START), *calls(10, 5, NOW - DAY)), since=NOW - 70 * DAY)
    assert (row["baseline_rate"], row["baseline_calls"]) == (1 / 40, 20), (
        "no history before: the first half of the window"
    )
    (row,) = answer(engine(*calls(60, 6, NOW - 6 * DAY), *calls(10, 5, NOW - DAY)), since=NOW - 2 * DAY)
    assert (row["baseline_rate"], row["baseline_calls"]) == (7 / 80, 60)
    assert row["excess_failures"] == pytest.approx(5 - 10 * 7 / 80)
    (row,) = answer(engine(*calls(60, 6, NOW - 40 * DAY), *calls(10, 5, NOW - DAY)), since=NOW - 2 * DAY)
    assert (row["baseline_rate"], row["baseline_calls"]) == (0.05, 0), "older than 7 days"
    assert row["excess_low"] < row["excess_failures"] < row["excess_high"]


def test_retries_that_helped_are_not_in_the_baseline(engine, make):
    past = [
        make(
            call_id=f"c{call}",
            attempt=n,
            status=status,
            started_at=NOW - 3 * DAY + timedelta(seconds=call, milliseconds=n),
        )
        for call in range(60)
        for n, status in enumerate(("error", "error", "success" if call else "error"), 1)
    ]
    (row,) = answer(engine(*past, make(started_at=NOW)), since=NOW - DAY)
    assert (row["baseline_calls"], row["baseline_rate"]) == (60, 2 / 80)


def test_a_new_version_is_compared_with_its_tool(engine):
    con = engine()
    story(con, since=WEEK, changed=2 * DAY)
    con.execute("UPDATE attempts SET tool_version = CASE WHEN tool = 'crm_lookup' AND started_at >= $1 THEN '2.4.0' ELSE '2.3.0' END", [(NOW - 2 * DAY).replace(tzinfo=None)])  # fmt: skip
    first, *_ = answer(con, by="version", since=NOW - WEEK)
    assert (first["version"], first["baseline_calls"]) == ("2.4.0", 7 * 240)
    assert first["baseline_rate"] == pytest.approx(0.02, abs=0.01)


def answer(con, **given):
    relation = run(con, "ranking", **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def tries(make, tool, call, *statuses, ms=100.0):
    return [
        make(tool=tool, call_id=call, attempt=n, status=status, duration_ms=ms, started_at=START + timedelta(seconds=n))
        for n, status in enumerate(statuses, 1)
    ]


def test_all_attempts_of_a_failed_call_are_its_cost(engine, make):
    con = engine(
        *tries(make, "slow", "a", "error", "error", "error", ms=1000.0),
        *tries(make, "slow", "b", "error", "success", ms=1000.0),
        *tries(make, "often", "c", "error"),
        *tries(make, "often", "d", "error"),
        *tries(make, "good", "e", "success"),
    )
    often, slow, good = answer(con)
    assert (slow["tool"], often["tool"], good["tool"]) == ("slow", "often", "good")
    assert (slow["calls"], slow["failed_calls"], slow["attempts"]) == (2, 1, 5)
    assert (slow["cost_ms"], slow["hurt_ms"]) == (3000.0, 3000.0)
    assert (often["failed_calls"], often["cost_ms"], often["hurt_ms"]) == (2, 100.0, 200.0)
    assert (good["cost_ms"], good["hurt_ms"], good["last_failed_at"], good["rate"], good["low"]) == (
        None,
        0,
        None,
        0,
        0,
    )
    assert slow["hurt_share"] == pytest.approx(3000 / 3200)
    assert slow["last_failed_at"] == (START + timedelta(seconds=3)).replace(tzinfo=None)
    assert slow["too_few"] is True


def test_the_same_id_in_another_conversation_is_another_call(engine, make):
    con = engine(*(make(call_id="1", conversation_id=c, status="error") for c in ("a", "b")))
    assert [(row["calls"], row["failed_calls"]) for row in answer(con)] == [(2, 2)]


def test_unfinished_and_untimed_attempts(engine, make):
    con = engine(
        make(status=None, ending="cancelled"),
        *(make(status=None, ending="refused", tool=tool) for tool in ("search", "search", "never_run")),
        make(status="error", duration_ms=None),
        make(duration_ms=float("nan")),
    )
    (row,) = answer(con)
    assert (row["calls"], row["failed_calls"], row["hurt_ms"], row["p95"]) == (2, 1, None, None)
    assert row["refused"] == 2, "apart, and a tool that never ran has no row"


def test_groups_of_agents_share_the_hurt(engine, make):
    con = engine(*(make(agent=agent, status="error", duration_ms=10.0) for agent in ("a", "a", "b", None)))
    assert [(row["agent"], row["hurt_ms"], row["hurt_share"]) for row in answer(con, by="agent")] == [
        ("a", 20.0, 0.5), ("b", 10.0, 0.25), (None, 10.0, 0.25),
    ]  # fmt: skip


def test_an_approved_call_is_one_call_of_the_baseline(engine, make):
    """Each call waits for a person, and its second attempt fails in one of five calls, before and after."""
    calls = [
        attempt
        for number in range(200)
        for attempt in (
            make(call_id=f"c{number}", started_at=START + number * HOUR / 10, status=None, ending="paused"),
            make(
                call_id=f"c{number}",
                attempt=2,
                started_at=START + number * HOUR / 10 + HOUR / 60,
                status="error" if number % 5 == 0 else "success",
            ),
        )
    ]
    (row,) = answer(engine(*calls), since=START + 10 * HOUR)
    assert (row["baseline_calls"], row["baseline_rate"]) == (100, pytest.approx(21 / 120))
    assert row["excess_low"] < 0 < row["excess_high"]


def test_a_tool_has_the_same_figures_alone_and_beside_another(engine, make):
    """The other tool is called later: the middle of all attempts is not that of the first tool's."""
    calls = [
        make(tool=tool, call_id=f"{tool}{number}", started_at=START + (first + number) * HOUR, status=status)
        for tool, first in (("one", 0), ("two", 80))
        for number in range(100)
        for status in ["error" if number > 60 else "success"]
    ]
    store = engine(*calls)
    beside = {row["tool"]: row for row in answer(store)}
    for tool, row in beside.items():
        (alone,) = answer(store, tool=tool)
        assert row.pop("hurt_share") < alone.pop("hurt_share") == 1
        assert alone.keys() == row.keys()
        for name, value in row.items():
            assert alone[name] == (pytest.approx(value) if isinstance(value, float) else value), name
    assert [row["changed_at"] for row in beside.values()] == [
        (START + (first + 61) * HOUR).replace(tzinfo=None) for first in (0, 80)
    ]


def test_calls_of_a_conversation_are_one_draw(engine, make):
    """Two of ten conversations fail as a whole: the interval is that of conversations, in the window and in the baseline."""
    calls = [
        make(call_id=f"c{talk}.{number}", conversation_id=f"s{talk}", started_at=START + talk * HOUR, status=status)
        for talk in range(20)
        for status in ["error" if talk % 5 == 0 else "success"]
        for number in range(10)
    ]
    (row,) = answer(engine(*calls), since=START + 10 * HOUR)
    assert (row["calls"], row["failed_calls"], row["clusters"], row["too_few"]) == (100, 20, 10, False)
    assert row["design_effect"] == pytest.approx(10)
    assert (row["low"], row["high"]) == pytest.approx(proportion_confint(2, 10, method="wilson"), abs=1e-9)
