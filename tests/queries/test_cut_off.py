"""Attempts that were cut off: a deadline, an abandoned stream, a lost one; apart from a person's and a sibling's cancellation."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from statsmodels.duration.survfunc import SurvfuncRight

from tests.queries.answers import run
from tooltrace.analysis import find
from tooltrace.analysis.query_verdict import query_verdicts
from tooltrace.statistics.quantiles import GRID, percentile, with_censored
from tooltrace.wording.i18n import Translations
from tooltrace.wording.sentences import as_text

from .conftest import START

DEADLINE: dict[str, Any] = {"status": None, "ending": "cancelled", "code": "TIMEOUT", "duration_ms": 5000.0}
NOT_COUNTED: list[dict[str, Any]] = [
    {"status": None, "ending": "cancelled"},
    {"status": None, "ending": "cancelled", "code": "CANCELLED"},
    {"status": None, "ending": "paused"},
    {"status": None, "ending": "refused", "code": "TIMEOUT"},
]


def named(con: Any, query: str, tool: str = "hang", **params: Any) -> dict[str, Any]:
    return next(row for row in run(con, query, **params).dicts() if row.get("tool", tool) == tool)


@pytest.mark.long
@pytest.mark.parametrize("good", [0, 30])
def test_a_tool_that_hangs_is_named_by_every_question(engine, make, good):
    con = engine(
        *(make(tool="hang", started_at=START + timedelta(seconds=i)) for i in range(good)),
        *(make(tool="hang", started_at=START + timedelta(seconds=100 + i), **DEADLINE) for i in range(30)),
        *(make(tool="fine", started_at=START + timedelta(seconds=200 + i)) for i in range(30)),
    )
    share = 30 / (30 + good)
    for query in ("failure_rate", "ranking"):
        row = named(con, query)
        assert (row["attempts"], row["cut_off"], row["cut_off_share"]) == (good, 30, share)
        assert row["cut_off_low"] <= share <= row["cut_off_high"] and row["cut_off_low"] > 0.3
        assert named(con, query, "fine")["cut_off_share"] == 0
    assert run(con, "ranking").dicts()[0]["tool"] == "hang"
    assert run(con, "overview").dicts()[0]["cut_off"] == 30
    error = named(con, "errors")
    assert (error["kind"], error["code"], error["n"], error["share"]) == ("cancelled", "TIMEOUT", 30, 1)
    (incident,) = run(con, "incidents").dicts()
    assert [incident[name] for name in ("tool", "failures", "cut_off", "code")] == ["hang", 30, 30, "TIMEOUT"]
    burn = named(con, "burn_rate", until=START + timedelta(hours=1))
    assert (burn["attempts"], burn["failures"], burn["cut_off"], burn["alerting"]) == (good + 30, 30, 30, False)
    assert burn["burn_long"] == pytest.approx(share / 0.01)
    assert sum(row["cut_off"] for row in run(con, "timeline").dicts() if row["tool"] == "hang") == 30
    bins = {round(row["from_ms"]): row for row in run(con, "durations").dicts() if row["tool"] == "hang"}
    assert (bins[3981]["n"], bins[3981]["cut_off"]) == (0, 30)
    new = [row for row in run(con, "changes", since=START).dicts() if row["tool"] == "hang"]
    assert (new[-1]["kind"], new[-1]["cut_off"]) == ("tool", 30)
    (drifted,) = [row for row in run(con, "drift").dicts() if row["statistic"] == "cut_off_share"]
    assert (drifted["tool"], drifted["n"], drifted["overall"]) == ("hang", good + 30, share)
    assert drifted["change_point"] == ((START + timedelta(seconds=100)).replace(tzinfo=None) if good else None)
    result = run(con, "failure_rate")
    texts = [as_text(sentence, Translations("en")) for sentence in query_verdicts(find("failure_rate"), result)]
    assert [text.partition(" (")[0] for text in texts] == [f"hang is cut off most: 30 attempts, {100 * share:.1f} %"]
    slow = named(con, "latency")
    assert (slow["p95"], slow["p95_high"], slow["at_least"], slow["cut_off"]) == (5000, None, True, 30)


def test_a_comparison_has_the_share_of_attempts_that_were_cut_off_where_there_are_any(engine, make):
    con = engine(
        *(make(tool=tool, started_at=START + timedelta(seconds=i)) for i in range(30) for tool in ("hang", "fine")),
        *(make(tool="hang", started_at=START + timedelta(days=1, seconds=i), **DEADLINE) for i in range(30)),
        *(make(tool="fine", started_at=START + timedelta(days=1, seconds=i)) for i in range(30)),
    )
    half = (START + timedelta(hours=12)).replace(tzinfo=None).isoformat()
    compared = run(con, "compare", before=f"..{half}", after=f"{half}..").dicts()
    (row,) = [row for row in compared if row["measure"] == "cut_off_share"]
    assert [row[name] for name in ("tool", "before", "after", "verdict", "n_before", "n_after")] == [
        "hang",
        0,
        1,
        "worse",
        30,
        30,
    ]


@pytest.mark.parametrize("other", NOT_COUNTED)
def test_other_cancellations_say_nothing_about_the_tool(engine, make, other):
    con = engine(*(make() for _ in range(30)), *(make(**other) for _ in range(30)))
    for query in ("failure_rate", "overview", "ranking"):
        row = run(con, query).dicts()[0]
        assert (row["attempts"], row["cut_off"], row["cut_off_share"]) == (30, 0, 0)
    assert run(con, "errors").dicts() == []
    assert (run(con, "latency").dicts()[0]["n"], run(con, "latency").dicts()[0]["at_least"]) == (30, False)


@pytest.mark.parametrize("seed", range(8))
def test_no_share_of_cut_off_attempts_is_above_1(engine, make, seed):
    draw = random.Random(seed)
    kinds = ["ok", "error", "TIMEOUT", "CANCELLED", None, "abandoned", "left", "lost"]
    endings = draw.choices(kinds, [draw.random() for _ in kinds], k=draw.randrange(1, 30))
    known = {
        "ok": {},
        "error": {"status": "error", "code": "TIMEOUT"},
        "abandoned": {"status": None, "ending": "abandoned"},
        "left": {"status": None, "ending": "abandoned", "first_item_ms": 3.0},
        "lost": {"status": None, "ending": "lost"},
    }
    con = engine(
        *(make(**known.get(one, {"status": None, "ending": "cancelled", "code": one}), conversation_id=f"c{i % 4}")
          for i, one in enumerate(endings))
    )  # fmt: skip
    for query in ("failure_rate", "overview", "ranking"):
        for row in run(con, query).dicts():
            share = row["cut_off_share"]
            assert share is None or 0 <= row["cut_off_low"] <= share <= row["cut_off_high"] <= 1


def _grid(values: list[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered[round(share * (len(ordered) - 1))] for share in GRID]


def test_cut_off_times_only_raise_percentiles_and_are_those_of_kaplan_and_meier():
    finished, cut = [float(10 * i) for i in range(1, 41)], [float(13 * i) for i in range(1, 31)]
    found = with_censored(_grid(finished), 40, _grid(cut), 30)
    oracle = SurvfuncRight(finished + cut, [1] * 40 + [0] * 30)
    for p in (0.5, 0.9):
        assert percentile(p, found) == pytest.approx(oracle.quantile(p), rel=0.1)
        assert percentile(p, found) >= percentile(p, _grid(finished))
