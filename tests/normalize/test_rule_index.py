"""The index leaves out only rules that would have answered nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tooltrace as tt
from tests.normalize.test_corpus import samples
from tests.normalize.test_losses import SHAPES
from tooltrace.normalize.engine import apply_rules_to_view, index_of
from tooltrace.normalize.heuristics import error_text
from tooltrace.normalize.heuristics.failure_phrases import FAILURES
from tooltrace.normalize.heuristics.report_signs import may_be_read
from tooltrace.normalize.result_view import snapshot_result, view_of
from tooltrace.normalize.rule import ResultView

TEXTS = st.lists(
    st.sampled_from(
        "Error error: Failed to open file not found The path exceeds is required must be No such Invalid 'a' timeout \n : . 404"
        " time-out not_found exit code 1 Traceback 错误 失败 无法 请先 登录 文件 不存在 ， the of and with weather <error> </error> {' ❌ (".split(
            " "
        )
    )
    | st.text(max_size=8),
    max_size=14,
).map(" ".join)
ASKED_ALL = tuple(replace(rule, reads=None) for rule in tt.RULES)


@pytest.mark.long
def test_real_results_read_the_same() -> None:
    differing = []
    for sample in samples():
        look = view_of(*snapshot_result(sample.live()))
        if apply_rules_to_view(look, tt.RULES) != apply_rules_to_view(look, ASKED_ALL):
            differing.append(sample.id)
    assert differing == []


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


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts_in(item)


@pytest.fixture
def without_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_text, "may_report", lambda _: True)


@given(TEXTS)
def test_a_made_up_text_reads_the_same_without_the_quick_test(text: str) -> None:
    look = view_of(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(error_text, "may_report", lambda _: True)
        whole = apply_rules_to_view(look, ASKED_ALL)
    assert apply_rules_to_view(look, tt.RULES) == whole


@pytest.mark.simulations
def test_the_texts_of_every_collection_read_the_same_without_the_quick_test(without_signs: None) -> None:
    here = Path(__file__).parent
    files = [*here.glob("*.jsonl"), *here.glob("corpus/*.jsonl"), *here.glob("unseen/*.jsonl")]
    texts = {
        text for file in files for line in file.read_text("utf-8").splitlines() for text in texts_in(json.loads(line))
    }
    assert len(texts) > 2000
    read = {
        text: apply_rules_to_view(view_of(text), ASKED_ALL) is not None
        for text in texts
        if isinstance(view_of(text).data, str)
    }
    assert [text for text in read if read[text] and not may_be_read(text)] == []


def test_every_phrase_of_a_failure_passes_the_quick_test() -> None:
    spelt = (text for one in FAILURES for text in (one, one.replace(" ", "_"), one.replace(" ", "-").upper()))
    assert [text for text in spelt if not may_be_read(text)] == []


def test_the_index_of_the_built_in_rules_is_made_once() -> None:
    assert index_of(tt.RULES) is index_of(tt.RULES)
