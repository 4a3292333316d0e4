"""A change is found where it is, and none where there is none: by hand, against the formula, and by simulation."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import numpy as np
import pytest
from scipy.special import betaln, logsumexp
from statsmodels.stats.proportion import proportion_confint

from tests.queries.answers import run
from tooltrace.errors import BadParameter
from tooltrace.store.database import hashes

START = datetime(2026, 3, 1)


def answer(con, **given):
    relation = run(con, "drift", **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def one(con, statistic, **given):
    (row,) = [row for row in answer(con, **given) if row["statistic"] == statistic]
    return row


def place(moment):
    """Which attempt began then, from 0; attempts begin a minute apart."""
    return None if moment is None else round((moment - START) / timedelta(minutes=1))


@pytest.fixture
def history(engine):
    """A store with these histories: conversation by conversation, whether each attempt failed, or how long it took, or whether it was right."""

    def history(failed=None, took=None, right=None):
        con = engine()
        sizes = [len(row) for row in next(rows for rows in (failed, took, right) if rows is not None)]
        con.register("given", {
            "c": np.repeat(np.arange(len(sizes)), sizes), "i": np.concatenate([np.arange(size) for size in sizes]),
            "failed": _column(failed, sizes), "took": _column(took, sizes), "known": _column(right, sizes),
        })  # fmt: skip
        con.execute(
            f"""
            INSERT INTO attempts (tool, call_id, attempt, trace_id, span_id, conversation_id, started_at, duration_ms, status, ending)
            SELECT 'search', c || '-' || i, 1, 'x', printf('%08x%08x', c, i), printf('%05d', c),
                TIMESTAMP '{START}' + to_minutes(i), nullif(took, 'nan'), CASE WHEN failed = 1 THEN 'error' ELSE 'success' END,
                'returned'
            FROM given
            """
        )
        hashes.refresh(con)
        con.execute(
            """
            INSERT INTO outcomes (call_id, span_id, correct, labeler, labeled_at)
            SELECT c || '-' || i, printf('%08x%08x', c, i), known = 1, 'human', TIMESTAMP '2026-06-01' FROM given
            WHERE known IN (0, 1)
            """
        )
        return con

    return history


def _column(rows, sizes):
    """The values of all histories in one column; NaN where nothing is known."""
    return np.full(sum(sizes), np.nan) if rows is None else np.concatenate([np.asarray(row, float) for row in rows])


def test_a_case_to_follow_by_hand(history):
    con = history(failed=[[0] * 20 + [1] * 20])
    row = one(con, "failure_rate", reference=10)
    assert (place(row["change_point"]), row["before"], row["after"], row["worse"]) == (20, 0.0, 1.0, True)
    assert (row["n"], row["n_before"], row["n_after"], row["overall"], row["unseen_share"]) == (40, 20, 20, 0.5, 0.0)
    # 0 of 10: at most 0.213 (90 %); each failure adds ln 3 - ln(1 + 2 * 0.213) = 0.74; ln(5 * 30) = 5.01 is passed by the seventh
    assert place(row["alarm_at"]) == 26
    assert (row["before_low"], row["before_high"]) == pytest.approx((0, 0.161125), abs=5e-7)
    assert (row["after_low"], row["after_high"]) == pytest.approx((0.838875, 1), abs=5e-7)


def changed(y, within=40, effect=1.0):
    """Logarithm of the Bayes factor for a change with Jeffreys' priors, and the place that is named."""
    at = np.arange(1, len(y))
    y, places = y / effect, len(y)
    n, s, t = places / effect, y.cumsum()[:-1], at / effect
    one = betaln(y.sum() + 0.5, n - y.sum() + 0.5) - betaln(0.5, 0.5)
    here = betaln(s + 0.5, t - s + 0.5) + betaln(y.sum() - s + 0.5, n - t - y.sum() + s + 0.5) - 2 * betaln(0.5, 0.5)
    chance = np.exp(here - logsumexp(here))
    around = np.array([chance[abs(at - x) <= within].sum() for x in at])
    middle = at[(chance.cumsum() >= 0.5).argmax()]
    good = at[around >= around.max() - 0.02]
    return logsumexp(here) - math.log(places - 1) - one, good[abs(good - middle).argmin()]


def test_an_improvement_is_a_change_without_an_alarm(history):
    row = one(history(failed=[[1] * 30 + [0] * 30]), "failure_rate", reference=20)
    assert (place(row["change_point"]), row["worse"], row["alarm_at"]) == (30, False, None)


def test_the_bayes_factor_is_the_formulas(history):
    cases = [(rate, n) for rate in (0.0, 0.02, 0.3, 0.5, 1.0) for n in (2, 3, 19, 150)]
    histories = [(np.random.default_rng(n).random(n) < rate).astype(int) for rate, n in cases]
    con = history(failed=histories)
    rows = [row for row in answer(con, by="conversation", evidence=1) if row["statistic"] == "failure_rate"]
    found = {int(row["conversation"]): row for row in rows}
    for number, (y, (rate, n)) in enumerate(zip(histories, cases, strict=True)):
        row, (expected, at) = found[number], changed(y)
        assert row["log_bayes_factor"] == pytest.approx(expected, abs=1e-9), (rate, n)
        overall = (row["overall_low"], row["overall_high"])
        assert overall == pytest.approx(proportion_confint(y.sum(), n, method="wilson"), abs=1e-9), (rate, n)
        if expected < math.log(max(1, math.sqrt(300 / n))):
            unknown = (row["change_point"], row["before"], row["after_low"], row["n_after"], row["worse"])
            assert unknown == (None,) * 5, (rate, n)
        else:
            assert place(row["change_point"]) == at, (rate, n)
            assert (row["before"], row["after"]) == pytest.approx((y[:at].mean(), y[at:].mean())), (rate, n)
            assert (row["after_low"], row["after_high"]) == pytest.approx(
                proportion_confint(y[at:].sum(), n - at, method="wilson"), abs=1e-9
            ), (rate, n)


def cusum(bad, reference=100, odds=3, effect=1.0):
    """The alarm stepped through one attempt at a time: its place, or None. ``effect``: the design effect."""
    n = len(bad)
    r = min(reference, n // 2)
    if r == 0:
        return None
    expected = proportion_confint(bad[:r].sum() / effect, r / effect, alpha=0.1, method="wilson")[1]
    worse = odds * expected / (1 - expected + odds * expected)
    level = 0.0
    for i in range(r, n):
        step = math.log(worse / expected) if bad[i] else math.log((1 - worse) / (1 - expected)) if expected < 1 else 0.0
        level = max(0.0, level + step)
        if level > effect * math.log(5 * (n - r)):
            return i
    return None


@pytest.mark.parametrize("seed", range(6))
def test_the_alarm_is_the_cusums(history, seed):
    rng = np.random.default_rng(seed)
    rows = [(rng.random(rng.integers(2, 300)) < rng.choice([0.02, 0.2, 0.6])).astype(int) for _ in range(25)]
    rows = [np.where(np.arange(len(y)) > len(y) * rng.random(), y | (rng.random(len(y)) < 0.5), y) for y in rows]
    rows += [np.ones(80, int), np.zeros(80, int)]
    given = {"reference": int(rng.integers(5, 120)), "odds": int(rng.integers(2, 6))}
    found = [
        row for row in answer(history(failed=rows), by="conversation", **given) if row["statistic"] == "failure_rate"
    ]
    by = {int(row["conversation"]): row for row in found}
    expected = [cusum(y, **given, effect=by[number]["design_effect"]) for number, y in enumerate(rows)]
    assert [place(by[number]["alarm_at"]) for number in range(len(rows))] == expected


def test_the_latency_alarm_counts_calls_above_the_references_p90(history):
    rng = np.random.default_rng(9)
    rows = [np.round(np.exp(rng.normal(3, 1, n)) * np.where(np.arange(n) < n * 0.6, 1, 4)) for n in range(2, 300, 7)]
    found = [
        row for row in answer(history(took=rows), by="conversation", reference=60) if row["statistic"] == "latency"
    ]
    by = {int(row["conversation"]): row for row in found}
    slow = [took > np.quantile(took[: min(60, len(took) // 2)], 0.9) for took in rows]
    expected = [cusum(bad, 60, effect=by[number]["design_effect"]) for number, bad in enumerate(slow)]
    assert [place(by[number]["alarm_at"]) for number in range(len(rows))] == expected
    assert sum(place is not None for place in expected) > 10


def of_each(con, statistic):
    """The rows of one statistic, a row for each history."""
    return [row for row in answer(con, by="conversation") if row["statistic"] == statistic]


def shares(found, change=None):
    """Shares of histories: with a change, with a change within 40 attempts, with an alarm, with an alarm within 40.

    ``change``: the attempt at which each history changed.
    """
    points, alarms = ([place(row[name]) for row in found] for name in ("change_point", "alarm_at"))
    at = np.broadcast_to(np.inf if change is None else change, len(found))[[int(row["conversation"]) for row in found]]
    near = sum(p is not None and abs(p - c) <= 40 for p, c in zip(points, at, strict=True))
    soon = sum(p is not None and 0 <= p - c <= 40 for p, c in zip(alarms, at, strict=True))
    return [
        x / len(found) for x in (sum(p is not None for p in points), near, sum(p is not None for p in alarms), soon)
    ]


def flips(seed, before, after, n=300, change=150, histories=400):
    rates = np.where(np.arange(n) < change, before, after)
    return (np.random.default_rng(seed).random((histories, n)) < rates).astype(int)


@pytest.mark.simulations
@pytest.mark.parametrize(
    ("rate", "n"),
    [(0.5, 40), (0.1, 300), *(pytest.param(*case, marks=pytest.mark.simulations) for case in [(0.5, 100), (0.01, 300), (0.5, 300), (0.5, 1000)])],
)  # fmt: skip
@pytest.mark.long
def test_where_nothing_changed_one_of_twenty_gets_a_place_at_most(history, rate, n):
    con = history(failed=flips(1, rate, rate, n=n))
    found = answer(con, by="conversation")
    named, _, alarmed, _ = shares([row for row in found if row["statistic"] == "failure_rate"])
    # 0.05, and the chance of 400 histories
    assert named <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 400)
    assert alarmed <= 0.015
    found = [row for row in found if row["change_point"]]
    assert sum(not row["weak"] for row in found) <= 0.01 * 400
    assert all(row["weak"] is (row["log_bayes_factor"] < math.log(20)) for row in found)
    assert sum(row["change_point"] is not None for row in answer(con, by="conversation", evidence=3)) <= 0.03 * 400


@pytest.mark.long
@pytest.mark.parametrize(
    ("before", "after", "soon"),
    [
        (0.05, 0.4, 0.85),
        *(pytest.param(*case, marks=pytest.mark.simulations) for case in [(0.1, 0.5, 0.8), (0.3, 0.8, 0.8)]),
    ],
)
def test_a_change_planted_in_300_attempts_is_found_within_40(history, before, after, soon):
    _, near, _, alarmed = shares(of_each(history(failed=flips(2, before, after)), "failure_rate"), 150)
    assert near >= 0.97
    assert alarmed >= soon


@pytest.mark.simulations
def test_a_change_is_found_early_and_late_too(history):
    for change in (30, 60, 240, 270):
        con = history(failed=flips(3, 0.05, 0.4, change=change, histories=200))
        _, near, _, _ = shares(of_each(con, "failure_rate"), change)
        assert near >= 0.95


PLANTED = {"failure_rate": [(0.05, 0.25), (0.1, 0.35), (0.02, 0.15)], "accuracy": [(0.9, 0.7)], "latency": [(1.0, 2.0)]}


@pytest.mark.simulations
@pytest.mark.parametrize(
    ("statistic", "before", "after", "histories"),
    [
        *((name, *pairs[0], 400) for name, pairs in PLANTED.items()),
        *(
            pytest.param(name, *rates, 1000, marks=pytest.mark.simulations)
            for name, pairs in PLANTED.items()
            for rates in pairs
        ),
    ],
)
@pytest.mark.long
def test_a_change_that_a_user_would_call_one_is_named_within_40_of_300_in_nine_of_ten(
    history, statistic, before, after, histories
):
    rng = np.random.default_rng(11)
    change = rng.integers(100, 201, histories)
    now = np.where(np.arange(300) < change[:, None], before, after)
    given = np.exp(rng.normal(3, 0.7, now.shape)) * now if statistic == "latency" else rng.random(now.shape) < now
    name = {"failure_rate": "failed", "accuracy": "right", "latency": "took"}[statistic]
    _, near, _, _ = shares(of_each(history(**{name: given}), statistic), change)
    assert near >= 0.9


@pytest.mark.long
def test_accuracy_that_falls_is_found(history):
    right = flips(4, 0.9, 0.5, histories=200)
    con = history(right=right)
    found = of_each(con, "accuracy")
    _, near, _, alarmed = shares(found, 150)
    assert near >= 0.95
    assert alarmed >= 0.75
    row = found[0]
    assert row["overall"] == pytest.approx(right[0].mean())
    assert row["worse"] is True


@pytest.mark.long
def test_a_slower_tool_is_found_and_a_steady_one_is_not(history):
    rng = np.random.default_rng(5)
    steady = np.exp(rng.normal(5, 0.7, (200, 300)))
    named, _, alarmed, _ = shares(of_each(history(took=steady), "latency"))
    assert named <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 200)
    assert alarmed <= 0.03
    slower = np.where(np.arange(300) < 150, steady, 3 * steady)
    found = of_each(history(took=slower), "latency")
    _, near, _, soon = shares(found, 150)
    assert near >= 0.97
    assert soon >= 0.8
    row = next(row for row in found if row["change_point"])
    took, at = slower[int(row["conversation"])], place(row["change_point"])
    assert (row["before"], row["after"]) == pytest.approx((np.median(took[:at]), np.median(took[at:])))
    assert (row["before_low"], row["after_high"], row["overall_low"]) == (None, None, None)


def test_uninformative_attempts_are_excluded_and_their_share_reported(engine, make):
    odd = [None, float("nan"), float("inf"), -1.0]
    con = engine(
        *(make(duration_ms=x) for x in odd), make(duration_ms=5.0), make(status=None, ending="cancelled", duration_ms=3.0),
        make(status=None), make(status=None, ending="paused"),
    )  # fmt: skip
    rows = {row["statistic"]: row for row in answer(con)}
    assert {name: (row["n"], row["unseen_share"]) for name, row in rows.items()} == {
        "failure_rate": (5, 3 / 8), "latency": (1, 7 / 8), "accuracy": (0, 1.0),
    }  # fmt: skip
    assert rows["latency"]["overall"] == 5.0
    assert rows["latency"]["log_bayes_factor"] is None
    assert all(row["too_few"] for row in rows.values())


def test_durations_that_are_all_alike_have_not_changed(history):
    row = one(history(took=[[7.0] * 100]), "latency")
    assert (row["change_point"], row["alarm_at"], row["overall"]) == (None, None, 7.0)
    row = one(history(took=[[7.0] * 50 + [8.0] * 50]), "latency")
    assert (place(row["change_point"]), row["before"], row["after"], row["worse"]) == (50, 7.0, 8.0, True)
    assert place(row["alarm_at"]) > 50


def test_each_version_has_a_history_of_its_own(engine, make):
    def attempts(version, hour, *statuses):
        return [make(tool_version=version, status=status, started_at=START + timedelta(hours=hour, minutes=i))
                for i, status in enumerate(statuses)]  # fmt: skip

    good, bad = ["success"] * 30, ["error"] * 30
    con = engine(*attempts("1", 0, *good), *attempts("2", 1, *bad), *attempts(None, 2, *good, *bad))
    assert one(con, "failure_rate", until=START + timedelta(hours=2))["change_point"] == START + timedelta(hours=1)
    rows = [row for row in answer(con, by=["tool", "version"]) if row["statistic"] == "failure_rate"]
    assert [(row["version"], row["change_point"]) for row in rows] == [
        (None, START + timedelta(hours=2, minutes=30)), ("1", None), ("2", None),
    ]  # fmt: skip


def test_grouped_by_code_failures_are_compared_with_all_attempts(engine, make):
    def attempt(minute, code):
        return make(started_at=START + timedelta(minutes=minute), code=code, status="error" if code else "success",
                    duration_ms=8.0 if code else 5.0)  # fmt: skip

    # of 40 attempts every fourth is SLOW throughout; GONE is every second one from the 20th on
    codes = ["SLOW" if i % 4 == 0 else "GONE" if i >= 20 and i % 2 else None for i in range(40)]
    con = engine(*(attempt(i, code) for i, code in enumerate(codes)))
    rows = {(row["code"], row["statistic"]): row for row in answer(con, by=["tool", "code"])}
    found = {code: rows[code, "failure_rate"] for code in ("SLOW", "GONE", None)}
    assert {code: (row["n"], row["overall"]) for code, row in found.items()} == {
        "SLOW": (40, 0.25), "GONE": (40, 0.25), None: (40, 0.0),
    }  # fmt: skip
    assert found["SLOW"]["change_point"] is None
    assert place(found["GONE"]["change_point"]) in (20, 21)
    assert (found["GONE"]["before"], found["GONE"]["worse"]) == (0.0, True)
    assert {code: (rows[code, "latency"]["n"], rows[code, "latency"]["overall"]) for code in found} == {
        "SLOW": (10, 8.0), "GONE": (10, 8.0), None: (20, 5.0),
    }  # fmt: skip
    by_status = {row["status"]: row for row in answer(con, by="status") if row["statistic"] == "failure_rate"}
    assert (by_status["error"]["overall"], by_status["success"]["overall"]) == (0.5, 0.0)


def test_by_day_each_day_is_a_history_of_its_own(engine, make):
    bad = [make(started_at=START + timedelta(days=1, minutes=i), status="error") for i in range(40)]
    con = engine(*(make(started_at=START + timedelta(minutes=i)) for i in range(40)), *bad)
    assert one(con, "failure_rate")["change_point"] == START + timedelta(days=1)
    rows = [row for row in answer(con, by="day") if row["statistic"] == "failure_rate"]
    assert [(row["overall"], row["change_point"]) for row in rows] == [(0.0, None), (1.0, None)]


def test_odd_parameters_are_not_an_error(history):
    con = history(failed=[[0, 1, 1]])
    for given in ({"odds": 1}, {"reference": 2**40, "odds": 2**40, "evidence": 2**40}):
        assert len(answer(con, **given)) == 3
    for name in ("reference", "odds", "evidence"):
        with pytest.raises(BadParameter, match=f"^parameter '{name}' must be a whole number, 1 or more"):
            answer(con, **{name: 0})
    assert one(history(failed=[[1]]), "failure_rate")["log_bayes_factor"] is None


def effect(y, clusters):
    """The design effect: the larger one of variance between clusters and correlation of neighbours."""
    n, s, t = len(y), y.cumsum()[:-1], np.arange(1, len(y))
    cut = t[((s * n - t * y.sum()) ** 2 / (t * (n - t))).argmax()]
    residual = y - np.where(np.arange(n) < cut, y[:cut].mean(), y[cut:].mean())
    spread = residual @ residual
    sizes, sums = np.bincount(clusters), np.bincount(clusters, residual)
    alike = serial = 1.0
    if 1 < len(sizes) < n:
        varied = sums @ sums / spread * len(sizes) / max(len(sizes) - 4, 1) if spread else 0
        size = sizes @ sizes / n
        alike = min(max(varied, 1 + (size - 1) / max(len(sizes) - 3, 1)), size)
    if spread == 0:
        return alike
    lag_1, lag_2 = (residual[k:] @ residual[:-k] / spread for k in (1, 2))
    if lag_1 > 3.5 / math.sqrt(n):
        first, second = (lag * (1 + 20 / n) + 2 / n for lag in (lag_1, lag_2))
        serial = 1 + 2 * first / (1 - min(max(second / first, first), 0.97))
    return max(1.0, alike, serial)


@pytest.fixture
def tools(engine):
    """A store with a history of each tool: whether each attempt failed, and its conversation."""

    def tools(failed, conversations):
        con = engine()
        histories, n = failed.shape
        con.register("given", {
            "h": np.repeat(np.arange(histories), n), "i": np.tile(np.arange(n), histories), "failed": failed.ravel(),
            "c": conversations.ravel(),
        })  # fmt: skip
        con.execute(
            f"""
            INSERT INTO attempts (tool, call_id, attempt, trace_id, span_id, conversation_id, started_at, duration_ms, status, ending)
            SELECT h, concat(h, '-', i), 1, concat(h, '-', i), printf('%08x%08x', h, i), CASE WHEN c >= 0 THEN concat(h, '-', c) END,
                TIMESTAMP '{START}' + to_minutes(i), 5.0, CASE WHEN failed = 1 THEN 'error' ELSE 'success' END, 'returned'
            FROM given
            """
        )
        hashes.refresh(con)
        found = [row for row in answer(con) if row["statistic"] == "failure_rate"]
        return sorted(found, key=lambda row: int(row["tool"]))

    return tools


def alike(seed, histories, clusters, size, correlation, rate=0.3):
    """Attempts of conversations one after the other, and the conversation of each."""
    rng = np.random.default_rng(seed)
    strength = (1 - correlation) / correlation
    chances = rng.beta(rate * strength, (1 - rate) * strength, (histories, clusters)).repeat(size, axis=1)
    return (rng.random(chances.shape) < chances).astype(int), np.tile(np.arange(clusters).repeat(size), (histories, 1))


def sticky(seed, histories, n, correlation, rate=0.3):
    """Attempts of which each repeats the one before with the probability ``correlation``; no conversations."""
    rng = np.random.default_rng(seed)
    drawn = (rng.random((histories, n)) < rate).astype(int)
    fresh = rng.random((histories, n)) >= correlation
    fresh[:, 0] = True
    last = np.maximum.accumulate(np.where(fresh, np.arange(n), 0), axis=1)
    return np.take_along_axis(drawn, last, axis=1), np.full((histories, n), -1)


@pytest.mark.parametrize("made", [alike(1, 20, 12, 5, 0.4), alike(2, 20, 3, 30, 0.4), sticky(3, 20, 80, 0.6)])
def test_dependent_attempts_count_as_fewer(tools, made):
    for row, y, clusters in zip(tools(*made), *made, strict=True):
        named = np.arange(len(y)) if clusters[0] < 0 else clusters
        expected = effect(y, named)
        assert row["clusters"] == len(set(named))
        assert row["design_effect"] == pytest.approx(expected, rel=1e-9)
        assert row["log_bayes_factor"] == pytest.approx(changed(y, effect=expected)[0], abs=1e-7)
        low, high = proportion_confint(y.sum() / expected, len(y) / expected, method="wilson")
        assert row["overall_high"] - row["overall_low"] >= high - low - 1e-9
        if clusters[0] < 0:
            assert (row["overall_low"], row["overall_high"]) == pytest.approx((low, high), abs=1e-9)
        assert row["too_few"] is (len(y) < 40 or 1 < len(set(named)) < 5)


@pytest.mark.long
@pytest.mark.parametrize(
    "made",
    [
        pytest.param(alike(4, 300, 20, 10, 0.2), id="ICC 0.2", marks=pytest.mark.simulations),
        pytest.param(alike(5, 300, 20, 10, 0.5), id="ICC 0.5", marks=pytest.mark.simulations),
        pytest.param(alike(6, 300, 8, 10, 0.5), id="8 conversations"),
        pytest.param(sticky(7, 300, 200, 0.5), id="lag-1 0.5", marks=pytest.mark.simulations),
        pytest.param(sticky(8, 300, 200, 0.8), id="lag-1 0.8"),
    ],
)  # fmt: skip
def test_similar_attempts_are_not_a_change(tools, made):
    found = tools(*made)
    assert sum(row["change_point"] is not None and not row["weak"] for row in found) <= 0.06 * 300
    assert sum(row["alarm_at"] is not None for row in found) <= 0.03 * 300


def test_a_change_in_similar_conversations_is_found(tools):
    """40 conversations of ten; the rate rises from 0.1 to 0.6 in the middle, and conversations differ."""
    before, conversations = alike(9, 100, 20, 10, 0.1, 0.1)
    after, _ = alike(10, 100, 20, 10, 0.1, 0.6)
    found = tools(np.hstack([before, after]), np.hstack([conversations, conversations + 20]))
    near = [row["change_point"] is not None and abs(place(row["change_point"]) - 200) <= 40 for row in found]
    assert sum(near) >= 95
