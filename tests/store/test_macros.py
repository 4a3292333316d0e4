"""The macros that the queries share: what they give, and that every store has them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.analysis import find
from tooltrace.store.connection import attach, connect, detach
from tooltrace.store.fold import fold
from tooltrace.store.macros import MACROS, create_macros, with_definitions, without_definitions
from tooltrace.store.paths import StorePaths
from tooltrace.store.reader import open_reader

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


def test_an_argument_may_have_the_name_of_another_parameter() -> None:
    sql = "SELECT wilson_low(n, k) = wilson_low(3, 9) FROM (SELECT 9 AS k, 3 AS n)"
    assert CON.execute(sql).fetchall() == [(True,)]


def test_without_a_conversation_a_call_is_one_of_a_process() -> None:
    a = "call_key('t', 'c', NULL, 'h', 1)"
    assert one(f"{a} = call_key('t', 'c', NULL, 'h', 1)")
    assert not one(f"{a} = call_key('t', 'c', NULL, 'h', 2)")
    assert not one(f"{a} = call_key('t', 'c', 'h', 'h', 1)")
    assert one("call_key('t', 'c', 'talk', 'h', 1) = call_key('t', 'c', 'talk', 'other', 2)")
    assert one("call_key('t', 'c', NULL, NULL, NULL) = call_key('t', 'c', NULL, NULL, NULL)")


@pytest.mark.parametrize(("ms", "known"), [("5.5", 5.5), ("-1", None), ("'NaN'::DOUBLE", None), ("1e13", None)])
def test_a_duration_that_cannot_be_is_unknown(ms: str, known: float | None) -> None:
    assert one(f"known_ms({ms})") == known


def test_the_file_of_a_query_runs_in_any_duckdb(store: StorePaths, write: Any, call: Any) -> None:
    write(call(1), call(2, status="error"))
    fold(store)
    with duckdb.connect(str(store.database), read_only=True) as con:
        rows = con.execute(find("failure_rate").render_with_values()).fetchall()
    assert rows[0][:4] == ("search", 2, 1, 0.5)


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
    detach(con)
    con.close()
    assert not in_file(store) & NAMES
    with open_reader(store) as con:
        assert con.execute(find("failure_rate").render_with_values()).fetchall()[0][1] == 1
    assert not in_file(store) & NAMES
    write(call(2))
    fold(store)
    assert in_file(store) >= NAMES


def test_definitions_are_written_for_what_is_used_and_taken_away_again(tmp_path: Path) -> None:
    sql = "-- a comment\nSELECT is_finished(status, ending) FROM tool_calls"
    text = with_definitions(sql)
    assert text.count("CREATE") == 1
    assert without_definitions(text) == sql
    assert with_definitions("SELECT 1") == without_definitions("SELECT 1") == "SELECT 1"
    other = "CREATE OR REPLACE TEMP MACRO is_finished(status, ending) AS true;\nSELECT 1"
    assert without_definitions(other) == other


def test_calls_of_a_conversation_are_one_draw_and_other_calls_one_each() -> None:
    assert one("draw_key('c1', 'talk', 'h', 1) = draw_key('c2', 'talk', 'g', 2)")
    assert not one("draw_key('c1', NULL, 'h', 1) = draw_key('c2', NULL, 'h', 1)")
    assert not one("draw_key('c1', NULL, 'h', 1) = draw_key('c1', NULL, 'h', 2)")
    assert one("draw_key('c1', NULL, NULL, NULL) = draw_key('c1', NULL, NULL, NULL)")
