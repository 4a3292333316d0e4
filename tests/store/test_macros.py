"""The macros that the queries share: what they give, and that every store has them."""

from __future__ import annotations

import math
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.analysis import find
from tooltrace.core.codes import ADVICE, next_step
from tooltrace.store.database.connection import attach, checkpoint, connect, detach
from tooltrace.store.database.macros import MACROS, create_macros, with_definitions, without_definitions
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.read.reader import open_reader

CON = duckdb.connect(":memory:")
create_macros(CON)
NAMES = {macro.name for macro in MACROS}


def one(sql: str, *values: Any) -> Any:
    return CON.execute(f"SELECT {sql}", list(values)).fetchall()[0][0]


def in_file(store: StorePaths) -> set[str]:
    with duckdb.connect(str(store.database), read_only=True) as con:
        rows = con.execute("SELECT function_name FROM duckdb_functions() WHERE NOT internal").fetchall()
    return {name for (name,) in rows}


@given(st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_solves_the_score_equation(pair: tuple[int, int]) -> None:
    k, n = pair
    low, high = one("wilson_low(?, ?)", k, n), one("wilson_high(?, ?)", k, n)
    assert 0 <= low <= k / n <= high <= 1
    for limit in (low, high):
        if 0 < limit < 1:
            assert abs(k / n - limit) == pytest.approx(1.959963984540054 * math.sqrt(limit * (1 - limit) / n), rel=1e-6)


def test_the_interval_ends_where_shares_end() -> None:
    assert (one("wilson_low(0, 7)"), one("wilson_high(7, 7)")) == (0, 1)
    assert (one("wilson_low(0, 0)"), one("wilson_high(0, 0)"), one("wilson_low(NULL, 7)")) == (None, None, None)


def test_each_macro_is_defined_once() -> None:
    names = [macro.name for macro in MACROS]
    assert len(names) == len(set(names))


def test_an_argument_may_have_the_name_of_another_parameter() -> None:
    sql = "SELECT wilson_low(n, k) = wilson_low(3, 9) FROM (SELECT 9 AS k, 3 AS n)"
    assert CON.execute(sql).fetchall() == [(True,)]


def test_without_a_conversation_a_call_is_one_of_a_process() -> None:
    a = "call_key('t', 'c', NULL, NULL, 'h', 1)"
    assert one(f"{a} = call_key('t', 'c', NULL, NULL, 'h', 1)")
    assert not one(f"{a} = call_key('t', 'c', NULL, NULL, 'h', 2)")
    assert not one(f"{a} = call_key('t', 'c', NULL, 'h', 'h', 1)")
    assert not one(f"{a} = call_key('t', 'c', 'aa01', NULL, 'h', 1)")
    assert one("call_key('t', 'c', NULL, 'talk', 'h', 1) = call_key('t', 'c', NULL, 'talk', 'other', 2)")
    assert one("call_key('t', 'c', NULL, NULL, NULL, NULL) = call_key('t', 'c', NULL, NULL, NULL, NULL)")


@pytest.mark.parametrize(("ms", "known"), [("5.5", 5.5), ("-1", None), ("'NaN'::DOUBLE", None), ("1e13", None)])
def test_a_duration_that_cannot_be_is_unknown(ms: str, known: float | None) -> None:
    assert one(f"known_ms({ms})") == known


def test_the_file_of_a_query_runs_in_any_duckdb(store: StorePaths, write: Any, call: Any) -> None:
    write(call(1), call(2, status="error"))
    fold(store)
    with duckdb.connect(str(store.database), read_only=True) as con:
        rows = con.execute(find("failure_rate").render_with_values()).fetchall()
    assert rows[0][:3] == ("search", 2, 1)


@pytest.mark.long
def test_a_store_without_macros_is_read_and_gets_them_at_the_next_fold(
    store: StorePaths, write: Any, call: Any
) -> None:
    write(call(1))
    fold(store)
    con = connect()
    attach(con, store, read_only=False)
    for name in NAMES:
        con.execute(f"DROP MACRO store.{name}")
    con.execute("DELETE FROM store.meta WHERE key = 'views'")
    checkpoint(con)
    detach(con)
    con.close()
    assert not in_file(store) & NAMES
    with open_reader(store) as con:
        assert con.execute(find("failure_rate").render_with_values()).fetchall()[0][1] == 1
    assert not in_file(store) & NAMES
    write(call(2))
    fold(store)
    assert in_file(store) >= NAMES


def test_only_used_macros_are_defined_and_they_are_dropped_again(tmp_path: Path) -> None:
    sql = "-- a comment\nSELECT is_finished(status, ending) FROM tool_calls"
    text = with_definitions(sql)
    assert text.count("CREATE") == 1
    assert without_definitions(text) == sql
    assert with_definitions("SELECT 1") == without_definitions("SELECT 1") == "SELECT 1"
    other = "CREATE OR REPLACE TEMP MACRO is_finished(status, ending) AS true;\nSELECT 1"
    assert without_definitions(other) == other


def test_calls_of_a_conversation_are_one_draw_and_else_calls_of_a_trace() -> None:
    assert one("draw_key('talk', 't1') = draw_key('talk', 't2')")
    assert one("draw_key(NULL, 't1') = draw_key(NULL, 't1')")
    assert not one("draw_key(NULL, 't1') = draw_key(NULL, 't2')")


def test_texts_have_keys_of_their_own() -> None:
    assert one("count(DISTINCT text_key(concat('conversation_', i))) FROM range(100000) AS numbers(i)") == 100_000
    assert one("typeof(text_key('a'))") == "UBIGINT"
    assert one("text_key('a') = text_key(concat('', 'a'))")


ATTEMPT = st.tuples(
    st.integers(0, 1023),
    st.datetimes(datetime(1970, 1, 1), datetime(2255, 1, 1)),
    st.integers(0, 2**64 - 1).map("{:016x}".format),
)


@given(ATTEMPT, ATTEMPT)
def test_attempts_are_ordered_by_number_then_start_then_span_id(one_: Any, other: Any) -> None:
    sql = "attempt_order(?, ?, ?) < attempt_order(?, ?, ?)"
    assert one(sql, *one_, *other) is (one_ < other)
    assert one(sql, one_[0], *other[1:], *one_[:2], other[2]) is (other[1] < one_[1])


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_span_ids_are_ordered_by_their_hex_digits(one_: int, other: int) -> None:
    digits = f"{one_:016x}", f"{other:016x}"
    assert one("span_order(?) < span_order(?)", *digits) is (digits[0] < digits[1])


def test_span_ids_other_than_hex_numbers_have_distinct_places() -> None:
    assert one("count(DISTINCT span_order(concat('span ', i))) FROM range(1000) AS numbers(i)") == 1000
    assert one("typeof(span_order('span 1'))") == one("typeof(span_order('00000000000000ff'))") == "UBIGINT"


def test_an_attempt_without_a_number_is_ordered_by_its_start() -> None:
    early, late = "TIMESTAMP '2026-03-01 12:00:00'", "TIMESTAMP '2026-03-01 12:00:01'"
    assert one(f"attempt_order(NULL, {early}, 'b') < attempt_order(NULL, {late}, 'a')")
    assert one(f"attempt_order(NULL, {early}, '000000000000000a') < attempt_order(NULL, {early}, '000000000000000b')")
    assert one("attempt_order(1, TIMESTAMP '1969-01-01', 'x') < attempt_order(2, TIMESTAMP '9999-01-01', 'x')")


def test_the_order_of_attempts_is_a_number_that_duckdb_compares_in_place() -> None:
    largest = "attempt_order(2147483647, TIMESTAMP '9999-12-31', 'ffffffffffffffff')"
    assert one(f"typeof({largest})") == "HUGEINT", "arg_max copies each value of another type, and never frees them"
    assert one(f"{largest} > attempt_order(1023, TIMESTAMP '2250-01-01', 'ffffffffffffffff')")


def test_the_advised_next_step_is_that_of_the_resolver() -> None:
    for case in product([*ADVICE, "MY_CODE", None], [True, False, None], ["call list_orders", None]):
        assert one("advised_next_step(?, ?::BOOLEAN, ?)", *case) == next_step(*case), case
