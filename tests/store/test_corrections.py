"""Corrections: the attempt has the reading in force, the recorded one stays beside it, the log keeps every correction."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tooltrace.core.records import Correction, Record
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.read.reader import open_reader

from .conftest import START, Write

Rows = Callable[[str], list[tuple[Any, ...]]]
READING = "SELECT status, code, rule, rule_grade, status_recorded, reading_recorded FROM attempts ORDER BY started_at"
RECORDED = '{"code":"TIMEOUT","rule":"error_text","rule_grade":"heuristic"}'


def correction(seconds: float = 60, **given: Any) -> Correction:
    """A person's correction of the call c1 to a success, a minute after it, unless ``given`` says otherwise."""
    target = {} if given.keys() & {"span_id", "call_id"} else {"call_id": "c1"}
    known = {"status": "success", "corrected_at": START + timedelta(seconds=seconds)}
    return Correction(**{**target, **known, **given})


@pytest.fixture
def failed(call: Any) -> Any:
    return call(1, status="error", code="TIMEOUT", rule="error_text", rule_grade="heuristic")


CORRECTED = [("success", None, "correction", "certain", "error", RECORDED)]


@pytest.mark.parametrize("target", [{"call_id": "c1"}, {"span_id": f"{1:016x}"}])
@pytest.mark.parametrize("order", ["together", "after", "before"])
def test_a_correction_changes_the_reading_and_keeps_the_recorded_one(
    store: StorePaths, write: Write, rows: Rows, failed: Any, order: str, target: dict[str, str]
) -> None:
    made: list[Record] = [failed, correction(**target)]
    for batch in {"together": [made], "after": [[each] for each in made], "before": [[each] for each in made[::-1]]}[
        order
    ]:
        write(*batch)
        fold(store)
    assert rows(READING) == CORRECTED
    assert rows("SELECT status, call_id, span_id, labeler, labeler_kind FROM corrections") == [
        ("success", target.get("call_id"), target.get("span_id"), "human", "person")
    ]
    assert rows("SELECT count(*) FROM outcomes") == [(0,)], "a correction is not a label"


@pytest.mark.parametrize("folded", ["call", "correction", "none"])
def test_a_reader_sees_a_correction_that_is_not_folded_yet(
    store: StorePaths, write: Write, rows: Rows, call: Any, failed: Any, folded: str
) -> None:
    late: list[Record] = [failed, correction(), call(2)]
    if folded != "none":
        write(late.pop(0 if folded == "call" else 1))
        fold(store)
    else:
        write(call(0))
        fold(store)
    with open_reader(store):
        write(*late)
        found = rows(READING)
    assert CORRECTED[0] in found
    assert len(found) == (3 if folded == "none" else 2)
    assert rows(READING) == found, "folded, it is the same"


def test_without_a_database_a_correction_applies(store: StorePaths, write: Write, failed: Any) -> None:
    write(failed, correction())
    with open_reader(store) as con:
        assert con.execute(READING).fetchall() == CORRECTED


@pytest.mark.long
def test_the_correction_of_a_person_precedes_those_of_agents_and_rules(
    store: StorePaths, write: Write, rows: Rows, failed: Any
) -> None:
    made = [
        correction(10, status="partial", code="SHORT", labeler="ann"),
        correction(20, status="success", labeler="ann"),
        correction(30, status="error", code="NETWORK_ERROR", labeler="judge", labeler_kind="agent"),
        correction(40, status="error", code="OTHER", labeler="reread", labeler_kind="rule", rule="flags", rule_grade="certain"),
    ]  # fmt: skip
    for number, order in enumerate(itertools.permutations([failed, *made])):
        if number % 7 == 0:  # enough orders
            write(*order)
            fold(store)
            assert rows(READING) == CORRECTED, order
    write(correction(50, status=None, labeler="bob"))
    assert rows(READING) == [("error", "TIMEOUT", "error_text", "heuristic", None, None)]


def test_a_reading_by_a_rule_has_the_name_and_the_grade_of_the_rule(
    store: StorePaths, write: Write, rows: Rows, call: Any
) -> None:
    again = correction(status="error", code="RATE_LIMIT", labeler="reread", labeler_kind="rule", rule="error_text", rule_grade="heuristic")  # fmt: skip
    write(call(1, rule="plain", rule_grade="unread"), again)
    (found,) = rows(READING)
    assert found[:5] == ("error", "RATE_LIMIT", "error_text", "heuristic", "success")


def test_an_error_without_a_code_has_the_recorded_one_or_unknown(
    store: StorePaths, write: Write, rows: Rows, call: Any, failed: Any
) -> None:
    write(failed, correction(status="error"), call(2), correction(status="error", call_id="c2"))
    assert [row[:3] for row in rows(READING)] == [
        ("error", "TIMEOUT", "correction"),
        ("error", "UNKNOWN", "correction"),
    ]


def test_a_correction_of_a_call_applies_to_its_last_attempt_before_it(
    store: StorePaths, write: Write, rows: Rows, call: Any
) -> None:
    attempts = [call(n, call_id="c1", attempt=n, status=None if n == 3 else "error", started_at=START + timedelta(seconds=10 * n))
                for n in (1, 2, 3, 4)]  # fmt: skip
    write(attempts[0], correction(35), attempts[3])
    fold(store)
    assert [row[0] for row in rows(READING)] == ["success", "error"]
    write(attempts[1], attempts[2])
    fold(store)
    assert [row[0] for row in rows(READING)] == ["error", "success", None, "error"]
    assert [row[4] for row in rows(READING)] == [None, "error", None, None]


def test_the_number_of_the_attempt_decides_where_clocks_step_back(
    store: StorePaths, write: Write, rows: Rows, call: Any
) -> None:
    at = [START + timedelta(seconds=seconds) for seconds in (2, 1, 30)]
    write(
        call(1, call_id="c1", attempt=1, status="error", started_at=at[0]),
        call(2, call_id="c1", attempt=2, status="error", started_at=at[1]),
        call(3, call_id="c1", conversation_id="other", status="error", started_at=at[2]),
        correction(20),
    )
    assert rows("SELECT span_id FROM attempts WHERE status_recorded IS NOT NULL") == [(f"{2:016x}",)]


def test_a_correction_before_its_only_attempt_applies_to_it(
    store: StorePaths, write: Write, rows: Rows, failed: Any
) -> None:
    write(correction(-60), failed)
    assert rows(READING) == CORRECTED


def test_an_attempt_without_a_status_and_other_calls_are_not_touched(
    store: StorePaths, write: Write, rows: Rows, call: Any
) -> None:
    write(call(1, status=None, ending="cancelled"), call(2), correction(), correction(call_id="c9"))
    assert [(row[0], row[4]) for row in rows(READING)] == [(None, None), ("success", None)]


def test_every_view_has_the_corrected_status(store: StorePaths, write: Write, rows: Rows, failed: Any) -> None:
    write(failed, correction())
    assert rows("SELECT status, status_recorded FROM tool_calls") == [("success", "error")]
    assert rows("SELECT status, failures, code FROM calls") == [("success", 0, None)]
