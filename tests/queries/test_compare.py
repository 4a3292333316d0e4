"""Two windows or versions beside one another: intervals as statsmodels has them, and verdicts that chance does not give."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from tests.queries.answers import run
from tooltrace.analysis import find, query_store
from tooltrace.core.records import Outcome
from tooltrace.store.database import hashes

from .conftest import START

MIDDLE = START + timedelta(days=1)
WINDOWS = {"before": f"..{MIDDLE.isoformat()}", "after": f"{MIDDLE.isoformat()}.."}


NOTHING_CHANGED = """
INSERT INTO attempts BY NAME
WITH talks AS (
    SELECT tool, side, talk, 1 / (1 + exp(1.5 - sqrt(-2 * ln(1 - (hash(hash(tool, side, talk), 1) >> 11) / 9007199254740992.0))
        * cos(6.283185 * ((hash(hash(tool, side, talk), 7) >> 11) / 9007199254740992.0)))) AS failing
    FROM range(300) AS a(tool), range(2) AS b(side), range(30) AS c(talk)
)
SELECT 'tool_' || tool AS tool, concat_ws('/', tool, side, talk, i) AS call_id, concat_ws('/', tool, side, talk) AS conversation_id,
    1 AS attempt, 't' AS trace_id, concat_ws('/', tool, side, talk, i) AS span_id, 1.0 AS duration_ms, 'returned' AS ending,
    TIMESTAMP '2026-03-01 12:00:00' + to_days(CAST(side AS INTEGER)) AS started_at,
    CASE WHEN (hash(hash(tool, side, talk, i), 17) >> 11) / 9007199254740992.0 < failing THEN 'error' ELSE 'success' END AS status
FROM talks, range(10) AS d(i)
"""


def answer(con, **given):
    return rows(run(con, "compare", **{**WINDOWS, **given}))


def rows(relation):
    return {
        (row["tool"], row["measure"]): row
        for row in (dict(zip(relation.columns, line, strict=True)) for line in relation.fetchall())
    }


def side(make, n, failures, *, at, **given):
    """Make ``n`` attempts in a conversation each; the first ``failures`` fail."""
    return [
        make(status="error" if i < failures else "success", started_at=at + timedelta(seconds=i),
             conversation_id=f"{at}{i}", **given)
        for i in range(n)
    ]  # fmt: skip


def two(make, before, after, **given):
    return [*side(make, *before, at=START, **given), *side(make, *after, at=MIDDLE, **given)]


@pytest.mark.parametrize(("before", "after"), [((80, 15), (48, 20)), ((30, 0), (40, 12)), ((100, 100), (100, 60))])
def test_the_interval_of_a_difference_is_newcombes(engine, make, before, after):
    row = answer(engine(*two(make, before, after)))["search", "call_failure_rate"]
    low, high = confint_proportions_2indep(after[1], after[0], before[1], before[0], method="newcomb", compare="diff")
    assert row["difference"] == pytest.approx(after[1] / after[0] - before[1] / before[0])
    assert (row["low"], row["high"]) == pytest.approx((low, high), abs=1e-9)
    assert (row["n_before"], row["n_after"]) == (before[0], after[0])


def test_a_case_worked_by_hand(engine, make):
    """56/70 and 48/80: Newcombe 1998, table II, row (a), method 10."""
    row = answer(engine(*two(make, (80, 48), (70, 56))))["search", "failure_rate"]
    assert (round(row["difference"], 4), round(row["low"], 4), round(row["high"], 4)) == (0.2, 0.0524, 0.3339)


def test_chance_alone_is_seldom_called_worse(make, stored):
    """Nothing changes between the sides of 40 tools: 95 % intervals cry about twelve times, the verdict does not."""
    draw = random.Random(5)
    records = []
    for tool in range(40):
        for at in (START, MIDDLE):
            for i in range(60):
                records.append(make(
                    tool=f"t{tool}", started_at=at + timedelta(seconds=i), conversation_id=None,
                    status="error" if draw.random() < 0.3 else "success", duration_ms=draw.lognormvariate(3, 1),
                ))  # fmt: skip
    found = query_store(stored(*records), "compare", **WINDOWS).dicts()
    verdicts = [row["verdict"] for row in found]
    assert {row["compared"] for row in found} == {160}, "60 calls a side do not bound a 95th percentile"
    assert {"worse", "better"}.isdisjoint(verdicts)
    assert 1 <= sum(verdict.startswith("maybe") for verdict in verdicts) <= 16


@pytest.mark.simulations
def test_intervals_cover_correlated_calls_at_the_stated_rate(engine):
    """300 tools that do not change, 30 conversations of 10 calls a side, some conversations harder than others."""
    con = engine()
    con.execute(NOTHING_CHANGED)
    hashes.refresh(con)
    found = [row for row in rows(run(con, "compare", **WINDOWS)).values() if row["measure"] == "call_failure_rate"]
    beyond = sum(row["low"] > 0 or row["high"] < 0 for row in found)
    assert len(found) == 300
    assert 0.01 <= beyond / len(found) <= 0.08
    blind = [
        confint_proportions_2indep(
            round(row["after"] * 300), 300, round(row["before"] * 300), 300, method="newcomb", compare="diff"
        )
        for row in found
    ]
    assert sum(low > 0 or high < 0 for low, high in blind) / len(found) > 0.12, "as if each call stood alone"


CORRELATIONS = [0.2, *(pytest.param(other, marks=pytest.mark.simulations) for other in (0.0, 0.5))]
HISTORIES = """
INSERT INTO attempts BY NAME
WITH drawn AS (
    SELECT *, concat_ws('/', tool, side, talk, i) AS id,
        (hash(hash(tool, side, talk, i), 17) >> 11) / 9007199254740992.0 AS u,
        (hash(hash(tool, side, talk, i), 31) >> 11) / 9007199254740992.0 AS v,
        (hash(hash(tool, side, talk, i), 47) >> 11) / 9007199254740992.0 AS w
    FROM talks, range(50) AS calls(i)
    WHERE i < size
)
SELECT tool, id AS call_id, concat_ws('/', tool, side, talk) AS conversation_id, 1 AS attempt, 't' AS trace_id, id AS span_id,
    exp(usual + spread * sqrt(-2 * ln(1 - u)) * cos(6.283185307 * v)) AS duration_ms, 'returned' AS ending,
    TIMESTAMP '2026-03-01 12:00:00' + to_days(side) AS started_at,
    CASE WHEN w < failing THEN 'error' ELSE 'success' END AS status
FROM drawn
"""


def histories(con, of, correlation, rates=(0.3, 0.3)):
    """Verdicts on a tool for each number in ``of``: as many conversations a side, of 10 to 50 calls that are alike by this
    intraclass correlation. ``rates`` of failure are those of both sides."""
    draw = random.Random(1000 * correlation + len(of))
    con.execute("CREATE TABLE talks (tool TEXT, side INTEGER, talk INTEGER, size INTEGER, failing DOUBLE, usual DOUBLE, spread DOUBLE)")  # fmt: skip
    for number, talks in enumerate(of):
        for side_of, rate in enumerate(rates):
            for talk in range(talks):
                odds = (1 - correlation) / correlation if correlation else 0.0
                failing = draw.betavariate(rate * odds, (1 - rate) * odds) if odds else rate
                usual = draw.gauss(3, correlation**0.5)
                con.execute(
                    "INSERT INTO talks VALUES (?, ?, ?, ?, ?, ?, ?)",
                    [f"t{number}", side_of, talk, draw.randint(10, 50), failing, usual, (1 - correlation) ** 0.5],
                )
    con.execute(HISTORIES)
    hashes.refresh(con)
    return [{row["verdict"] for row in answer(con, tool=f"t{number}").values()} for number in range(len(of))]


@pytest.mark.simulations
@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_fewer_than_five_conversations_never_get_a_verdict(engine, correlation):
    assert histories(engine(), [2, 3, 4] * 2, correlation) == [{"too_few"}] * 6
    changed = histories(engine(), [2, 3, 4], correlation, rates=(0.1, 0.9))
    assert changed == [{"too_few"}] * 3, "not even where much changed: it may be the conversations"


@pytest.mark.simulations
@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_from_five_conversations_on_few_verdicts_are_false(engine, correlation):
    """Nothing changes in 30 histories of 5 to 8 conversations a side: at most two of them (7 %) have a verdict."""
    found = histories(engine(), [5 + n % 4 for n in range(30)], correlation)
    assert sum(bool(one & {"worse", "better"}) for one in found) <= 2
    assert all(one - {"too_few"} for one in found), "something can be told of each"


@pytest.mark.parametrize(("rates", "verdict"), [((0.1, 0.6), "worse"), ((0.6, 0.1), "better")])
def test_a_change_is_found_where_there_are_conversations_enough(engine, rates, verdict):
    assert all(verdict in one for correlation in (0.0, 0.2) for one in histories(engine(), [15], correlation, rates))


def test_a_change_beyond_noise_is_worse_or_better(engine, make):
    worse = answer(engine(*two(make, (200, 10), (200, 90), duration_ms=10.0)))
    assert worse["search", "failure_rate"]["verdict"] == "worse"
    assert next(iter(worse.values()))["verdict"] == "worse", "what got worse stands first"
    better = answer(engine(*two(make, (200, 90), (200, 10))))
    assert better["search", "failure_rate"]["verdict"] == "better"
    same = answer(engine(*two(make, (200, 90), (200, 95))))
    assert same["search", "failure_rate"]["verdict"] == "unclear"


def test_a_change_significant_alone_may_not_be_among_many(engine, make):
    """0.2 [0.05, 0.33] is beyond zero among the four measures of one tool, and among thirty more comparisons it is not."""
    case = two(make, (80, 48), (70, 56))
    assert answer(engine(*case))["search", "failure_rate"]["verdict"] == "worse"
    others = [record for n in range(10) for record in two(make, (20, 7), (20, 7), tool=f"t{n}")]
    row = answer(engine(*case, *others))["search", "failure_rate"]
    assert (row["verdict"], row["compared"]) == ("maybe_worse", 45)


@pytest.mark.long
def test_calls_of_a_conversation_are_one_draw(engine, make):
    """Six conversations a side, each all right or all wrong: a hundred times the calls say nothing more."""

    def talks(at, wrong, calls):
        return [
            make(status="error" if talk < wrong else "success", started_at=at, conversation_id=f"{at}{talk}")
            for talk in range(6) for _ in range(calls)
        ]  # fmt: skip

    few = answer(engine(*talks(START, 2, 10), *talks(MIDDLE, 4, 10)))["search", "failure_rate"]
    many = answer(engine(*talks(START, 2, 200), *talks(MIDDLE, 4, 200)))["search", "failure_rate"]
    assert few["counted"] == many["counted"] == "conversation"
    assert (few["low"], few["high"]) == pytest.approx((many["low"], many["high"]), abs=1e-9)
    assert many["verdict"] == "unclear"
    low, high = confint_proportions_2indep(4, 6, 2, 6, method="newcomb", compare="diff")
    assert (many["low"], many["high"]) == pytest.approx((low, high), abs=1e-9)


def test_one_long_conversation_is_too_little_evidence(engine, make):
    """The calls of one conversation are alike: 60 failures of 100 against 5 say nothing of the next conversation."""
    records = [make(status="error" if i < k else "success", started_at=at, conversation_id="talk") for at, k in ((START, 5), (MIDDLE, 60)) for i in range(100)]  # fmt: skip
    row = answer(engine(*records))["search", "call_failure_rate"]
    assert (row["counted"], row["verdict"], row["compared"]) == ("conversation", "too_few", 0)
    assert (row["low"], row["high"]) == (None, None)
    assert row["difference"] == pytest.approx(0.55)


@pytest.mark.parametrize(("without_id", "verdict"), [(20, "too_few"), (300, "worse")])
def test_few_conversations_count_where_most_calls_belong_to_them(engine, make, without_id, verdict):
    """Calls without a conversation are draws of their own; a few of them do not make up for missing conversations."""
    records = [
        make(status="error" if i % 10 < k else "success", started_at=at, conversation_id=f"{at}{i % 2}" if i < 100 else None)
        for at, k in ((START, 1), (MIDDLE, 6)) for i in range(100 + without_id)
    ]  # fmt: skip
    row = answer(engine(*records))["search", "call_failure_rate"]
    assert (row["counted"], row["verdict"]) == ("conversation", verdict)


def test_attempts_of_one_call_are_one_draw(engine, make):
    def calls(at, failing):
        return [
            make(call_id=f"{at}{call}", attempt=n, conversation_id=None, started_at=at + timedelta(seconds=call, milliseconds=n),
                 status="error" if call < failing else "success")
            for call in range(30) for n in range(1, 5)
        ]  # fmt: skip

    found = answer(engine(*calls(START, 10), *calls(MIDDLE, 17)))
    rate, whole = found["search", "failure_rate"], found["search", "call_failure_rate"]
    assert rate["difference"] == pytest.approx(whole["difference"])
    assert rate["n_before"] == 4 * whole["n_before"]
    assert rate["low"] == pytest.approx(whole["low"], abs=0.01), "four attempts that fail together are one failure"


def test_retries_are_attempts_per_call(engine, make):
    tries = {START: [1, 1, 1, 2] * 25, MIDDLE: [1, 2, 3, 4] * 25}
    records = [
        make(call_id=f"{at}{call}", attempt=n, conversation_id=None, started_at=at + timedelta(seconds=call, milliseconds=n))
        for at, each in tries.items() for call, most in enumerate(each) for n in range(1, most + 1)
    ]  # fmt: skip
    row = answer(engine(*records))["search", "attempts_per_call"]
    assert (row["before"], row["after"], row["unit"], row["verdict"]) == (1.25, 2.5, "ratio", "worse")
    half = 1.959963984540054 * ((0.1875 + 1.25) / 99) ** 0.5
    assert (row["low"], row["high"]) == pytest.approx((1.25 - half, 1.25 + half))


@pytest.mark.long
def test_latency_is_compared_by_order_statistics(engine, make):
    draw = random.Random(2)
    slower = [
        make(started_at=at, conversation_id=None, duration_ms=draw.lognormvariate(3, 1) * times)
        for at, times in ((START, 1), (MIDDLE, 4)) for _ in range(500)
    ]  # fmt: skip
    row = answer(engine(*slower))["search", "p95"]
    assert row["verdict"] == "worse"
    assert 0 < row["low"] < row["difference"] < row["high"]
    few = answer(engine(*slower[:30], *slower[-30:]))["search", "p95"]
    assert few["high"] is None, "thirty do not bound the 95th percentile from above"
    assert (few["verdict"], few["compared"]) == ("too_few", 4)
    mixed = answer(engine(*slower[:500], *slower[-30:]))["search", "p95"]
    assert mixed["high"] is None, "the smaller side is not bounded from above, and may be as slow as anything"
    assert mixed["verdict"] in ("worse", "maybe_worse", "too_few"), "never unclear: an increase could not be ruled out"


def test_right_and_sure_are_compared_where_somebody_judged(engine, make):
    records = []
    for at, right in ((START, 0.9), (MIDDLE, 0.5)):
        for i in range(100):
            call = make(started_at=at, conversation_id=None, confidence=0.9)
            records += [call, Outcome(span_id=call.span_id, correct=i < 100 * right, labeled_at=at)]
    found = answer(engine(*records))
    accuracy, gap = found["search", "accuracy"], found["search", "confidence_gap"]
    low, high = confint_proportions_2indep(50, 100, 90, 100, method="newcomb", compare="diff")
    assert (accuracy["low"], accuracy["high"]) == pytest.approx((low, high), abs=1e-9)
    assert accuracy["verdict"] == gap["verdict"] == "worse"
    assert (gap["before"], gap["after"]) == pytest.approx((0.0, 0.4))


def test_rounding_of_a_constant_is_not_a_change(engine, make):
    """The mean of 30 times 0.7 - 1 is not to the last bit that of 37."""
    records = []
    for tool, (before, after) in enumerate([(30, 37), (41, 23), (29, 53), (60, 49)]):
        for at, n in ((START, before), (MIDDLE, after)):
            for _ in range(n):
                one = make(tool=f"t{tool}", started_at=at, conversation_id=None, confidence=0.7)
                records += [one, Outcome(span_id=one.span_id, correct=True, labeled_at=at)]
    found = answer(engine(*records))
    gaps = [row for row in found.values() if row["measure"] == "confidence_gap"]
    assert any(row["difference"] != 0 for row in gaps), "there is something to be rounded here"
    assert {row["verdict"] for (_, measure), row in found.items() if measure != "p95"} == {"unclear"}


def test_versions_are_compared_over_the_same_time(engine, make):
    records = [
        make(tool_version=version, status="error" if i < k else "success", conversation_id=None, started_at=START)
        for version, k in (("1", 5), ("2", 50), (None, 90), ("3", 80)) for i in range(100)
    ]  # fmt: skip
    row = rows(run(engine(*records), "compare", before="version:1", after="version:2"))["search", "call_failure_rate"]
    assert (row["before"], row["after"], row["n_before"], row["n_after"]) == (0.05, 0.5, 100, 100)


def test_too_few_and_one_side_alone_get_no_verdict(engine, make):
    found = answer(engine(*two(make, (19, 1), (50, 40)), *side(make, 30, 3, at=MIDDLE, tool="fresh"), *side(make, 30, 3, at=START, tool="left")))  # fmt: skip
    assert found["search", "failure_rate"]["verdict"] == "too_few"
    assert found["fresh", "failure_rate"]["verdict"] == "new"
    assert (found["left", "p95"]["verdict"], found["left", "p95"]["n_after"]) == ("gone", 0)
    assert {row["compared"] for row in found.values()} == {0}


def test_every_verdict_is_in_the_heading():
    (meaning,) = [column.meaning for column in find("compare").header.columns if column.name == "verdict"]
    for verdict in ("worse", "better", "maybe_worse", "maybe_better", "unclear", "too_few", "new", "gone"):
        assert verdict in meaning


def test_medians_are_compared_where_a_p95_has_no_limit(engine, make):
    """Thirty calls a side of 1 to 30 ms, and of 11 to 40 ms: ranks 10 and 21 hold the median, by the binomial."""
    records = [make(started_at=at, duration_ms=float(more + i)) for at, more in ((START, 1), (MIDDLE, 11)) for i in range(30)]  # fmt: skip
    found = answer(engine(*records))
    p50, p95 = found["search", "p50"], found["search", "p95"]
    assert (p50["before"], p50["after"], p50["unit"], p50["verdict"]) == (15.5, 25.5, "ms", "maybe_worse")
    # the tenth and the 21st duration, each joined to its side's median
    low, high = 10 - 15.5, 21 - 15.5
    half = (low**2 + high**2) ** 0.5
    assert (p50["low"], p50["high"]) == pytest.approx((10 - half, 10 + half), rel=1e-3)
    assert p95["verdict"] == "too_few"


def test_calls_of_a_trace_are_one_draw_without_a_conversation(engine, make):
    records = [
        make(status="error" if trace < wrong else "success", started_at=at, trace_id=f"{at}{trace}")
        for at, wrong in ((START, 2), (MIDDLE, 4)) for trace in range(6) for _ in range(10)
    ]  # fmt: skip
    row = answer(engine(*records))["search", "failure_rate"]
    assert (row["clusters"], row["design_effect"], row["verdict"]) == (6, pytest.approx(10), "unclear")
