"""The model calls after the calls of a tool."""

from __future__ import annotations

import pytest

from tests.queries.answers import run
from tests.queries.test_footprint import CONVENTIONS, model_call, result, traced  # noqa: F401

NAMES = ("calls", "input_tokens", "output_tokens", "failed", "failed_input_tokens", "failed_output_tokens")


def answer(con, **given):
    relation = run(con, "model_turns", **given)
    rows = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
    return {(row["tool"], row["model"]): tuple(row[name] for name in NAMES) for row in rows}


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_the_first_model_call_after_a_call_is_its_turn(engine, traced, convention):  # noqa: F811
    con = engine(
        model_call(0, 1000, 20, convention=convention),
        traced(1, status="error"),
        model_call(2, 1100, 30, convention=convention),
        traced(3),
        model_call(4, 1200, 40, convention=convention),
        model_call(5, 9999, 99, convention=convention),
    )
    model = "" if convention == "OpenLLMetry" else "m"
    assert answer(con) == {("search", model): (2, 2300, 70, 1, 1100, 30)}


def test_calls_before_one_model_call_share_it_and_calls_before_none_have_none(engine, traced, result):  # noqa: F811
    con = engine(
        traced(1, status="error"), traced(1.2, tool="fetch"), model_call(2, 1000, 20), traced(3),
        result(1, trace_id="8" * 32),
    )  # fmt: skip
    assert answer(con) == {("search", "m"): (1, 500, 10, 1, 500, 10), ("fetch", "m"): (1, 500, 10, 0, 0, 0)}


def test_a_span_around_a_model_call_that_repeats_its_usage_is_no_second_one(engine, traced):  # noqa: F811
    around = model_call(2, 1000, 20)
    con = engine(traced(1), around, model_call(2.1, 1000, 20, parent=around.span_id))
    assert answer(con) == {("search", "m"): (1, 1000, 20, 0, 0, 0)}
