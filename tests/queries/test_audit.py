"""The ten points of the protocol and the five of our own, each with what passes, what does not, and what cannot be told."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from statsmodels.stats.proportion import proportion_confint

import tooltrace as tt
from tests.queries.answers import run
from tests.queries.conftest import START
from tooltrace.core.records import Outcome
from tooltrace.errors import BadParameter

NAMES = [
    "one envelope for all results", "success means execution only", "confidence on results", "results can be traced",
    "errors structured", "next action given", "results evaluated", "earlier tools adapted",
    "low confidence is not strong evidence", "sources suffice to cite", "confidence calibrated", "confidence has signals",
    "retryable reported correctly", "errors state what to do", "version, call id, duration",
]  # fmt: skip
GOOD_RESULT = {
    "confidence": 0.75, "signals": '{"coverage":0.2}', "next_action": "continue", "tool_version": "1", "rule": "tool_response",
    "rule_grade": "certain", "sources": '[{"type":"file","id":"a"}]',
}  # fmt: skip
GOOD_ERROR = {
    "status": "error", "code": "TIMEOUT", "retryable": True, "suggestion": "ask for less", "next_action": "retry",
    "tool_version": "1", "rule": "tool_response", "rule_grade": "certain",
}  # fmt: skip


def answer(con, **given):
    relation = run(con, "audit", **{"points": 15, **given})
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def at_point(number, con, **given):
    (row,) = [row for row in answer(con, **given) if row["point"] == number]
    return row


def verdicts_of(engine, make, point, *cases):
    """Whether each case passes, as the only attempt of a tool of its own: a query costs its planning, not its rows."""
    con = engine(*(make(**case, tool=str(number)) for number, case in enumerate(cases)))
    found = {row["tool"]: row["passed"] for row in answer(con) if row["point"] == point}
    return [found[str(number)] for number in range(len(cases))]


def verdicts(con, **given):
    return [row["passed"] for row in answer(con, **given)]


def labels(attempts, rights):
    return [Outcome(span_id=a.span_id, correct=i < rights, labeled_at=START) for i, a in enumerate(attempts)]


@pytest.fixture
def retried(make):
    """A call that failed and was tried again, with this result."""

    def retried(status, **given):
        first = make(**{**GOOD_ERROR, **given})
        later = START + timedelta(seconds=1)
        return [
            first,
            make(**{**GOOD_RESULT, "status": status, "call_id": first.call_id, "attempt": 2, "started_at": later}),
        ]

    return retried


def test_a_tool_that_passes_all_points(engine, make, retried):
    calls = [record for _ in range(20) for record in retried("success")]
    con = engine(*calls, *labels([call for call in calls if call.status == "success"], 15))
    rows = answer(con)
    assert [(row["tool"], row["point"], row["name"]) for row in rows] == [
        ("search", i, name) for i, name in enumerate(NAMES, 1)
    ]
    assert [row["passed"] for row in rows] == [True] * 8 + [None] + [True] * 6
    assert [row["n"] for row in rows] == [40, 40, 20, 20, 20, 40, 20, 40, 0, 20, 20, 20, 20, 20, 40]
    assert {(row["attempts"], row["too_few"], row["unread_share"]) for row in rows} == {(40, False, 0.0)}
    assert [row["evidence"] for row in rows] == [
        "40 of 40 returned results came in an envelope, 0 of them with data; 0 attempts are unread",
        "none of 40 stated results describes a failure as a success",
        "20 of 20 results have a confidence",
        "20 of 20 results name a source with an id or a url",
        "20 of 20 errors are structured and have a specific code",
        "40 of 40 attempts recommend a next action",
        "20 of 20 results are labelled",
        "none of 40 attempts needed a heuristic rule to find a failure",
        "no result has a confidence below 0.5",
        "20 of 20 results have sources that all have a type and an id",
        "20 of 20 results with a confidence are labelled: mean confidence 0.75, accuracy 0.75, not clearly over- or underconfident, gap 0.0 [-0.14, 0.22]; "
        "expected calibration error 0.0, where that of a calibrated tool is below 0.2 in 95 of 100 cases",
        "20 of 20 results with a confidence have signals",
        "20 of 20 errors report whether they are retryable; 20 of 20 retryable errors that were retried succeeded, 1.0 [0.84, 1.0]",
        "20 of 20 errors state what to do: 20 with a suggestion, 0 with a message for the user",
        "of 40 attempts 40 have a tool version, 40 a call id from the model, 40 a duration",
    ]
    assert [row["point"] for row in answer(con, points=10)] == list(range(1, 11))


def test_a_function_without_responses_fails_most_points(engine, make):
    con = engine(*(make(rule="plain", rule_grade="unread", call_id=f"{i:016x}", span_id=f"{i:016x}") for i in range(3)))
    assert verdicts(con) == [
        False, None, False, False, None, False, False, True, None, False, None, None, None, None, False,
    ]  # fmt: skip
    rows = answer(con)
    assert {row["unread_share"] for row in rows} == {1.0}
    assert rows[14]["evidence"] == "of 3 attempts 0 have a tool version, 0 a call id from the model, 3 a duration"
    assert all(row["fix"] for row in rows)
    assert all(row["too_few"] for row in rows)


@pytest.mark.parametrize(("reporting", "passed"), [(9, True), (8, False)])
def test_nine_of_ten_are_a_habit(engine, make, reporting, passed):
    con = engine(*(make(confidence=0.5 if i < reporting else None) for i in range(10)))
    assert at_point(3, con)["passed"] is passed
    assert at_point(3, con, good_share=reporting / 10)["passed"] is True
    assert at_point(3, con, good_share=1)["passed"] is False


@pytest.mark.parametrize("name", ["good_share", "retry_share"])
def test_a_share_is_not_a_percentage(engine, name):
    with pytest.raises(BadParameter, match=f"^parameter '{name}' must be a number from 0 to 1; got 90"):
        answer(engine(), **{name: 90})


def test_a_confidence_out_of_range_is_unknown(engine, make):
    con = engine(*(make(tool=str(wrong), confidence=wrong) for wrong in (float("nan"), float("inf"), -0.5, None)))
    passed = {(row["tool"], row["point"]): row["passed"] for row in answer(con)}
    for tool in ("nan", "inf", "-0.5", "None"):
        assert [passed[tool, point] for point in (3, 11, 12)] == [False, None, None], tool


def test_a_confidence_on_an_error_is_not_one_on_a_result(engine, make):
    con = engine(make(status="error", confidence=0.9))
    assert (at_point(3, con)["passed"], at_point(3, con)["evidence"]) == (None, "no results")


def test_a_confidence_without_labels_is_not_calibrated(engine, make):
    attempts = [make(confidence=0.9) for _ in range(20)]
    assert at_point(11, engine(*attempts))["evidence"] == "none of 20 results with a confidence is labelled"
    assert at_point(11, engine(*attempts, *labels(attempts[:19], 17)))["passed"] is False
    assert at_point(11, engine(*attempts, *labels(attempts[:19], 17)), min_n=19)["passed"] is True
    assert at_point(11, engine(*attempts), min_n=0)["passed"] is False


@pytest.mark.parametrize(
    ("rights", "passed", "claim"),
    [
        (100, False, "underconfident by 0.15"),
        (90, True, "not clearly over- or underconfident, gap -0.05"),
        (70, False, "overconfident by 0.15"),
    ],
)
def test_point_11_is_passed_unless_calibration_says_miscalibrated(engine, make, rights, passed, claim):
    attempts = [make(confidence=0.85) for _ in range(100)]
    con = engine(*attempts, *labels(attempts, rights))
    row = at_point(11, con)
    assert row["passed"] is passed
    assert run(con, "calibration").project("miscalibrated").fetchone() == (not passed,)
    low, high = (0.85 - end for end in reversed(proportion_confint(rights, 100, method="wilson")))
    limits = sorted(abs(round(end, 2)) for end in (low, high)) if rights != 90 else [round(low, 2), round(high, 2)]
    assert (
        f"{claim} [{limits[0]}, {limits[1]}]; expected calibration error {abs(0.85 - rights / 100):.2f}"
        in row["evidence"]
    )


def test_too_modest_is_a_gap_too(engine, make):
    attempts = [make(confidence=0.3) for _ in range(40)]
    row = at_point(11, engine(*attempts, *labels(attempts, 40)))
    assert row["passed"] is False
    assert "underconfident by 0.7 [0.61, 0.7]" in row["evidence"]


def test_signals(engine, make):
    cases = [{"confidence": 0.5, "signals": signals} for signals in (None, "{}", "null", '{"a":1}')]
    assert verdicts_of(engine, make, 12, *cases) == [False, False, False, True]


def test_sources(engine, make):
    sources = [
        {"type": "file", "id": "a"}, {"type": "other", "id": "a"}, {"id": "a"}, {"type": "file"}, {"type": "file", "id": ""},
    ]  # fmt: skip
    cases = [{"sources": json.dumps([source])} for source in sources]
    assert verdicts_of(engine, make, 10, *cases) == [True, False, False, False, False]


@pytest.mark.long
def test_results_without_sources_cannot_be_traced_or_cited(engine, make):
    sourced = {"sources": '[{"type":"file","id":"a"}]'}
    for calls in ([make()], [make(sources="[]")], [make(**sourced), *(make() for _ in range(30))]):
        found = {row["point"]: row["passed"] for row in answer(engine(*calls))}
        assert (found[4], found[10]) == (False, False)
    cases = [{"sources": json.dumps([source])} for source in ({"label": "handbook"}, {"url": "/a"}, {"id": "a"})]
    assert verdicts_of(engine, make, 4, *cases) == [False, True, True]
    assert verdicts_of(engine, make, 10, *cases) == [False, False, False]
    failed = at_point(10, engine(make(status="error")))
    assert (failed["passed"], failed["evidence"]) == (None, "no results")


def test_one_envelope(engine, make):
    cases = [
        {"rule": "envelope", "rule_grade": "certain"}, {"rule": "plain", "rule_grade": "unread"},
        {"rule": "error_text", "rule_grade": "heuristic"}, {"rule": "exception", "rule_grade": "certain", "ending": "raised", "status": "error"},
    ]  # fmt: skip
    assert verdicts_of(engine, make, 1, *cases) == [True, False, False, None]


def test_results_are_evaluated_where_enough_are_labelled(engine, make):
    attempts = [make() for _ in range(20)]
    assert at_point(7, engine(*attempts))["passed"] is False
    assert at_point(7, engine(*attempts, *labels(attempts[:19], 10)))["passed"] is False
    assert at_point(7, engine(*attempts, *labels(attempts, 10)))["passed"] is True


def test_a_low_confidence_that_advises_to_continue_is_found(engine, make):
    cases = [
        {"confidence": 0.1, "next_action": "continue"}, {"confidence": 0.1}, {"confidence": 0.49, "next_action": "ask_user"},
        {"confidence": 0.5, "next_action": "continue"},
    ]  # fmt: skip
    assert verdicts_of(engine, make, 9, *cases) == [False, True, True, None]
    row = at_point(9, engine(make(call_id="weak", **cases[0])))
    assert (row["example_call_id"], row["evidence"]) == (
        "weak", "1 of 1 results with a low confidence advise to continue, such as call weak",
    )  # fmt: skip


def test_errors_are_structured(engine, make):
    codes = ["QUOTA", "EXECUTION_ERROR", "UNKNOWN", None]
    failed = [{"status": "error", "code": code, "rule_grade": "certain"} for code in codes]
    guessed = [{"status": "error", "code": "QUOTA", "rule_grade": "heuristic", "rule": "error_text"}]
    succeeded = [{"code": code} for code in codes]
    expected = [True, False, False, False, False, None, None, None, None]
    assert verdicts_of(engine, make, 5, *failed, *guessed, *succeeded) == expected


def test_retryable_has_to_be_reported(engine, make):
    row = at_point(13, engine(make(status="error"), make(status="error", retryable=False)))
    assert (row["passed"], row["n"]) == (False, 2)
    assert row["evidence"] == "1 of 2 errors report whether they are retryable; no retryable error was retried"


@pytest.mark.long
def test_point_13_needs_retries_to_be_judged(engine, make, retried):
    untried = [make(**GOOD_ERROR) for _ in range(30)]
    assert at_point(13, engine(*untried))["passed"] is None
    for good, passed in ((20, True), (7, True), (1, False), (0, False)):
        calls = [record for i in range(20) for record in retried("success" if i < good else "error", retryable=True)]
        attempts = [call if call.attempt == 1 or call.status == "success" else make(**{**GOOD_ERROR, "call_id": call.call_id,
                "attempt": 2, "started_at": call.started_at}) for call in calls]  # fmt: skip
        row = at_point(13, engine(*attempts))
        assert row["passed"] is passed
        assert f"{good} of 20 retryable errors that were retried succeeded" in row["evidence"]
        assert (proportion_confint(good, 20, method="wilson")[1] >= 0.5) is passed
        assert at_point(13, engine(*attempts), min_n=21)["passed"] is None


def test_a_success_in_another_conversation_is_not_a_retry(engine, make):
    first = make(**GOOD_ERROR, call_id="a")
    other = make(call_id="a", conversation_id="other", started_at=START + timedelta(seconds=1))
    assert "no retryable error was retried" in at_point(13, engine(first, other))["evidence"]


def test_errors_state_what_to_do(engine, make):
    cases = [{"status": "error", **given} for given in ({}, {"suggestion": "x"}, {"user_message": "x"})]
    assert verdicts_of(engine, make, 14, *cases) == [False, True, True]


def test_meta_is_all_of_it(engine, make):
    missing = [{}, {"tool_version": None}, {"call_id": "f" * 16, "span_id": "f" * 16}, {"duration_ms": None}]
    cases = [{"tool_version": "1", **given} for given in missing]
    assert verdicts_of(engine, make, 15, *cases) == [True, False, False, False]


FOUND = [
    ({"status": "error", "rule": "mcp/hidden", "rule_grade": "heuristic"}, False, True),
    ({"status": "partial", "rule": "error_member", "rule_grade": "heuristic"}, None, False),
    ({"status": "success", "rule": "exit_status", "rule_grade": "heuristic"}, None, True),
    ({"status": "error", "rule": "exception", "rule_grade": "certain", "ending": "raised"}, None, True),
    ({"status": "error", "rule": "envelope", "rule_grade": "certain"}, True, True),
    ({"status": "error", "rule": None}, None, None),
]
"""Attempts, and whether points 2 and 8 pass: a success that hides a failure, and a failure that a heuristic found."""


def test_failures_that_were_not_reported_as_such(engine, make):
    con = engine(*(make(call_id=f"call_{n}_", tool=str(n), **given) for n, (given, *_) in enumerate(FOUND)))
    rows = [row for row in answer(con) if row["point"] in (2, 8)]
    for row in rows:
        passed = FOUND[int(row["tool"])][1 if row["point"] == 2 else 2]
        assert row["passed"] is passed, row
        assert (f"call call_{row['tool']}_" in row["evidence"]) is (passed is False)


def test_unfinished_attempts_are_not_audited(engine, make):
    con = engine(
        *(make(status=None, ending=ending) for ending in ("cancelled", "abandoned", "paused", "declined", "expired"))
    )
    assert answer(con) == []
    assert answer(con, by=[]) == []
    assert {row["attempts"] for row in answer(engine(make(), make(status=None, ending="paused")))} == {1}


def test_groups_and_the_window(engine, make):
    con = engine(make(), make(tool="fetch", tool_version="1"), make(tool="fetch", tool_version="2"))
    assert [(row["tool"], row["point"]) for row in answer(con)] == [
        (tool, i) for tool in ("fetch", "search") for i in range(1, 16)
    ]
    assert [row["version"] for row in answer(con, by="version", tool="fetch")] == ["1"] * 15 + ["2"] * 15
    assert {row["attempts"] for row in answer(con, by=[])} == {3}
    assert answer(con, until="2026-03-01T12:00:00") == []
    assert len(answer(con, since="2026-03-01T12:00:00")) == 30


def test_as_recorded(store):
    @tt.trace_tool(version="1")
    def good(ok):
        if ok:
            return tt.ToolResponse.success(
                "42",
                confidence=0.9,
                signals={"exact": 1.0},
                next_action="continue",
                sources=[tt.Source(type="api", id="a")],
            )
        return tt.ToolResponse.error("RATE_LIMIT", "slow down", suggestion="wait a minute")

    @tt.trace_tool
    def bad():
        return {"data": "timeout"}

    for i in range(4):
        with tt.context(call_id=f"call_{i}"):
            good(i > 0)
            bad()
    tt.flush()
    rows = tt.query("audit", store=store, points=15).rows
    passed = {tool: [row[3] for row in rows if row[0] == tool] for tool in ("good", "bad")}
    assert passed["good"] == [
        True, True, True, True, True, False, False, True, None, True, False, True, False, True, True,
    ]  # fmt: skip
    assert passed["bad"] == [
        False, None, None, None, False, False, None, False, None, None, None, None, False, False, False,
    ]  # fmt: skip


def test_the_figures_of_point_11_are_those_of_calibration(engine, make):
    """Conversations of five results, in which confidence and accuracy vary together."""
    calls = [make(conversation_id=f"talk_{i // 5}", confidence=0.5 + (i * 7 % 50) / 100) for i in range(100)]
    con = engine(*calls, *labels(calls, 65))
    figures = json.loads(at_point(11, con)["figures"])
    relation = run(con, "calibration")
    (row,) = (dict(zip(relation.columns, line, strict=True)) for line in relation.fetchall())
    expected = {"low": row["gap_low"], "high": row["gap_high"], "gap": row["gap"]}
    sign = -1 if figures["sentence"] == "under" else 1
    limits = sorted(sign * figures[name] for name in ("low", "high"))
    assert [sign * figures["gap"], *limits] == pytest.approx(
        [expected["gap"], expected["low"], expected["high"]], abs=1e-6
    )
    found = at_point(11, con)
    assert found["passed"] is not row["miscalibrated"]
    assert (figures["ece"], figures["limit"]) == pytest.approx((row["ece"], row["ece_null_p95"]), abs=1e-6)
    assert (found["clusters"], found["design_effect"]) == (row["clusters"], pytest.approx(row["design_effect"]))


def test_labels_of_few_conversations_do_not_show_that_confidence_is_calibrated(engine, make):
    for talks, passed in ((1, False), (4, False), (5, True)):
        calls = [make(conversation_id=f"talk_{i % talks}", confidence=0.8) for i in range(60)]
        found = at_point(11, engine(*calls, *labels(calls, 48)))
        assert found["passed"] is passed
        assert found["clusters"] == talks
    together = [make(conversation_id="talk", confidence=0.8) for _ in range(30)]
    assert "all of one conversation" in at_point(11, engine(*together, *labels(together, 24)))["evidence"]
