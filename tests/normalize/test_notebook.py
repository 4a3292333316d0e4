"""Results of failed code in a kernel."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.normalize.shapes import ALL, CERTAIN, anything, lost, objects, read
from tests.normalize.test_rule_index import ASKED_ALL
from tooltrace.normalize import RULES, normalize
from tooltrace.normalize.engine import apply_rules_to_view
from tooltrace.normalize.rule import ResultView

FAILED = {"output_type": "error", "ename": "KeyError", "evalue": "'city'", "traceback": ["\x1b[31mKeyError\x1b[0m"]}
PRINTED = {"output_type": "stream", "name": "stdout", "text": "three rows\n"}
RAISED = {"name": "TimeoutError", "value": "5 s", "traceback": "Traceback"}


@pytest.mark.parametrize(
    ("value", "code", "type_", "message"),
    [
        (FAILED, "NOT_FOUND", "KeyError", "'city'"),
        ([PRINTED, FAILED], "NOT_FOUND", "KeyError", "'city'"),
        ({"status": "error", "ename": "ValueError", "evalue": "bad", "traceback": [], "execution_count": 4}, "INVALID_PARAM", "ValueError", "bad"),
        ({"results": [], "logs": {"stdout": ["a"], "stderr": []}, "error": RAISED}, "TIMEOUT", "TimeoutError", "5 s"),
    ],
)  # fmt: skip
def test_code_that_raised(value: object, code: str, type_: str, message: str) -> None:
    found = normalize(value, rules=CERTAIN)
    assert (found.status, found.code, found.error.type, found.error.message) == ("error", code, type_, message)
    assert (found.meta.rule, found.meta.rule_grade) == ("notebook", "certain")


def test_output_before_the_error_is_preserved() -> None:
    assert normalize([PRINTED, FAILED]).data == [PRINTED, FAILED]
    logs = {"stdout": ["a"], "stderr": []}
    context = normalize({"results": [], "logs": logs, "error": RAISED}).context
    assert context == {"results": [], "logs": logs, "error": {"traceback": "Traceback"}}


@pytest.mark.parametrize(
    "value",
    [
        [PRINTED],
        [FAILED, PRINTED],
        [FAILED, "a"],
        {"results": [{"text": "3"}], "logs": {"stdout": [], "stderr": []}, "error": None},
        {"ename": "KeyError"},
        {"logs": ["a"], "error": RAISED, "service": "x"},
    ],
)
def test_code_that_did_not(value: object) -> None:
    assert normalize(value, rules=ALL).status == "success"


ERROR = st.fixed_dictionaries({"name": anything, "value": anything, "traceback": anything})
SHAPES = (
    objects("execution_count", "output_type", sure={"ename": anything, "evalue": anything, "traceback": anything}),
    objects("execution_count", sure={"results": anything, "logs": anything, "error": anything | ERROR}),
)


@given(st.one_of(*SHAPES))
def test_any_value_is_accepted_and_preserved(value: dict) -> None:
    assert lost(value, read(value)) == []
    assert apply_rules_to_view(ResultView(value), RULES) == apply_rules_to_view(ResultView(value), ASKED_ALL)
