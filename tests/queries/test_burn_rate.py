"""How fast the error budget goes, and when that is worth an alert."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.queries.answers import run

NOW = datetime(2026, 3, 4, 12)
PAIRS = ["1 h and 5 min", "6 h and 30 min", "3 d and 6 h"]


def answer(con, **params):
    relation = run(con, "burn_rate", **{"until": NOW, **params})
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


@pytest.fixture
def before(make):
    """Return a function that makes ``attempts`` attempts, the first ``failures`` of them failed, that began ``ago`` seconds before now."""

    def before(ago, attempts, failures, **fields):
        return [
            make(started_at=NOW - timedelta(seconds=ago), status="error" if i < failures else "success", **fields)
            for i in range(attempts)
        ]

    return before


def test_a_case_to_follow_by_hand(engine, before):
    # in 5 min 10 attempts, 5 failed: burns at 50; in 1 h 100, 20 failed: at 20; in 6 h 400, 20 failed: at 5
    con = engine(*before(60, 10, 5), *before(1800 + 1, 90, 15), *before(4 * 3600, 300, 0))
    fast, medium, slow = answer(con)
    assert [row["windows"] for row in (fast, medium, slow)] == PAIRS
    assert [row["factor"] for row in (fast, medium, slow)] == [14.4, 6.0, 1.0]
    assert [row["burn_long"] for row in (fast, medium, slow)] == pytest.approx([20, 5, 5])
    assert [row["burn_short"] for row in (fast, medium, slow)] == pytest.approx([50, 50, 5])
    assert [row["burn"] for row in (fast, medium, slow)] == pytest.approx([20, 5, 5])
    assert [row["alerting"] for row in (fast, medium, slow)] == [True, False, True]
    assert (fast["attempts"], fast["failures"], fast["short_attempts"], fast["short_failures"]) == (100, 20, 10, 5)
    # Wilson: 20 of 100 is 0.1334 to 0.2888
    assert (fast["burn_low"], fast["burn_high"]) == pytest.approx((13.3367, 28.8829), abs=1e-3)


def test_both_windows_must_burn(engine, before):
    over = engine(*before(1800, 100, 50), *before(10, 10, 0))
    recent = engine(*before(1800, 200, 0), *before(10, 10, 10))
    assert answer(over)[0]["alerting"] is False
    assert answer(over)[0]["burn"] == 0
    assert answer(recent)[0]["alerting"] is False
    assert answer(recent)[0]["burn"] == pytest.approx(1000 / 210)


def test_the_factor_itself_is_not_above_the_factor(engine, before):
    assert [row["alerting"] for row in answer(engine(*before(10, 125, 18)))] == [False, True, True]
    assert [row["alerting"] for row in answer(engine(*before(10, 125, 19)))] == [True, True, True]


def test_few_failures_do_not_alert(engine, before):
    con = engine(*before(10, 4, 4))
    assert [row["alerting"] for row in answer(con)] == [False] * 3
    assert [row["alerting"] for row in answer(con, min_failures=4)] == [True] * 3
    assert all(row["too_few"] for row in answer(con))
    assert not any(row["too_few"] for row in answer(con, min_n=4))


def test_a_tool_that_was_not_called_burns_nothing_and_does_not_alert(engine, before):
    rows = answer(engine(*before(30 * 86400, 50, 50, tool="old"), *before(10, 50, 50)))
    assert [row["tool"] for row in rows] == ["search"] * 3 + ["old"] * 3  # what alerts is first
    for row in rows[3:]:
        assert (row["attempts"], row["burn"], row["burn_long"], row["burn_low"], row["burn_short"]) == (0, *[None] * 4)
        assert (row["alerting"], row["quiet"]) == (False, True)


def test_an_empty_short_window_has_no_burn_rate(engine, before):
    fast, medium, _ = answer(engine(*before(600, 50, 50)))
    assert (fast["burn_long"], fast["burn_short"], fast["burn"], fast["quiet"]) == (
        pytest.approx(100),
        None,
        None,
        True,
    )
    assert (fast["alerting"], medium["alerting"], medium["quiet"]) == (False, True, False)


def test_unfinished_attempts_are_counted_separately(engine, before):
    con = engine(*before(10, 5, 5), *before(10, 7, 7, ending="cancelled"), *before(10, 2, 0, ending="declined"))
    assert (answer(con)[0]["attempts"], answer(con)[0]["left_out"]) == (5, 9)


def test_a_window_reaches_back_from_its_end(engine, before):
    con = engine(*before(0, 3, 3), *before(300, 5, 5), *before(301, 7, 7), *before(3600, 11, 11), *before(3601, 13, 13))
    fast = answer(con)[0]
    assert (fast["short_attempts"], fast["attempts"]) == (5, 5 + 7 + 11)


@pytest.mark.parametrize(
    ("objective", "stated", "burn"),
    [(0.9, 0.9, 2.0), (99, 0.99, 20.0), ("99.9", 0.999, 200.0)],
)
def test_the_objective_is_a_share_or_a_percentage(engine, before, objective, stated, burn):
    row = answer(engine(*before(10, 100, 20)), objective=objective)[0]
    assert row["objective"] == pytest.approx(stated)
    assert row["burn"] == (None if burn is None else pytest.approx(burn))
    assert row["alerting"] is (burn is not None and burn > 14.4)


def test_without_until_the_windows_end_now(engine, make):
    con = engine(*(make(started_at=datetime.now(UTC), status="error") for _ in range(20)))
    assert [row["alerting"] for row in answer(con, until=None)] == [True] * 3
    assert answer(con) == []  # not yet called then


def test_groups(engine, before):
    con = engine(*before(10, 20, 10, tool_version="1"), *before(10, 20, 0, tool_version="2"))
    rows = answer(con, by=["tool", "version"])
    assert [(row["version"], row["alerting"]) for row in rows] == [("1", True)] * 3 + [("2", False)] * 3
    assert [row["attempts"] for row in answer(con, by=[])] == [40] * 3


def test_burn_rates_by_code_and_hour_add_up(engine, before):
    """Six timeouts and four denied attempts of 100 burn a budget of 1 % at the rates 6 and 4."""
    con = engine(
        *before(60, 6, 6, code="TIMEOUT"), *before(1000, 4, 4, code="AUTH"), *before(1000, 80, 0), *before(3000, 10, 0)
    )
    (longest,) = (row for row in answer(con) if row["windows"] == PAIRS[0])
    assert (longest["attempts"], longest["burn_long"]) == (100, pytest.approx(10))
    by_code = {row["code"]: row for row in answer(con, by=["tool", "code"]) if row["windows"] == PAIRS[0]}
    assert {code: row["burn_long"] for code, row in by_code.items()} == pytest.approx(
        {"TIMEOUT": 6, "AUTH": 4, None: 0}
    )
    assert {(row["attempts"], row["short_attempts"]) for row in by_code.values()} == {(100, 6)}
    assert by_code["TIMEOUT"]["burn_short"] == pytest.approx(100)
    assert by_code["AUTH"]["burn_short"] == 0
    by_hour = {row["hour"].hour: row["burn_long"] for row in answer(con, by="hour") if row["windows"] == PAIRS[0]}
    assert by_hour == pytest.approx({11: 10})
    slow = {row["code"]: row["alerting"] for row in answer(con, by="code") if row["windows"] == PAIRS[2]}
    assert slow == {"TIMEOUT": True, "AUTH": False, None: False}  # four failures are too few to tell
