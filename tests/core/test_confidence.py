"""Confidence from named signals, and the step that it allows."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tooltrace as tt
from tooltrace.core.confidence import band

RULES = tt.ConfidenceRules({"exact_title": 0.25, "same_author": 0.15, "old": -0.4}, base=0.5)


def test_signals_that_fired_make_the_score_and_are_kept() -> None:
    score = RULES.score(["exact_title", "same_author"])
    assert score == pytest.approx(0.9)
    assert score.signals == {"exact_title": 0.25, "same_author": 0.15}


def test_a_signal_fires_or_not_or_by_half() -> None:
    score = RULES.score({"exact_title": True, "same_author": False, "old": 0.5})
    assert score == pytest.approx(0.55)
    assert score.signals == {"exact_title": 0.25, "old": -0.2}


@given(st.dictionaries(st.text(min_size=1), st.floats(-1e6, 1e6)), st.floats(0, 1), st.data())
def test_a_score_is_a_confidence_whatever_fires(weights: dict[str, float], base: float, data: st.DataObject) -> None:
    fired = data.draw(st.lists(st.sampled_from(sorted(weights)), unique=True) if weights else st.just([]))
    score = tt.ConfidenceRules(weights, base=base).score(fired)
    assert 0.0 <= score <= 1.0
    assert set(score.signals) == set(fired)
    assert tt.ToolResponse.success("x", confidence=score).confidence == score


def test_a_response_and_its_record_take_the_signals_along(store: object) -> None:
    response = tt.ToolResponse.success("x", confidence=RULES.score(["old"]))
    assert response.signals == {"old": -0.4}
    tt.trace_tool(lambda: response)()
    with tt.connect() as db:
        assert db.execute("SELECT confidence, signals ->> '$.old' FROM tool_calls").fetchall() == [
            (pytest.approx(0.1), "-0.4")
        ]


def test_signals_said_by_hand_are_left_as_they_are() -> None:
    assert tt.ToolResponse.success("x", confidence=RULES.score(["old"]), signals={"a": 1.0}).signals == {"a": 1.0}


@pytest.mark.parametrize("bad", [{"weights": {"a": math.nan}}, {"weights": {"a": "1"}}, {"weights": {}, "base": 1.1}])
def test_what_cannot_be_weighed_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(tt.TooltraceError):
        tt.ConfidenceRules(**bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("signals", [["exact_titel"], {"old": 2}, {"old": math.nan}, {"old": "yes"}])
def test_a_signal_nobody_knows_or_no_strength_is_refused(signals: object) -> None:
    with pytest.raises(tt.TooltraceError):
        RULES.score(signals)  # type: ignore[arg-type]


def test_bands_begin_at_their_bounds() -> None:
    assert [band(x) for x in (0.0, 0.4999, 0.5, 0.7999, 0.8, 1.0)] == ["low", "low", "middle", "middle", "high", "high"]


@pytest.mark.parametrize(
    ("response", "step"),
    [
        (tt.ToolResponse.success("x"), "continue"),
        (tt.ToolResponse.success("x", confidence=0.8), "continue"),
        (tt.ToolResponse.success("x", confidence=0.79), "ask_user"),
        (tt.ToolResponse.partial("x", confidence=0.49), "human_review"),
        (tt.ToolResponse.success("x", confidence=0.1, next_action="continue"), "continue"),
        (tt.ToolResponse.error("TIMEOUT", "x"), "retry"),
        (tt.ToolResponse.error("TIMEOUT", "x", retryable=False), "human_review"),
        (tt.ToolResponse.error("MY_CODE", "x", retryable=True), "retry"),
        (tt.ToolResponse.error("MY_CODE", "x"), "human_review"),
        (tt.ToolResponse.error("CIRCUIT_OPEN", "x"), "stop"),
        (tt.ToolResponse.error("NOT_FOUND", "x"), "ask_user"),
        (tt.ToolResponse.error("TIMEOUT", "x", next_action="stop"), "stop"),
        (tt.ToolResponse(status="error", error={"code": "RATE_LIMIT", "message": "x", "retryable": True}), "retry"),
        (tt.ToolResponse(status="error", error={"code": "INVALID_PARAM", "message": "x"}), "continue"),
    ],
)  # fmt: skip
def test_the_next_step(response: tt.ToolResponse, step: str) -> None:
    assert tt.resolve_next_step(response) == step
