"""Signs that go along with failed conversations: the pooled odds ratio, its interval, and the verdicts."""

from __future__ import annotations

import itertools
from datetime import timedelta
from math import ceil, log
from random import Random

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.proportion import proportion_confint

from tests.queries.answers import run
from tests.queries.conftest import START
from tooltrace.core.records import Message, Outcome
from tooltrace.redact.snapshot import Json


@pytest.fixture
def chat(make):
    """The records of a conversation with an outcome: its calls, as fields."""
    numbers = itertools.count()

    def chat(correct, *calls, conversation=None):
        name = conversation or f"chat {next(numbers)}"
        label = Outcome(conversation_id=name, correct=correct, target_kind="conversation", labeled_at=START)
        return [*(make(conversation_id=name, **call) for call in calls), label]

    return chat


def answer(con, **params):
    found = run(con, "blame", **params)
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
    return {(row["tool"], row["sign"]): row for row in rows}


def stored(engine, chat, counts):
    """Return a connection to conversations: ``counts[agent] = (a, b, c, d)``, as in the query."""
    records = []
    for agent, cells in counts.items():
        for (status, correct), size in zip(
            (("error", False), ("error", True), ("success", False), ("success", True)), cells, strict=True
        ):
            for _ in range(size):
                records += chat(correct, {"status": status, "agent": agent})
    return engine(*records)


@pytest.mark.parametrize("seed", range(6))
def test_the_ratio_and_its_interval_are_those_of_statsmodels(engine, chat, seed):
    random = Random(seed)
    counts = {f"agent {number}": tuple(random.randrange(1, 14) for _ in range(4)) for number in range(1 + seed)}
    row = answer(stored(engine, chat, counts))["search", "failed"]
    table = StratifiedTable([np.array(cells, dtype=float).reshape(2, 2) for cells in counts.values()])
    assert row["odds_ratio"] == pytest.approx(table.oddsratio_pooled, rel=1e-9)
    assert (row["low"], row["high"]) == pytest.approx(table.oddsratio_pooled_confint(), rel=1e-9)
    a, b, c, d = (sum(cells) for cells in zip(*counts.values(), strict=True))
    assert (row["failed_with"], row["failed_without"]) == pytest.approx((a / (a + b), c / (c + d)), rel=1e-12)
    for name, k, n in (("failed_with", a, a + b), ("failed_without", c, c + d)):
        assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx(
            proportion_confint(k, n, method="wilson"), rel=1e-9
        )
    assert (row["conversations"], row["with_sign"], row["strata"]) == (a + b + c + d, a + b, 1 + seed)


def test_a_ratio_computed_by_hand(engine, chat):
    """Agents x (8, 2, 10, 20) and y (1, 3, 4, 12): R = 160/40 + 12/20 = 4.6, S = 20/40 + 12/20 = 1.1, R / S = 4.18."""
    row = answer(stored(engine, chat, {"x": (8, 2, 10, 20), "y": (1, 3, 4, 12)}))["search", "failed"]
    assert row["odds_ratio"] == pytest.approx(4.6 / 1.1, rel=1e-12)


def test_agents_that_fail_and_call_more_do_not_make_an_association(engine, chat):
    """Simpson: within each agent the odds are equal, 1 and 1; pooled without agents they would be 4.4."""
    row = answer(stored(engine, chat, {"good": (2, 18, 10, 90), "bad": (72, 18, 16, 4)}))["search", "failed"]
    assert row["odds_ratio"] == pytest.approx(1.0)
    assert row["verdict"] == "unclear"
    assert row["failed_with"] > 2 * row["failed_without"]


def test_the_sample_that_would_show_the_ratio(engine, chat):
    row = answer(stored(engine, chat, {"x": (10, 20, 20, 50)}), ratio=3.0)["search", "failed"]
    e, p0 = 0.3, 2 / 7
    p1 = 3 * p0 / (1 - p0 + 3 * p0)
    z = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert row["needed"] == ceil(z**2 * (1 / (e * p1 * (1 - p1)) + 1 / ((1 - e) * p0 * (1 - p0))) / log(3) ** 2)


def test_few_conversations_and_empty_cells_have_no_verdict(engine, chat):
    few = answer(stored(engine, chat, {"x": (4, 1, 1, 4)}))["search", "failed"]
    assert (few["verdict"], few["compared"]) == ("too_few", 0)
    empty = answer(stored(engine, chat, {"x": (10, 0, 10, 20)}))["search", "failed"]
    assert (empty["verdict"], empty["odds_ratio"], empty["low"], empty["high"]) == ("too_few", None, None, None)
    rare = answer(stored(engine, chat, {"x": (3, 1, 40, 40)}))["search", "failed"]
    assert rare["verdict"] == "too_few"


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        ((30, 10, 10, 30), "more_often"),
        ((10, 30, 30, 10), "less_often"),
        ((20, 20, 20, 20), "unclear"),
    ],
)
def test_the_verdict_says_how_often_conversations_fail(engine, chat, cells, verdict):
    assert answer(stored(engine, chat, {"x": cells}))["search", "failed"]["verdict"] == verdict


def test_many_comparisons_need_more_than_one(engine, chat):
    """(26, 14, 16, 24): p = 0.025, enough for one comparison and not for two."""
    cells = (26, 14, 16, 24)
    alone = answer(stored(engine, chat, {"x": cells}))
    assert alone["search", "failed"]["verdict"] == "more_often"
    records = []
    for tool in ("one", "two", "three"):
        for (status, correct), size in zip(
            (("error", False), ("error", True), ("success", False), ("success", True)), cells, strict=True
        ):
            records += [record for _ in range(size) for record in chat(correct, {"status": status, "tool": tool})]
    found = answer(engine(*records))
    assert {row["verdict"] for key, row in found.items() if key[1] == "failed"} == {"maybe_more_often"}
    assert found["one", "failed"]["compared"] == 3


def test_a_conversation_is_one_row_however_many_calls_it_has(engine, chat):
    calls = [{"status": "error"}] * 30
    con = engine(*chat(False, *calls), *chat(True, {}), *chat(True, {"tool": "other"}))
    row = answer(con)["search", "failed"]
    assert (row["conversations"], row["with_sign"]) == (2, 1)


def test_a_call_that_a_retry_saved_did_not_fail(engine, chat):
    con = engine(*chat(False, {"call_id": "c", "status": "error"}, {"call_id": "c", "attempt": 2}))
    assert answer(con)["search", "failed"]["with_sign"] == 0


def equal_calls(*answers, seconds=60, **more):
    """Calls with equal arguments, one for each answer."""
    return [
        {
            "arguments": Json('{"q":1}'),
            "text": text,
            "started_at": START + timedelta(seconds=seconds * place),
            "call_id": f"q{place}",
            **more,
        }
        for place, text in enumerate(answers)
    ]


def test_signs_of_confidence_and_of_repeated_calls(engine, chat):
    con = engine(
        *chat(False, *equal_calls("none", "none", "none"), {"confidence": 0.4}),
        *chat(True, *equal_calls("none", "none"), {"confidence": 0.6}),
        *chat(True, {}),
    )
    found = answer(con)
    assert {sign: (row["conversations"], row["with_sign"], row["failed_with"]) for (_, sign), row in found.items()} == {
        "failed": (3, 0, None),
        "low_confidence": (2, 1, 1.0),
        "repeated": (2, 1, 1.0),
    }
    assert answer(con, low_below=0.7)["search", "low_confidence"]["with_sign"] == 2
    assert answer(con, repeats=2)["search", "repeated"]["with_sign"] == 2


@pytest.mark.parametrize(
    ("calls", "repeated"),
    [
        (equal_calls("none", "none", "none"), 1),
        (equal_calls("none at 12:00:01", "none at 12:00:31", "none at 12:01:01"), 1),
        (equal_calls("1 of 3", "2 of 3", "3 of 3"), 0),
        (equal_calls("pending", "pending", "pending", "done"), 0),
        (equal_calls("none", "none", "none", seconds=301), 0),
        (equal_calls("none", "none", "none", tool="sleep"), 0),
        (equal_calls("none", "none", "none", call_id="one"), 0),
        ([*equal_calls("none", "none", agent="x"), *equal_calls("none", agent="y", call_id="q9")], 0),
    ],
    ids=[
        "equal",
        "equal but for times",
        "progress",
        "polling",
        "slow",
        "waiting",
        "attempts of one call",
        "two agents",
    ],
)
def test_a_repeated_call_is_what_the_query_loops_finds(engine, chat, calls, repeated):
    con = engine(*chat(False, *calls, conversation="chat"))
    rows = [row for key, row in answer(con).items() if key[1] == "repeated"]
    assert [row["with_sign"] for row in rows] == [repeated]
    loops = run(con, "loops")
    assert sum(row[loops.columns.index("kind")] == "repeat" for row in loops.fetchall()) == repeated


def test_by_version_a_sign_is_one_of_the_calls_of_that_version(engine, chat):
    """Version 1 (a, b, c, d) = (3, 1, 2, 4), odds 6; version 2 (1, 2, 2, 1), odds 1/4; together they are of one tool."""
    counts = {"1": (3, 1, 2, 4), "2": (1, 2, 2, 1)}
    records = []
    for version, cells in counts.items():
        for (status, correct), size in zip(
            (("error", False), ("error", True), ("success", False), ("success", True)), cells, strict=True
        ):
            records += [r for _ in range(size) for r in chat(correct, {"status": status, "tool_version": version})]
    con = engine(*records)
    found = run(con, "blame", by=["version"])
    ratios = {row[0]: row[found.columns.index("odds_ratio")] for row in found.fetchall() if row[1] == "failed"}
    assert ratios == pytest.approx({"1": 6.0, "2": 0.25})
    both = answer(con)["search", "failed"]
    assert (both["conversations"], both["with_sign"]) == (16, 7)


def test_hidden_errors_are_compared_with_errors_that_the_model_saw(engine, chat):
    def seen(records, text, *, error):
        call = records[0]
        message = Message(
            call_id=call.call_id, span_id=call.span_id, text=text, sha256="0", length=len(text), error=error, at=START
        )
        return [*records, message]

    failed = {"status": "error", "error_message": "no disk"}
    con = engine(
        *seen(chat(False, failed), "done", error=False),
        *seen(chat(False, failed), "", error=False),
        *seen(chat(True, failed), "Error: no disk", error=True),
        *seen(chat(True, failed), "it said: no disk", error=False),
        *chat(True, failed),
        *chat(True, {}),
    )
    row = answer(con)["search", "laundered"]
    assert (row["conversations"], row["with_sign"], row["failed_with"], row["failed_without"]) == (4, 2, 1.0, 0.0)


def test_conversations_without_an_outcome_or_outside_the_window_do_not_count(engine, chat, make):
    con = engine(*chat(True, {}), make(conversation_id="unlabelled"), make())
    assert answer(con)["search", "failed"]["conversations"] == 1
    assert answer(con, until=START) == {}


def test_no_word_of_the_answer_states_a_cause():
    from tooltrace.analysis import find

    header = find("blame").header
    text = " ".join(
        [header.question, header.verdict, *(f"{each.name} {each.meaning}" for each in header.columns)]
    ).lower()
    for word in ("cause", "because", "effect", "leads", "due to", "responsible", "fault", "impact", "blame"):
        assert word not in text, word
