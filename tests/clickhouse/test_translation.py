"""Special cases of the translation to ClickHouse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlglot.parser
from hypothesis import example, given
from hypothesis import strategies as st

from tests.clickhouse.compare import address
from tests.clickhouse.conftest import Fill, exporters_tables
from tooltrace.clickhouse import views
from tooltrace.clickhouse.client import ClickHouseConnection
from tooltrace.clickhouse.query import ClickHouseSession, connect
from tooltrace.clickhouse.rows import as_text
from tooltrace.clickhouse.sql.gathers import gather_sql
from tooltrace.clickhouse.sql.translate import TranslatedQuery, to_clickhouse
from tooltrace.core.records import ToolCall
from tooltrace.errors import QueryError
from tooltrace.store.database.connection import connect as memory
from tooltrace.store.database.macros import create_macros, with_definitions
from tooltrace.store.database.views import NAMES


@pytest.fixture(scope="module")
def lease(engine: Any) -> Any:
    tables = exporters_tables(engine, "dialect")
    views.apply(engine, tables, "dialect")
    with connect(address(engine, "dialect")) as lease:
        yield lease


def answered(lease: ClickHouseSession, sql: str, **values: Any) -> Any:
    return lease.answer(to_clickhouse(sql, values)).fetchall()


@given(st.text().filter(lambda text: "\0" not in text))
@example("\\")
@example("'")
@example("\\'")
@example("{a:String}")
@example("$text")
def test_text_of_a_parameter_arrives_as_it_is(lease: ClickHouseSession, text: str) -> None:
    assert answered(lease, "SELECT $text AS text", text=text) == [(text,)]


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**63) + 1, 2**63 - 1))
def test_numbers_arrive_as_they_are(lease: ClickHouseSession, figure: float, whole: int) -> None:
    assert answered(lease, "SELECT $figure AS figure, $whole AS whole", figure=figure, whole=whole) == [(figure, whole)]


@given(st.datetimes(datetime(1970, 1, 2), datetime(2199, 1, 1)))
def test_times_arrive_to_the_microsecond(lease: ClickHouseSession, moment: datetime) -> None:
    assert answered(lease, "SELECT $moment AS moment, epoch_us($moment) AS us", moment=moment) == [
        (moment, (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1))
    ]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_figure_reads_back(value: float) -> None:
    assert float(as_text(value)) == value


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 7 // 2 AS a, 7 / 2 AS b, 7 % 2 AS c", [(3, 3.5, 1)]),
        ("SELECT round(0.5) AS a, round(2.5) AS b, round(-0.5) AS c, round(0.125e0, 2) AS d", [(1.0, 3.0, -1.0, 0.13)]),
        ("SELECT CAST(0.6e0 AS BIGINT) AS a, CAST(1.4e0 AS BIGINT) AS b", [(1, 1)]),
        ("SELECT concat('a', NULL, 1) AS a, concat(round(1.0e0, 2), '') AS b", [("a1", "1.0")]),
        ("SELECT sum(x) AS s, max(x) AS m, count(x) AS n FROM (SELECT 1 AS x WHERE false) AS t", [(None, None, 0)]),
        ("SELECT lag(x) OVER (ORDER BY x) AS before FROM (SELECT 0 AS x) AS t", [(None,)]),
        ("SELECT quantile_cont(x, 0.5) AS q FROM (SELECT unnest([1, 2]) AS x) AS t", [(1.5,)]),
        ("SELECT quantile_disc(x, 0.95) AS q FROM (SELECT unnest(range(100)) AS x) AS t", [(94,)]),
        ("SELECT stddev_samp(x) AS s FROM (SELECT 1.0e0 AS x) AS t", [(None,)]),
        ("SELECT json_extract_string('{\"a\":null,\"b\":\"\",\"c\":1,\"d/e\":\"x\"}', '/a') AS a", [(None,)]),
        ("SELECT json_extract_string('{\"d/e\":\"x\"}', '/d~1e') AS a, json_extract_string('{\"b\":\"\"}', '/b') AS b", [("x", "")]),
        ("SELECT regexp_replace('a1b22', '\\d+', '<n>', 'g') AS a, regexp_matches('a\nb', 'a.b') AS b", [("a<n>b<n>", 0)]),
        ("SELECT left('日本語', 2) AS a, lower('ÄB') AS b, contains('abc', 'b') AS c", [("日本", "äb", 1)]),
        ("SELECT a.x AS x, b.y AS y FROM (SELECT 1 AS x) AS a LEFT JOIN (SELECT 2 AS x, '' AS y) AS b ON b.x = a.x", [(1, None)]),
        ("SELECT least(1, NULL) AS a, greatest(NULL, 2) AS b, nullif(1, 1) AS c", [(1, 2, None)]),
        ("WITH t AS (SELECT 1 AS x), u AS (SELECT x FROM t UNION ALL SELECT x + 1 AS x FROM t) SELECT sum(x) AS s FROM u", [(3,)]),
        ('SELECT "round"(2.5) AS a', [(3.0,)]),
        ("WITH lower(x) AS (SELECT 'A' AS x) SELECT lower.x AS a, lower(lower.x) AS b FROM lower", [("A", "a")]),
        ("SELECT concat(1 + round(1.0e0), 'x') AS a, concat_ws('-', round(2.5), NULL) AS b", [("2.0x", "3.0")]),
    ],
)  # fmt: skip
def test_translated_sql_has_the_result_of_duckdb(lease: ClickHouseSession, sql: str, expected: list[Any]) -> None:
    assert answered(lease, sql) == expected


@pytest.mark.parametrize(
    "items",
    [
        "lag(x) OVER (ORDER BY x), lag(x, 3 - 1) OVER (ORDER BY x), lead(x, 2) OVER (ORDER BY x)",
        "round(x + 0.5e0), round(-x - 0.5e0), round(x + 0.125e0, 2), round(0.49999999999999994e0)",
        "strlen(y), length(y), left(y, 1), concat(y, x), y || x, concat(y, '|', NULL)",
        "x // 2, x / 2, -x % 2, count(*) OVER () - 9, row_number() OVER (ORDER BY x) - 9",
    ],
)
def test_a_gather_has_the_result_of_duckdb(lease: ClickHouseSession, items: str) -> None:
    sql = f"SELECT {items} FROM (SELECT x, CASE WHEN x < 4 THEN 'é日' END AS y FROM (SELECT unnest([1, 2, 3, 4]) AS x) AS t) AS u ORDER BY x"
    named = sql.replace("SELECT", "SELECT x AS x, ", 1)
    assert lease.answer(TranslatedQuery((), gather_sql(named))).fetchall() == memory().execute(named).fetchall()


def test_a_gather_whose_translation_would_lose_an_option_is_refused() -> None:
    with pytest.raises(QueryError, match=r"REGEXP_MATCHES.*, for its flag"):
        gather_sql("SELECT regexp_matches(tool, 'a', 'i') AS a FROM facts")


def test_rows_that_are_numbered_as_they_come_are_so_for_all_who_read_them(lease: ClickHouseSession) -> None:
    sql = """WITH n AS (SELECT x, row_number() OVER () AS place FROM (SELECT unnest(range(100000)) AS x) AS t)
    SELECT count(*) AS same FROM n AS a JOIN n AS b ON a.x = b.x AND a.place = b.place"""
    assert len(to_clickhouse(sql).temp_tables) == 1
    assert answered(lease, sql) == [(100_000,)]


def test_invalid_sql_is_an_error(lease: ClickHouseSession) -> None:
    with pytest.raises(QueryError):
        lease.sql("SELECT FROM WHERE")
    with pytest.raises(QueryError):
        lease.sql("SELECT no_such_function_anywhere(1) AS a")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT round(1, 2, 3) AS a", "round with 3 arguments; pass 1 to 2"),
        ("SELECT strftime(now()) AS a", "strftime with 1 arguments; pass 2"),
        ("SELECT concat_ws() AS a", "concat_ws with 0 arguments; pass 1 or more"),
        ("SELECT log(1, 2, 3) AS a", "log with 3 arguments; pass 1 or 2"),
    ],
)
def test_a_wrong_number_of_arguments_is_refused(sql: str, expected: str) -> None:
    with pytest.raises(QueryError, match=expected):
        to_clickhouse(sql)


def test_names_stay_as_they_are_written() -> None:
    sql = "SELECT tooltrace_total AS tooltrace_lower, lower(tool) AS lower FROM attempts AS tooltrace_round"
    expected = "SELECT tooltrace_total AS tooltrace_lower, lowerUTF8(tool) AS lower FROM attempts AS tooltrace_round"
    assert str(to_clickhouse(sql)) == expected


def test_a_step_that_is_used_once_has_no_hint_for_duckdb() -> None:
    for hint in ("", "NOT MATERIALIZED", "MATERIALIZED"):
        sql = f"WITH named AS {hint} (SELECT tool FROM attempts) SELECT tool FROM named"
        assert str(to_clickhouse(sql)) == "WITH named AS (SELECT tool FROM attempts) SELECT tool FROM named"


def test_the_compiled_build_of_sqlglot_translates_as_the_plain_one() -> None:
    if sqlglot.parser.__file__.endswith(".py"):
        pytest.skip(
            "needs the compiled build in this process, and the plain one in its environment: make test-clickhouse"
        )
    translate = """
import json, sqlglot.parser
from tooltrace.analysis import catalogue
from tooltrace.clickhouse.sql.gathers import gather_sql
from tooltrace.clickhouse.sql.translate import to_clickhouse
texts = {name: query.render() for name, query in catalogue().items()}
queries = {name: gather_sql(sql) if catalogue()[name].gathers else str(to_clickhouse(sql)) for name, sql in texts.items()}
found = json.dumps([sqlglot.parser.__file__, queries])
"""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    plain = subprocess.run(
        [sys.executable, "-c", f"{translate}\nprint(found)"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    file, queries = json.loads(plain.stdout)
    assert file.endswith(".py")
    compiled: dict[str, Any] = {}
    exec(translate, compiled)  # noqa: S102
    assert queries == compiled["queries"]


def test_messages_are_joined_only_if_their_columns_are_used() -> None:
    assert "FROM attempts" in str(to_clickhouse("SELECT tool FROM tool_calls"))
    assert "FROM tool_calls" in str(to_clickhouse("SELECT * FROM tool_calls"))
    assert "FROM tool_calls" in str(to_clickhouse("SELECT seen_error FROM tool_calls"))


def test_a_day_filter_reads_one_day(engine: Any, fill: Fill) -> None:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    fill(
        "days",
        [
            ToolCall(tool="t", call_id=f"{day}", trace_id="1" * 32, span_id=f"{day + 1:016x}", started_at=start + timedelta(days=day))
            for day in range(20)
        ],
    )  # fmt: skip
    script = to_clickhouse(
        "SELECT count(*) AS n FROM tool_calls WHERE started_at >= $since", {"since": datetime(2026, 3, 19)}
    )
    engine.command("USE days")
    plan = [row[0].strip() for row in engine.query(f"EXPLAIN indexes = 1 {script.select}").result_rows]
    assert [line for line in plan if line.startswith("Parts: ")][-1].endswith("2/2")
    assert "Parts: 2/20" in plan
    assert engine.query(script.select).result_rows == [(2,)]


def test_the_address_names_the_database_and_the_tables() -> None:
    from tooltrace.store.url import Address

    house = ClickHouseConnection(
        Address("clickhouses://u@h/mine?traces=otel.otel_traces_all&logs=otel_logs_all&variant=json")
    )
    assert house.tables.of(house.tables.traces) == "`otel`.`otel_traces_all`"
    assert house.tables.of(house.tables.logs) == "`mine`.`otel_logs_all`"
    assert house.tables.variant == "json"
    assert (house._arguments()["port"], house._arguments()["secure"]) == (8443, True)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT round(wilson_low(3, 10), 9) AS low, round(wilson_high(3, 10), 9) AS high", [(0.107791267, 0.603221853)]),
        ("SELECT wilson_low(0, 5) AS a, wilson_high(5, 5) AS b, wilson_low(0, 0) AS c", [(0.0, 1.0, None)]),
        ("SELECT is_finished('error', 'raised') AS a, is_finished(NULL, 'returned') AS b, NOT is_finished('ok', 'paused') AS c", [(True, False, True)]),
        ("SELECT known_ms(least(5.0, known_ms(7.0))) AS a, known_ms(-1) AS b", [(5.0, None)]),
        ("SELECT count(DISTINCT call_key('t', 'c', NULL, NULL, 'h', pid)) FROM (SELECT 1 AS pid UNION ALL SELECT 1 UNION ALL SELECT 2)", [(2,)]),
    ],
)  # fmt: skip
def test_the_macros_of_the_queries_mean_the_same(lease: ClickHouseSession, sql: str, expected: list[Any]) -> None:
    with memory() as con:
        create_macros(con)
        assert con.execute(sql).fetchall() == expected
    assert answered(lease, sql) == expected
    assert answered(lease, with_definitions(sql)) == expected


def test_the_numbers_that_a_local_store_keeps_are_computed() -> None:
    stored = (
        "SELECT a.call_hash, count(DISTINCT a.cluster_hash) AS clusters FROM attempts AS a "
        "WHERE a.call_hash IN (SELECT call_hash FROM repeated_calls) GROUP BY a.call_hash"
    )
    computed = (
        "SELECT text_key(call_key(a.tool, a.call_id, a.first_span_id, a.conversation_id, a.host, a.pid)) AS call_hash, "
        "count(DISTINCT text_key(draw_key(a.conversation_id, a.trace_id))) AS clusters FROM attempts AS a "
        "WHERE true GROUP BY text_key(call_key(a.tool, a.call_id, a.first_span_id, a.conversation_id, a.host, a.pid))"
    )
    assert str(to_clickhouse(stored, only=NAMES)).replace('"', "") == str(to_clickhouse(computed)).replace('"', "")


def test_a_query_finds_the_repeated_calls_among_the_rows_of_its_step() -> None:
    stored = (
        "WITH scoped AS (SELECT tool AS call FROM attempts WHERE code = 'x') "
        "SELECT count(*) FROM scoped WHERE call IN (SELECT call_hash FROM repeated_calls)"
    )
    found = stored.replace(
        "SELECT call_hash FROM repeated_calls", "SELECT call FROM scoped GROUP BY call HAVING count(*) > 1"
    )
    assert str(to_clickhouse(stored, only=NAMES)) == str(to_clickhouse(found))


def test_a_macro_with_too_few_arguments_is_refused() -> None:
    with pytest.raises(QueryError, match=r"wilson_low needs 2 arguments \(k, n\); got 1"):
        to_clickhouse("SELECT wilson_low(1)", only=NAMES)


def test_macro_arguments_keep_operator_precedence() -> None:
    assert "(a OR b) IS NULL" in to_clickhouse("SELECT is_finished(a OR b, c) FROM tool_calls").select


def test_a_number_of_a_subquery_is_its_own_column() -> None:
    sql = (
        "SELECT a.call_hash = r.call_hash AS same FROM attempts AS a "
        "LEFT JOIN (SELECT call_hash FROM attempts WHERE call_hash IN (SELECT call_hash FROM repeated_calls)) AS r ON true"
    )
    assert " = r.call_hash AS same" in str(to_clickhouse(sql))
