"""The pages over a store in ClickHouse."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.history import make_history
from tests.clickhouse.compare import address
from tests.clickhouse.conftest import Fill, records_of
from tooltrace.analysis import catalogue, find, query_store
from tooltrace.clickhouse.plan_check import require_allowed_tables
from tooltrace.clickhouse.sql.translate import TranslatedQuery, to_clickhouse
from tooltrace.errors import QueryError
from tooltrace.store.database.views import NAMES
from tooltrace.store.sandbox import SandboxLimits

httpx = pytest.importorskip("httpx")
pytest.importorskip("starlette")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, engine: Any, fill: Fill) -> str:
    """The address of a store with 400 calls."""
    store: Path = tmp_path_factory.mktemp("pages") / "pages.duckdb"
    make_history(store, 400)
    fill("pages", records_of(store))
    return address(engine, "pages")


def browser_of(pages: str, seconds: float) -> Any:
    from tooltrace.server.app import application
    from tooltrace.server.site import Site

    limits = SandboxLimits(seconds=seconds, rows=100)
    transport = httpx.ASGITransport(application(Site.of(pages, host="127.0.0.1", limits=limits)))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")


@pytest.fixture(scope="module")
def browser(pages: str) -> Any:
    """A browser of pages whose queries may take long: the machine may be busy."""
    return browser_of(pages, 600)


@pytest.fixture(scope="module")
def limited(pages: str) -> Any:
    """A browser of pages whose queries may take two seconds."""
    return browser_of(pages, 2)


@pytest.mark.parametrize("page", ["/", "/calls", "/panel/failure_rate", "/data/latency", "/question/errors", "/state"])
async def test_pages_are_shown(browser: Any, page: str) -> None:
    found = await browser.get(page)
    assert found.status_code == 200, found.text[:500]
    assert "search" in found.text or page in ("/", "/calls", "/question/errors", "/state")


async def test_a_call_is_shown_and_labelled(browser: Any, engine: Any) -> None:
    where = address(engine, "pages")
    span = query_store(where, "recent", status="success", limit=1).rows[0][-1]
    assert span in (await browser.get("/call", params={"id": span})).text
    form = {"span_id": span, "verdict": "wrong", "labeler": "me"}
    done = await browser.post("/label", data=form, headers={"origin": "http://127.0.0.1"}, follow_redirects=False)
    assert done.status_code in (200, 303), done.text[:500]
    (call,) = (row["call_id"] for row in query_store(where, "recent", limit=500).dicts() if row["span_id"] == span)
    labels = query_store(where, "labels", call_id=call).rows
    assert [row[1:3] for row in labels if row[4] == "me"] == [(span, False)]


async def put(browser: Any, sql: str, where: str = "/sql/ask", **form: str) -> Any:
    return await browser.post(where, data={"q": sql, **form}, headers={"origin": "http://127.0.0.1"})


async def test_typed_sql_is_answered(browser: Any, engine: Any) -> None:
    done = await put(browser, "SELECT status, count(*) AS n, max(started_at) AS latest FROM tool_calls GROUP BY 1")
    assert done.status_code == 200, done.text
    found = done.json()
    assert found["columns"] == [["status", "VARCHAR"], ["n", "BIGINT"], ["latest", "TIMESTAMP"]]
    asked = query_store(address(engine, "pages"), "failure_rate", by=("status",)).select("status", "attempts").rows
    assert dict(asked).items() >= {row[0]: row[1] for row in found["rows"] if row[0] in ("success", "error")}.items()
    assert found["cut"] is None
    assert (await browser.get("/sql", params={"query": "failure_rate"})).status_code == 200


@pytest.mark.parametrize("name", catalogue())
def test_every_query_of_the_catalogue_may_be_typed(name: str) -> None:
    query = find(name)
    given = {each.name: "7d" if each.name == "after" else "x" for each in query.header.parameters if each.required}
    assert to_clickhouse(query.render_with_values(None, **given), only=NAMES).select


async def test_a_query_of_the_catalogue_can_be_run_as_it_is_shown(browser: Any) -> None:
    shown = (await browser.get("/sql/text/failure_rate")).text
    assert (done := await put(browser, shown)).status_code == 200, done.text
    assert done.json()["rows"]


async def test_a_long_result_is_cut_and_marked(browser: Any) -> None:
    found = (await put(browser, "SELECT span_id FROM tool_calls")).json()
    assert (len(found["rows"]), found["cut"]) == (100, "rows")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT count(*) FROM url('http://127.0.0.1:9/', 'CSV', 'a String')", "only the tables of the store"),
        ("SELECT * FROM file('/etc/passwd', 'LineAsString')", "only the tables of the store"),
        ("SELECT * FROM remote('127.0.0.1', system.one)", "only the tables of the store"),
        ("SELECT * FROM system.users", "only the tables of the store"),
        ("WITH x AS (SELECT * FROM system.one) SELECT * FROM x", "only the tables of the store"),
        ("SELECT * FROM '/etc/passwd'", "only the tables of the store"),
        ("SELECT joinGet('t', 'a', 1) AS a", "the function joinGet() is not available here"),
        ("SELECT \"file\"('/etc/passwd') AS a", "the function file() is not available here"),
        ("SELECT span_id FROM tool_calls WHERE tool IN system.users", "IN without a list"),
        ("SELECT span_id FROM tool_calls WHERE tool IN (table('x'))", "is not available here"),
        ("SELECT (SELECT count(*) FROM system.tables) AS n", "only the tables of the store"),
        # a name that is a step, but not there; and names in which another reader sees more
        ("SELECT s.* FROM (WITH secrets AS (SELECT 1 AS a) SELECT * FROM secrets) AS t, secrets AS s", "only the tables of the store"),
        ("SELECT * FROM (WITH secrets AS (SELECT * FROM secrets) SELECT * FROM secrets) AS t", "only the tables of the store"),
        ("WITH RECURSIVE secrets AS (SELECT * FROM secrets) SELECT * FROM secrets", "only the tables of the store"),
        ("WITH x AS (SELECT * FROM secrets), secrets AS (SELECT 1 AS a) SELECT * FROM x", "only the tables of the store"),
        ("SELECT count(*) AS n FROM tool_calls WHERE 'a' IN (secrets)", "secrets"),
        ("SELECT count(*) AS n FROM tool_calls WHERE 'a' NOT IN (pages.secrets)", "secrets"),
        ("SELECT CAST(1 AS \"BFloat16)), (SELECT max(a) FROM pages.secrets), ((1\") AS a", "cannot translate"),
        ("SELECT \"(SELECT max(a) FROM pages.secrets)\".key AS a FROM tool_calls, json_each(nothing) AS \"(SELECT max(a) FROM pages.secrets)\"", "nothing"),
        ('WITH "y AS SELECT * FROM pages.secrets -- " AS (SELECT 1 AS a), y AS (SELECT 1 AS a) SELECT y.a, p.nothing FROM y, "y AS SELECT * FROM pages.secrets -- " AS p, '
         '"y AS SELECT * FROM pages.secrets -- " AS q', "nothing"),
        ("SELECT current_user AS a", "describes the server"),
        ("SELECT version() AS a", "describes the server"),
        ("DROP TABLE otel_traces", "one SELECT"),
        ("SELECT 1; DROP TABLE otel_traces", "one SELECT"),
        ("SELECT nothing FROM tool_calls", "nothing"),
        ("SELECT repeat('x', 1000000) || span_id AS long FROM tool_calls, generate_series(1, 100000) AS g ORDER BY 1", "memory"),
    ],
)  # fmt: skip
async def test_statements_that_are_not_queries_of_the_store_are_refused(
    browser: Any, engine: Any, sql: str, message: str
) -> None:
    engine.command("CREATE TABLE IF NOT EXISTS pages.secrets (a String) ENGINE = Memory AS SELECT 'hidden'")
    done = await put(browser, sql)
    assert done.status_code == 422, done.text[:300]
    assert message in done.json()["error"]
    assert "hidden" not in done.text


SLOW = "SELECT count(*) AS a FROM tool_calls AS p, tool_calls AS q, tool_calls AS r WHERE p.duration_ms + q.duration_ms + r.duration_ms < {}"
LARGE = "SELECT g.* FROM generate_series(1, 25000000) AS g WHERE 1 <> -{}"


def in_steps(step: str) -> str:
    """Return a query with ``step`` twelve times, each of which is read twice."""
    steps = ", ".join(f"x{n} AS ({step.format(n)})" for n in range(12))
    asked = " UNION ALL ".join(
        f"SELECT count(*) AS n FROM x{n} AS p UNION ALL SELECT count(*) FROM x{n} AS q" for n in range(12)
    )
    return f"WITH {steps} {asked}"


@pytest.mark.parametrize("sql", ["SELECT count(*) FROM generate_series(1, 1000000000000)", in_steps(SLOW)])
async def test_the_time_limit_is_of_the_question_and_not_of_each_step(limited: Any, engine: Any, sql: str) -> None:
    done = await put(limited, sql)
    assert done.status_code == 422, done.text[:300]
    assert "took longer than 2 s" in done.json()["error"]
    require_nothing_left(engine)


async def test_the_memory_limit_is_of_the_question_and_not_of_each_step(browser: Any, engine: Any) -> None:
    done = await put(browser, in_steps(LARGE))
    assert done.status_code == 422, done.text[:300]
    assert "memory" in done.json()["error"]
    require_nothing_left(engine)


def require_nothing_left(engine: Any) -> None:
    """Require that the question left no table and no limit behind."""
    assert engine.query("SELECT count() FROM system.tables WHERE is_temporary").result_rows == [(0,)]
    limits = (
        "SELECT count() FROM system.settings WHERE name IN ('max_execution_time', 'max_memory_usage') AND value <> '0'"
    )
    assert engine.query(limits).result_rows == [(0,)]


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("SELECT 1 IN secrets", "secrets"),
        ("SELECT a + 1 GLOBAL NOT IN (h.secrets) FROM calls", "h.secrets"),
        ("SELECT (SELECT max(a) FROM h.secrets)", "h.secrets"),
        ("SELECT * FROM calls, file('x')", "file()"),
        ("SELECT * FROM view(SELECT 1)", "view()"),
        ("SELECT 1 UNION ALL SELECT a FROM secrets", "secrets"),
        ("SELECT 1 SETTINGS max_threads = 1", "settings"),
        ("CREATE TABLE x (a Int8) ENGINE = Memory", "another kind of statement"),
        ("WITH x AS (SELECT 1 AS a) SELECT a IN (1, 2), (a, a) NOT IN ((1, 2)), a IN (SELECT 1) FROM x, generate_series(1, 2), calls AS c", None),
        ("DESCRIBE calls", None),
    ],
)  # fmt: skip
def test_the_tables_that_a_query_reads_are_checked_before_it_runs(engine: Any, sql: str, read: str | None) -> None:
    def answer(statement: str) -> str:
        return str(engine.raw_query(statement, fmt="TSVRaw").decode())

    script = TranslatedQuery((), sql, frozenset(["x"]))
    if read is None:
        require_allowed_tables(answer, script, {"calls"})
    else:
        with pytest.raises(QueryError, match=f"got {re.escape(read)}$"):
            require_allowed_tables(answer, script, {"calls"})


@pytest.mark.parametrize("form", ["csv", "parquet"])
async def test_an_answer_is_a_file(browser: Any, form: str, tmp_path: Path) -> None:
    import duckdb

    done = await put(browser, "SELECT tool, status FROM tool_calls LIMIT 7", "/sql/file", form=form)
    assert done.status_code == 200, done.text[:300]
    (file := tmp_path / f"a.{form}").write_bytes(done.content)
    assert len(duckdb.sql(f"FROM '{file}'").fetchall()) == 7
