"""The index leaves out only rules that would have answered nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tooltrace as tt
from tests.normalize.test_corpus import samples
from tests.normalize.test_losses import SHAPES
from tooltrace.normalize.engine import apply_rules_to_view, index_of
from tooltrace.normalize.result_view import snapshot_result, view_of
from tooltrace.normalize.rule import ResultView

ASKED_ALL = tuple(replace(rule, reads=None) for rule in tt.RULES)


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.id)
def test_a_real_result_reads_the_same(sample: Any) -> None:
    look = view_of(*snapshot_result(sample.live()))
    assert apply_rules_to_view(look, tt.RULES) == apply_rules_to_view(look, ASKED_ALL)


@given(st.one_of(*SHAPES.values()))
def test_a_made_up_result_reads_the_same(value: dict[str, Any]) -> None:
    look = ResultView(value)
    assert apply_rules_to_view(look, tt.RULES) == apply_rules_to_view(look, ASKED_ALL)


def test_ordinary_results_have_no_candidate_rules() -> None:
    assert list(index_of(tt.RULES).candidates(ResultView({"query": "cats", "total": 2}))) == []
    assert list(index_of(tt.RULES).candidates(ResultView(7))) == []


def test_a_custom_rule_is_a_candidate_for_every_result() -> None:
    own = tt.rule("own")(lambda value: tt.ToolResponse.partial("mine") if value == 7 else None)
    assert tt.normalize(7, rules=[*tt.RULES, own]).meta.rule == "own"
    assert tt.normalize(8, rules=[*tt.RULES, own]).meta.rule == "plain"
