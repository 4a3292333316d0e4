"""SQL that a person types: it means what it means in DuckDB, or it is refused; it never writes, and never is a traceback."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from tests.clickhouse.compare import address, differences
from tests.clickhouse.conftest import exporters_tables
from tests.clickhouse.test_edges import attempts
from tooltrace.cli import cli
from tooltrace.clickhouse import views
from tooltrace.clickhouse.client import ClickHouseConnection
from tooltrace.clickhouse.exporter import create
from tooltrace.clickhouse.query import connect
from tooltrace.clickhouse.sql.translate import to_clickhouse
from tooltrace.core.records import Outcome
from tooltrace.errors import ConfigError, QueryError
from tooltrace.exporters.protocol import Target, Unavailable
from tooltrace.store.url import Address

ROWS = "(SELECT unnest([3, 1, NULL, 2]) AS x) AS t"
PAIRS = "(SELECT * FROM (VALUES (1, 'a'), (NULL, 'n'), (2, 'b')) AS v(k, p)) AS l"
OBJECT = """'{"a":{"b":[1,"x",null,{"c":2}]},"n":1.50,"s":"t","u":"日","z":null,"a.b":5,"q":"it''s"}'"""
MOMENT = "TIMESTAMP '2026-03-29 01:59:59.123456'"


@pytest.fixture(scope="module")
def lease(engine: Any) -> Any:
    tables = exporters_tables(engine, "typed")
    views.apply(engine, tables, "typed")
    with connect(address(engine, "typed")) as lease:
        yield lease


@pytest.mark.parametrize(
    "sql",
    [
        # figures
        "log(100)", "log(2, 8)", "CAST(2.5 AS INTEGER)", "CAST(2.6 AS SMALLINT)", "CAST(-2.5 AS BIGINT)", "CAST(0.5 AS INT)", "CAST('12' AS BIGINT)",
        "TRY_CAST('12' AS INTEGER)", "TRY_CAST('x' AS BIGINT)", "TRY_CAST('99999999999' AS INTEGER)", "TRY_CAST('true' AS BOOLEAN)",
        "TRY_CAST('2026-01-01' AS TIMESTAMP)", "TRY_CAST('2026-01-01' AS DATE)", "TRY_CAST(' 12 ' AS DOUBLE)", "TRY_CAST('1e5' AS DOUBLE)",
        # text
        "regexp_replace('aaa', 'a', 'b')", "regexp_replace('aAa', 'a', 'b', 'gi')", "regexp_replace('日本', '本', 'x', 'g')",
        "strpos('日本語', '語')", "position('語' IN '日本語')", "instr('日本語', '語')", "substr('日本語', 2, 1)", "substring('日本語', 2)",
        "right('日本語', 2)", "upper('äb')", "lpad('日', 3, 'x')", "rpad('日', 3, 'x')", "reverse('日本')", "sha256('a')",
        "concat_ws('-', 'a', NULL, 'b')", "concat_ws(', ', 'a', 'b')",
        # JSON
        f"{OBJECT} ->> '$.a.b[1]'", f"{OBJECT} ->> '$.a.b[3].c'", f"{OBJECT} ->> '$.a.b[#-1]'", f"{OBJECT} ->> 's'", f"{OBJECT} ->> 'a.b'",
        f"""{OBJECT} ->> '$."a.b"'""", f"{OBJECT} -> 'a' -> 'b' ->> 1", f"json_extract({OBJECT}, '$.a')", f"json_extract({OBJECT}, '$.missing')",
        f"json_extract_string({OBJECT}, '$.a.b[2]')", f"json_extract_string({OBJECT}, 'n')", f"json_extract_string({OBJECT}, '/a/b')",
        f"CAST({OBJECT} ->> 'n' AS BIGINT)", f"CAST({OBJECT} AS JSON) ->> 'q'", "json_type('1')", "json_type('-1')", "json_type('\"x\"')", "json_type('true')",
        # times
        f"strftime({MOMENT}, '%Y-%m-%d %H:%M:%S')", f"strftime({MOMENT}, '%d %B %A')", f"date_trunc('week', {MOMENT})", f"date_trunc('month', {MOMENT})",
        f"epoch({MOMENT})", f"epoch_ms({MOMENT})", f"extract(hour FROM {MOMENT})",
        # what is unknown
        f"(SELECT max(x) FROM {ROWS} WHERE x NOT IN (9, NULL))", f"(SELECT count(*) FROM {ROWS} WHERE 9 NOT IN (SELECT x FROM {ROWS}))",
        f"(SELECT count(*) FROM {ROWS} WHERE 9 NOT IN (SELECT x FROM {ROWS} WHERE x > 0))", f"(SELECT stddev(x) FROM {ROWS} WHERE x = 1)",
        f"(SELECT var_samp(x) FROM {ROWS} WHERE x = 1)", f"(SELECT quantile_disc(x, 0) FROM {ROWS})", f"(SELECT list(x) FROM {ROWS})",
        # what is in a list
        f"(SELECT count(*) FROM {ROWS} WHERE x IN (x))", f"(SELECT count(*) FROM {ROWS} WHERE x NOT IN (x + 1, 2))", f"(SELECT count(*) FROM {ROWS} WHERE 3 IN (x, 1))",
        "list_contains([1, 2], NULL)", f"(SELECT count(*) FROM {ROWS} WHERE NOT list_contains([1, 2], x))", f"(SELECT count_if(x > 9) FROM {ROWS} WHERE x IS NULL)", f"(SELECT count_if(x > 1) FROM {ROWS})",
        "week(TIMESTAMP '2024-02-29 00:00:00')", "week(TIMESTAMP '1969-12-31 23:59:59')",
        f"(SELECT count(*) FROM {ROWS} WHERE 'a_c' LIKE 'a\\_c')", f"(SELECT count(*) FROM {ROWS} WHERE 'a\\c' NOT LIKE 'a\\_')",
    ],
)  # fmt: skip
def test_an_expression_has_the_value_of_duckdb(lease: Any, sql: str) -> None:
    asked = f"SELECT {sql} AS a"
    assert not differences(duckdb.sql(asked).fetchall(), lease.sql(asked).fetchall())


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT x, lag(CAST(x AS BIGINT), 1, -1) OVER (ORDER BY x) AS r FROM {ROWS} ORDER BY x",
        f"SELECT x, lead(x, 2) OVER (ORDER BY x) AS r FROM {ROWS} ORDER BY x",
        f"SELECT x, last_value(x) OVER (ORDER BY x) AS r FROM {ROWS} ORDER BY x",
        "SELECT -x AS x FROM (SELECT unnest([1, 2, 3]) AS x) AS t ORDER BY x",
        "SELECT -x AS x FROM (SELECT unnest([1, 2, 3]) AS x) AS t ORDER BY x LIMIT 1",
        # steps called as tables, and as one another
        "WITH tool_calls AS (SELECT 1 AS tool), calls AS (SELECT 2 AS tool) SELECT tool_calls.tool, calls.tool AS other FROM tool_calls, calls",
        "WITH tool_calls AS (SELECT 1 AS a UNION ALL SELECT 2) SELECT p.a, q.a AS b FROM tool_calls AS p, tool_calls AS q ORDER BY ALL",
        "WITH x AS (SELECT 1 AS a), y AS (WITH x AS (SELECT a + 1 AS a FROM x) SELECT * FROM x) SELECT x.a, y.a AS b FROM x, y",
        "WITH RECURSIVE calls AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM calls WHERE n < 3) SELECT * FROM calls ORDER BY 1",
        "WITH X AS (SELECT 1 AS a) SELECT a FROM x",
        'WITH "it`s -- a" AS (SELECT 1 AS a) SELECT p.a, q.a AS b FROM "it`s -- a" AS p, "it`s -- a" AS q',
        f"SELECT l.*, r.p AS q FROM {PAIRS} LEFT JOIN (SELECT 1 AS k, 'A' AS p) AS r ON l.k = r.k ORDER BY ALL",
    ],
)
def test_a_query_has_the_result_of_duckdb(lease: Any, sql: str) -> None:
    assert lease.sql(sql).fetchall() == duckdb.sql(sql).fetchall()


def test_a_median_is_exact_of_many(lease: Any) -> None:
    asked = "SELECT median(x) AS m FROM (SELECT unnest(range(100001)) * 7919 % 100003 AS x) AS t"
    assert lease.sql(asked).fetchall() == duckdb.sql(asked).fetchall()


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE otel_traces", "SELECT 1; DROP TABLE otel_traces", "TRUNCATE otel_traces", "ALTER TABLE otel_traces DELETE WHERE true",
        "INSERT INTO otel_traces SELECT * FROM otel_traces", "CREATE TABLE x (a INT)", "SELECT * INTO y FROM otel_traces",
        "WITH x AS (SELECT 1 AS a) INSERT INTO otel_logs SELECT a FROM x", "OPTIMIZE TABLE otel_traces", "EXPLAIN SELECT 1", "SET x = 1",
        "SYSTEM SHUTDOWN", "USE system",
    ],
)  # fmt: skip
def test_nothing_but_a_question_is_put(lease: Any, engine: Any, statement: str) -> None:
    before = engine.query(
        "SELECT name, total_rows FROM system.tables WHERE database = 'typed' ORDER BY name"
    ).result_rows
    with pytest.raises(QueryError, match="one SELECT"):
        lease.sql(statement)
    assert (
        engine.query("SELECT name, total_rows FROM system.tables WHERE database = 'typed' ORDER BY name").result_rows
        == before
    )
    assert before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT make_timestamp(2026, 1, 2, 3, 4, 5.5) AS a", "SELECT TRY_CAST('1' AS TIMESTAMPTZ) AS a", f"SELECT {MOMENT} AT TIME ZONE 'Europe/Berlin' AS a",
        f"SELECT extract(millisecond FROM {MOMENT}) AS a", f"SELECT strftime({MOMENT}, '%g') AS a", "SELECT json_type('{}', '$.a') AS a",
        "SELECT '{}' ->> '$.*' AS a", "SELECT x ->> x AS a FROM (SELECT '{}' AS x) AS t", "SELECT 1 AS a, 2 AS a", "SELECT l.p, r.p FROM a AS l JOIN a AS r ON true",
        "SELECT regexp_replace('a', 'a', 'b', 'l') AS a", "SELECT typeof(1) AS a", f"SELECT microsecond({MOMENT}) AS a",
        f"SELECT date_diff('week', {MOMENT}, {MOMENT}) AS a", f"SELECT date_trunc('day''), (1', {MOMENT}) AS a",
        f"SELECT date_diff('day), (1', {MOMENT}, {MOMENT}) AS a", "SELECT CAST(1 AS \"BFloat16)), (SELECT 2), ((1\") AS a", "SELECT CAST('a' AS ENUM('a')) AS a",
        "SELECT convert('a' USING \"x)\") AS a", "SELECT tool FROM tool_calls WHERE tool IN agent",
    ],
)  # fmt: skip
def test_sql_with_a_different_meaning_in_clickhouse_is_refused(sql: str) -> None:
    with pytest.raises(QueryError, match=r"^cannot (translate|parse)|^two columns of the result"):
        to_clickhouse(sql)


@pytest.mark.parametrize("level", ["quantile({}, 0.5)", "({} ->> 'a')"])
def test_exponential_growth_is_refused_early(level: str) -> None:
    sql = "'{}'"
    for _ in range(20):
        sql = level.replace("{}", sql, 1)
    with pytest.raises(QueryError, match="longer than"):
        to_clickhouse(f"SELECT {sql} AS a")


@pytest.mark.parametrize("sql", ["(" * 3000 + "1" + ")" * 3000, "+".join("1" * 5000), "NOT " * 3000 + "true"])
def test_deep_nesting_is_refused(sql: str) -> None:
    with pytest.raises(QueryError, match="too deep"):
        to_clickhouse(f"SELECT {sql} AS a")


def test_a_step_called_as_a_table_is_read_instead_of_it(engine: Any, fill: Any) -> None:
    fill("hidden", attempts(random.Random(3), 6))
    sql = "WITH tool_calls AS (SELECT * FROM tool_calls WHERE attempt > 99) SELECT count(*) AS n, max(tool_calls.tool) AS t FROM tool_calls"
    with connect(address(engine, "hidden")) as lease:
        assert lease.sql("SELECT count(*) > 0 AS n FROM tool_calls").fetchall() == [(1,)]
        assert lease.sql(sql).fetchall() == [(0, None)]


def test_all_columns_of_an_external_table_can_be_queried(lease: Any) -> None:
    found = lease.sql(
        "SELECT t.*, l.Body AS said FROM otel_traces AS t LEFT JOIN otel_logs AS l ON l.SpanId = t.SpanId"
    )
    assert {"SpanName", "SpanAttributes", "said"} <= set(found.columns)


@pytest.mark.parametrize(
    "statement", ["SELECT unhex('ff') AS b", "SELECT toUInt64(18446744073709551615) AS a", "DROP TABLE otel_traces"]
)
def test_an_unsupported_value_is_a_one_line_error(engine: Any, statement: str) -> None:
    done = CliRunner().invoke(cli, ["sql", statement, "--store", address(engine, "typed").url], catch_exceptions=False)
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize(
    "url",
    [
        "clickhouse://u:pass@h:99999/db",
        "clickhouse://u:pass@h:x/db",
        "clickhouse://[::1/pass",
        "clickhouse://u:pass#word@h/db",
    ],
)
def test_the_error_for_an_invalid_address_hides_the_password(url: str) -> None:
    with pytest.raises(ConfigError, match="is not a valid URL|contains #") as found:
        ClickHouseConnection(Address(url))
    assert "pass#" not in str(found.value)
    assert "word@" not in str(found.value).replace("password@", "")


def test_there_are_two_variants() -> None:
    with pytest.raises(ConfigError, match="map or json"):
        ClickHouseConnection(Address("clickhouse://h/db?variant=xml"))


def test_check_counts_this_database_alone(engine: Any) -> None:
    name = "od`d"
    quoted = "`od\\`d`"
    engine.command(f"CREATE DATABASE {quoted}")
    from tests.clickhouse.exporter import LOGS, SPANS, definition
    from tooltrace.clickhouse.stats import store_stats

    for table, template in (("otel_traces", SPANS), ("otel_logs", LOGS)):
        engine.command(definition(template, f"{quoted}.{table}", "map"))
    house = ClickHouseConnection(Address(f"chdb://{engine.path}?database={name}"))
    views.apply(engine, house.tables, name)
    engine.command(f"INSERT INTO {quoted}.otel_traces (Timestamp, SpanId) VALUES ('2026-03-01 00:00:00', 'a')")
    engine.command("INSERT INTO typed.otel_logs (Timestamp, Body) VALUES ('2026-03-01 00:00:00', 'a')")
    assert [(one.name, one.rows) for one in store_stats(house, engine).sizes] == [(f"{name}.otel_traces", 1)]


def test_tables_of_an_older_version_get_missing_columns(engine: Any) -> None:
    tables = exporters_tables(engine, "older")
    where = address(engine, "older").url
    columns = "Timestamp, SpanId, SpanAttributes"
    span = "map('tooltrace.ending', 'returned', 'gen_ai.tool.name', 't', 'tooltrace.cached', 'true')"
    command = ["clickhouse", "init", "--tables", "--apply", "--store", where]
    assert CliRunner().invoke(cli, command).exit_code == 0
    engine.command(f"INSERT INTO older.{tables.traces} ({columns}) SELECT '2026-03-01 00:00:00', 'a', {span}")
    engine.command("DROP VIEW older.tooltrace_attempts_fill")
    engine.command("ALTER TABLE older.tooltrace_attempts DROP COLUMN cached")
    done = CliRunner().invoke(cli, [*command, "--days", "3650"])
    assert done.exit_code == 0, done.stderr
    engine.command(f"INSERT INTO older.{tables.traces} ({columns}) SELECT '2026-03-01 00:00:01', 'b', {span}")
    with connect(address(engine, "older")) as lease:
        found = lease.sql("SELECT span_id, tool, cached FROM tool_calls ORDER BY span_id").fetchall()
    assert found == [("a", "t", True), ("b", "t", True)]
    assert (
        "toIntervalDay(3650)"
        in engine.query(
            "SELECT create_table_query FROM system.tables WHERE database = 'older' AND name = 'tooltrace_attempts'"
        ).result_rows[0][0]
    )


def test_the_variant_must_match_the_tables(engine: Any) -> None:
    exporters_tables(engine, "of_json", "json")
    where = address(engine, "of_json").url
    label = Outcome(span_id="a", correct=True, labeled_at=datetime(2026, 3, 1, tzinfo=UTC))
    with pytest.raises(Unavailable, match="variant=json"):
        create(Target(endpoint=where)).send([label])
    assert engine.query("SELECT count() FROM of_json.otel_logs").result_rows == [(0,)]
    create(Target(endpoint=f"{where}&variant=json")).send([label])
    assert engine.query("SELECT count() FROM of_json.otel_logs").result_rows == [(1,)]
