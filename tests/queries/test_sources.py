"""Sources: how often each was right, how sure the tool was of it, and which have no id."""

from __future__ import annotations

import json
from random import Random

import pytest
from statsmodels.stats.proportion import proportion_confint

from tests.queries.answers import run
from tests.queries.conftest import START
from tooltrace.core.records import Outcome


def answer(con, **given):
    relation = run(con, "sources", **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


@pytest.fixture
def citing(make):
    """An attempt whose result names these sources."""

    def citing(*sources, **given):
        return make(sources=json.dumps(sources), **given)

    return citing


def label(attempt, correct):
    return Outcome(span_id=attempt.span_id, correct=correct, labeled_at=START)


WIKI = {"type": "document", "id": "wiki", "label": "The wiki"}


def test_four_answers_from_one_document_three_judged_one_right(engine, citing, make):
    attempts = [citing(WIKI, confidence=0.9) for _ in range(4)]
    con = engine(*attempts, label(attempts[0], True), label(attempts[1], False), label(attempts[2], False), make())
    (row,) = answer(con)
    assert (row["tool"], row["source"], row["type"], row["n"]) == ("search", "wiki", "document", 4)
    assert (row["labelled"], row["labelled_share"], row["accuracy"]) == (3, 0.75, 1 / 3)
    assert (row["compared"], row["mean_confidence"], row["overconfident_by"]) == (
        3,
        pytest.approx(0.9),
        pytest.approx(0.9 - 1 / 3),
    )
    low, high = proportion_confint(1, 3, method="wilson")
    assert (row["low"], row["high"]) == pytest.approx((low, high), abs=1e-9)
    assert (row["overconfident_low"], row["overconfident_high"]) == pytest.approx((0.9 - high, 0.9 - low), abs=1e-9)
    assert (row["missing_id_share"], row["group_missing_id_share"], row["missing_confidence_share"]) == (0, 0, 0)
    assert (row["unsourced_share"], row["too_few"]) == (0.2, True)
    assert answer(con, min_n=3)[0]["too_few"] is False


def test_without_an_id_a_source_is_known_by_its_url_and_then_its_label(engine, citing):
    con = engine(
        citing({"type": "api", "url": "https://a.example", "label": "A"}),
        citing({"type": "api", "id": "", "label": "A"}),
        citing({"type": "file", "section": "3"}),
        citing({"type": "file", "id": "f"}),
    )
    rows = {row["source"]: row for row in answer(con)}
    assert {source: row["missing_id_share"] for source, row in rows.items()} == {
        "https://a.example": 1,
        "A": 1,
        None: 1,
        "f": 0,
    }
    assert {row["group_missing_id_share"] for row in rows.values()} == {0.75}


def test_a_source_is_counted_once_an_attempt_and_each_attempt_once_a_source(engine, citing):
    con = engine(citing({**WIKI, "section": "1"}, {**WIKI, "section": "2"}, {"type": "file", "id": "wiki"}))
    assert [(row["source"], row["type"], row["n"]) for row in answer(con)] == [
        ("wiki", "document", 1),
        ("wiki", "file", 1),
    ]


def test_unjudged_sources_have_no_accuracy(engine, citing):
    (row,) = answer(engine(citing(WIKI, confidence=0.5)))
    unknown = (
        "accuracy",
        "low",
        "high",
        "mean_confidence",
        "overconfident_by",
        "overconfident_low",
        "overconfident_high",
    )
    assert [row[name] for name in unknown] == [None] * 7
    assert (row["n"], row["labelled"], row["compared"]) == (1, 0, 0)


@pytest.mark.parametrize("confidence", [None, float("nan"), float("inf"), float("-inf"), -0.1, 1.1])
def test_invalid_confidences_are_excluded_and_counted(engine, citing, confidence):
    odd, sure = citing(WIKI, confidence=confidence), citing(WIKI, confidence=1.0)
    (row,) = answer(engine(odd, sure, label(odd, False), label(sure, True)))
    assert (row["labelled"], row["accuracy"], row["missing_confidence_share"]) == (2, 0.5, 0.5)
    assert (row["compared"], row["mean_confidence"], row["overconfident_by"]) == (1, 1.0, 0.0)


@pytest.mark.parametrize(("confidence", "correct"), [(0.0, False), (1.0, True)])
def test_the_edges(engine, citing, confidence, correct):
    attempts = [citing(WIKI, confidence=confidence) for _ in range(2)]
    (row,) = answer(engine(*attempts, *(label(attempt, correct) for attempt in attempts)))
    assert (row["accuracy"], row["overconfident_by"]) == (float(correct), 0.0)
    assert row["overconfident_low"] <= 0 <= row["overconfident_high"]
    assert (row["low"] == 0.0, row["high"] == 1.0) == (not correct, correct)


def test_unfinished_attempts_and_errors_need_no_source(engine, citing, make):
    con = engine(
        citing(WIKI), citing(WIKI, status=None, ending="cancelled"), citing(WIKI, status=None, ending="paused"),
        make(), make(status="error"), make(status=None, ending="abandoned"), make(sources="[]"),
    )  # fmt: skip
    (row,) = answer(con)
    assert (row["n"], row["unsourced_share"]) == (1, 2 / 3)


def test_groups_and_the_window(engine, citing):
    con = engine(citing(WIKI), citing(WIKI, tool="fetch"), citing(WIKI, tool="fetch", tool_version="2"))
    assert [(row["tool"], row["n"]) for row in answer(con)] == [("fetch", 2), ("search", 1)]
    assert [(row["version"], row["n"]) for row in answer(con, by="version")] == [(None, 2), ("2", 1)]
    assert [row["n"] for row in answer(con, by=[])] == [3]
    assert [row["n"] for row in answer(con, tool="search")] == [1]
    assert answer(con, until="2026-03-01T12:00:00") == []
    assert len(answer(con, since="2026-03-01T12:00:00")) == 2


def test_a_history_without_sources(engine, make):
    assert answer(engine(make(), make(status="error")), by=[]) == []


@pytest.mark.parametrize("seed", range(3))
def test_figures_equal_a_simple_count(engine, citing, seed):
    random = Random(seed)
    attempts, labels = [], []
    for _ in range(80):
        names = random.sample("abcd", random.randint(0, 3))
        sure = random.choice((None, 0.0, 0.3, 0.3, 0.9, 1.0))
        attempt = citing(*({"type": "file", "id": name} for name in names), tool=random.choice("xy"), confidence=sure)
        attempts.append((attempt, names, sure))
        if random.random() < 0.6:
            labels.append(label(attempt, random.random() < 0.5))
    truth = {outcome.span_id: outcome.correct for outcome in labels}
    rows = answer(engine(*(attempt for attempt, _, _ in attempts), *labels))
    assert len(rows) == len({(attempt.tool, name) for attempt, names, _ in attempts for name in names})
    for row in rows:
        mine = [(a, sure) for a, names, sure in attempts if a.tool == row["tool"] and row["source"] in names]
        judged = [(truth[a.span_id], sure) for a, sure in mine if a.span_id in truth]
        compared = [(y, p) for y, p in judged if p is not None]
        assert (row["n"], row["labelled"], row["compared"]) == (len(mine), len(judged), len(compared))
        if judged:
            assert row["accuracy"] == pytest.approx(sum(y for y, _ in judged) / len(judged), abs=1e-9)
        if compared:
            gap = sum(p - y for y, p in compared) / len(compared)
            assert row["overconfident_by"] == pytest.approx(gap, abs=1e-9)
            assert row["overconfident_low"] <= row["overconfident_by"] <= row["overconfident_high"]
