"""Confidence from named signals, and the step that it allows."""

from __future__ import annotations

import json
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tooltrace as tt
from tooltrace.core.confidence import band

RULES = tt.ConfidenceRules({"exact_title": 0.25, "same_author": 0.15, "old": -0.4}, base=0.5)


def test_fired_signals_make_the_score_and_are_recorded() -> None:
    score = RULES.score(["exact_title", "same_author"])
    assert score == pytest.approx(0.9)
    assert score.signals == {"exact_title": 0.25, "same_author": 0.15}


def test_a_signal_fires_or_not_or_by_half() -> None:
    score = RULES.score({"exact_title": True, "same_author": False, "old": 0.5})
    assert score == pytest.approx(0.55)
    assert score.signals == {"exact_title": 0.25, "old": -0.2}


@given(st.dictionaries(st.text(min_size=1), st.floats(-1e6, 1e6)), st.floats(0, 1), st.data())
def test_any_combination_of_signals_gives_a_valid_confidence(
    weights: dict[str, float], base: float, data: st.DataObject
) -> None:
    fired = data.draw(st.lists(st.sampled_from(sorted(weights)), unique=True) if weights else st.just([]))
    score = tt.ConfidenceRules(weights, base=base).score(fired)
    assert 0.0 <= score <= 1.0
    assert set(score.signals) == set(fired)
    assert tt.ToolResponse.success("x", confidence=score).confidence == score


def test_signals_are_in_the_response_and_the_record(store: object) -> None:
    response = tt.ToolResponse.success("x", confidence=RULES.score(["old"]))
    assert response.signals == {"old": -0.4}
    tt.trace_tool(lambda: response)()
    with tt.connect() as db:
        assert db.execute("SELECT confidence, signals ->> '$.old' FROM tool_calls").fetchall() == [
            (pytest.approx(0.1), "-0.4")
        ]


def test_explicit_signals_are_unchanged() -> None:
    assert tt.ToolResponse.success("x", confidence=RULES.score(["old"]), signals={"a": 1.0}).signals == {"a": 1.0}


@pytest.mark.parametrize("bad", [{"weights": {"a": math.nan}}, {"weights": {"a": "1"}}, {"weights": {}, "base": 1.1}])
def test_invalid_weights_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(tt.TooltraceError):
        tt.ConfidenceRules(**bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("signals", [["exact_titel"], {"old": 2}, {"old": math.nan}, {"old": "yes"}])
def test_an_unknown_signal_or_invalid_strength_is_refused(signals: object) -> None:
    with pytest.raises(tt.TooltraceError):
        RULES.score(signals)  # type: ignore[arg-type]


def test_bands_begin_at_their_bounds() -> None:
    assert [band(x) for x in (0.0, 0.4999, 0.5, 0.7999, 0.8, 1.0)] == ["low", "low", "middle", "middle", "high", "high"]


@pytest.mark.parametrize(
    ("response", "step"),
    [
        (tt.ToolResponse.success("x"), "continue"),
        (tt.ToolResponse.success("x", confidence=0.8), "continue"),
        (tt.ToolResponse.success("x", confidence=0.79), "continue"),
        (tt.ToolResponse.success("x", confidence=0.5), "continue"),
        (tt.ToolResponse.partial("x", confidence=0.49), "human_review"),
        (tt.ToolResponse.success("x", confidence=0.79, next_action="ask_user"), "ask_user"),
        (tt.ToolResponse.success("x", confidence=0.1, next_action="continue"), "continue"),
        (tt.ToolResponse.error("TIMEOUT", "x"), "retry"),
        (tt.ToolResponse.error("TIMEOUT", "x", retryable=False), "human_review"),
        (tt.ToolResponse.error("MY_CODE", "x", retryable=True), "retry"),
        (tt.ToolResponse.error("MY_CODE", "x"), "human_review"),
        (tt.ToolResponse.error("CIRCUIT_OPEN", "x"), "stop"),
        (tt.ToolResponse.error("NOT_FOUND", "x"), "ask_user"),
        (tt.ToolResponse.error("TIMEOUT", "x", next_action="stop"), "stop"),
        (tt.ToolResponse.error("ORDER_NOT_FOUND", "x", False, "call list_orders"), "continue"),
        (tt.ToolResponse.error("TIMEOUT", "x", suggestion="ask for fewer rows"), "continue"),
        (tt.ToolResponse.error("TIMEOUT", "x", True, "ask for fewer rows"), "retry"),
        (tt.ToolResponse.error("CIRCUIT_OPEN", "x", suggestion="use another tool"), "stop"),
        (tt.ToolResponse(status="error", error={"code": "RATE_LIMIT", "message": "x", "retryable": True}), "retry"),
        (tt.ToolResponse(status="error", error={"code": "INVALID_PARAM", "message": "x"}), "continue"),
    ],
)  # fmt: skip
def test_the_next_step(response: tt.ToolResponse, step: str) -> None:
    assert tt.resolve_next_step(response) == step


def test_an_application_chooses_the_step_after_a_low_confidence() -> None:
    low, middle = (tt.ToolResponse.success("x", confidence=value) for value in (0.49, 0.5))
    assert [tt.resolve_next_step(each, low="ask_user") for each in (low, middle)] == ["ask_user", "continue"]


def test_the_step_has_the_facts_that_it_depends_on() -> None:
    error = tt.ToolResponse.error("MY_CODE", "x", retryable=True, user_message="Please wait.")
    step = tt.resolve_next_step(error)
    assert (step, step.action, step.retryable, step.user_message, step.uncertain) == (
        "retry",
        "retry",
        True,
        "Please wait.",
        False,
    )
    assert type(step.action) is str


def test_a_step_takes_retryable_from_the_code_where_the_tool_states_nothing() -> None:
    response = tt.ToolResponse(status="error", error={"code": "RATE_LIMIT", "message": "x"})  # type: ignore[call-arg]
    assert tt.resolve_next_step(response).retryable is True
    assert tt.resolve_next_step(tt.ToolResponse.success("x")).retryable is None


@pytest.mark.parametrize(("confidence", "uncertain"), [(None, False), (0.8, False), (0.79, True), (0.1, True)])
def test_a_step_and_the_message_agree_on_uncertainty(confidence: float | None, uncertain: bool) -> None:
    response = tt.ToolResponse.success("x", confidence=confidence)
    assert tt.resolve_next_step(response).uncertain is uncertain
    assert response.to_message("c1", "plain").startswith("Uncertain") is uncertain


def test_a_step_survives_pickle_and_is_json_text() -> None:
    step = tt.resolve_next_step(tt.ToolResponse.error("TIMEOUT", "x", user_message="wait"))
    again = pickle.loads(pickle.dumps(step))
    assert repr(again) == repr(step) == "NextStep('retry', retryable=True, user_message='wait', uncertain=False)"
    assert json.dumps(step) == '"retry"'
    assert tt.ToolResponse.success("x", next_action=step.action).next_action == "retry"
