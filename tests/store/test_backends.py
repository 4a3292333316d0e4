"""Every kind of store answers behind one interface; a further kind is one class and one registration."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result

import tooltrace as tt
from tests.store.memory_store import MemoryStore
from tooltrace.analysis import catalogue, find, query_store
from tooltrace.cli import cli
from tooltrace.core.records import Outcome, ToolCall
from tooltrace.errors import ConfigError, QueryCancelled, QueryError, StoreError, StoreMissing, UnsupportedByStore
from tooltrace.labels.from_file import LabelFileReport, unmatched
from tooltrace.recording import config
from tooltrace.store.base import Cancellation, open_store, register_store
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.result import Statement
from tooltrace.store.sandbox import SandboxLimits
from tooltrace.store.upkeep.retention import PrunePolicy
from tooltrace.store.url import Address, address_of, place_of

ROOT = Path(__file__).parents[2]
START = datetime(2026, 3, 1, 12, tzinfo=UTC)

register_store("memory", factory=MemoryStore)


def made(number: int, **given: Any) -> ToolCall:
    known: dict[str, Any] = {
        "tool": "search" if number % 3 else "fetch", "call_id": f"call_{number}", "trace_id": f"{number:032x}",
        "span_id": f"{number:016x}", "conversation_id": "session", "started_at": START + timedelta(minutes=number),
        "duration_ms": 10.0 + number, "status": "error" if number % 4 == 0 else "success", "confidence": 0.9,
        "code": "TIMEOUT" if number % 4 == 0 else None, "ending": "returned",
    }  # fmt: skip
    return ToolCall(**{**known, **given})


RECORDS = [*map(made, range(1, 21)), Outcome(call_id="call_3", correct=True, labeler="me", labeled_at=START)]


@pytest.fixture
def memory() -> str:
    """The URL of a store of the third kind that holds the records."""
    url = f"memory://{uuid4().hex}"
    open_store(url).write(RECORDS)
    return url


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """A DuckDB store that holds the same."""
    open_store(tmp_path / "local.duckdb").write(RECORDS)
    return tmp_path / "local.duckdb"


def rounded(row: tuple[Any, ...]) -> list[Any]:
    """A row without the last digits of its figures: a sum depends on the order."""
    return [float(f"{value:.9g}") if isinstance(value, float) else value for value in row]


def command(*words: str) -> Result:
    return CliRunner().invoke(cli, words, catch_exceptions=False)


@pytest.mark.parametrize(
    "name",
    [
        *("failure_rate", "recent", "ranking", "drift", "calibration"),
        *(pytest.param(name, marks=pytest.mark.simulations) for name in ("errors", "retries", "latency", "audit")),
    ],
)
def test_a_named_query_has_the_same_result_in_every_store(memory: str, local: Path, name: str) -> None:
    mine, other = tt.query(name, store=memory), tt.query(name, store=local)
    assert type(mine) is type(other)
    assert mine.fields == other.fields
    assert mine.groups == other.groups
    assert mine.types == other.types
    assert list(map(rounded, mine)) == list(map(rounded, other))
    assert list(mine.dicts()[0]) == mine.columns
    assert tuple(mine.columns) == find(name).columns()


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ("query", "failure_rate", "--by", "tool,day", "--format", "json"),
        ("query", "failure_rate"),
        ("sql", "SELECT tool, count(*) AS n FROM tool_calls GROUP BY ALL ORDER BY ALL", "--format", "csv"),
        ("show", "call_4", "--format", "json"),
        ("tail", "--no-follow", "--format", "json"),
        ("top", "--once", "--since", "2026-01-01"),
    ],
)
def test_commands_answer_the_same(memory: str, local: Path, words: tuple[str, ...]) -> None:
    mine, other = (command(*words, "--store", str(store)) for store in (memory, local))
    assert mine.exit_code == 0
    assert mine.stderr.replace(memory, "STORE") == other.stderr.replace(str(local), "STORE")
    skip = 1 if words[0] == "top" else 0  # the time of day
    assert mine.stdout.splitlines()[skip:] == other.stdout.splitlines()[skip:]
    assert mine.stdout.strip()


@pytest.mark.long
def test_a_report_is_about_any_store(memory: str, local: Path) -> None:
    mine, other = (
        json.loads(command("report", "--format", "json", "--since", "2026-01-01", "--store", str(store)).stdout)
        for store in (memory, local)
    )
    for one, two in zip(mine["answers"], other["answers"], strict=True):
        for row, same in zip(one["rows"], two["rows"], strict=True):  # sums of floats depend on the order of the rows
            for cell, expected in zip(row, same, strict=True):
                assert cell == (pytest.approx(expected, rel=1e-9) if isinstance(expected, float) else expected)
    assert mine["store"] == memory.removeprefix("memory://")


def test_the_store_may_come_from_the_environment_or_from_configure(
    memory: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLTRACE_STORE", memory)
    monkeypatch.setattr(config, "active_recorder", None)
    assert tt.query("failure_rate").values("attempts") == [14, 6]
    with tt.connect() as db:
        assert db.sql("SELECT count(*) FROM tool_calls").fetchall() == [(20,)]


@pytest.mark.long
async def test_pages_query_and_label_every_store(memory: str) -> None:
    httpx = pytest.importorskip("httpx")
    pytest.importorskip("starlette")
    from tooltrace.server.app import application
    from tooltrace.server.site import Site

    transport = httpx.ASGITransport(application(Site.of(memory, host="127.0.0.1")))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as browser:
        panel = await browser.get("/panel/failure_rate", params={"since": "2026-01-01"})
        assert panel.status_code == 200
        assert "search" in panel.text
        found = (await browser.get("/data/failure_rate", params={"since": "2026-01-01"})).json()
        assert [row[:3] for row in found["rows"]] == [["search", 14, 4], ["fetch", 6, 1]]
        for page in ("/", "/calls", "/state", "/question/errors"):
            assert (await browser.get(page)).status_code == 200, page
        form = {"span_id": f"{5:016x}", "verdict": "wrong", "labeler": "page"}
        done = await browser.post("/label", data=form, headers={"origin": "http://127.0.0.1"})
        assert done.status_code in (200, 303), done.text
        refused = await browser.get("/sql")
        assert refused.status_code == 501
        assert "cannot run untrusted SQL within limits" in refused.text
    labels = query_store(memory, "labels", call_id="call_5").dicts()
    assert [(row["labeler"], row["correct"]) for row in labels] == [("page", False)]


def test_a_label_is_written_to_it(memory: str) -> None:
    done = command("label", "call_7", "--wrong", "--labeler", "me", "--store", memory)
    assert done.stdout == "call_7 is labelled wrong by me.\n"
    assert (done.exit_code, done.stderr) == (0, "")
    assert query_store(memory, "labels", call_id="call_7").values("correct") == [False]


def test_unsupported_operations_raise_one_error(memory: str, local: Path) -> None:
    for store in (open_store(memory), open_store("clickhouse://u:secret@127.0.0.1:1/otel")):
        for asked in (lambda s: s.path, lambda s: s.history(), lambda s: s.prune(PrunePolicy(before=START))):
            with pytest.raises(UnsupportedByStore, match="the store") as refused:
                asked(store)
            assert "secret" not in str(refused.value)
            assert isinstance(refused.value, StoreError)
            with pytest.raises(UnsupportedByStore, match="cannot delete calls"):
                store.forget(conversation_id="session")
    with pytest.raises(UnsupportedByStore):
        tt.outcome_from("SELECT call_id, true AS correct FROM calls", labeler="me", store=memory)
    for words in (("import", "x.jsonl"), ("export", "jsonl", "-o", "-"), ("doctor",)):
        done = command(*words, "--store", memory)
        assert done.exit_code == 2
        assert "has no database file: pass the path of a local store" in done.stderr
    assert command("label", "--file", "x.csv", "--store", memory).exit_code == 2
    assert command("serve", "--otlp", "--store", memory).exit_code == 2


def test_files_and_saved_queries_of_a_store_are_known_without_an_error(memory: str, local: Path) -> None:
    assert open_store(local).files == StorePaths.of(local)
    assert open_store(local).can_save_queries
    for store in (open_store(memory), open_store("clickhouse://127.0.0.1:1/otel")):
        assert store.files is None
        assert not store.can_save_queries


def test_each_store_knows_which_errors_quote_values(memory: str, local: Path) -> None:
    """Values of a row must not leave by an error; a store that does not know keeps no text of the engine."""
    about_sql = QueryError('Binder Error: Referenced column "nope" not found\n\nCandidate bindings: "secret"')
    at_run_time = QueryError("Conversion Error: Could not convert string 'secret' to INT32")
    clickhouse = QueryError("Code: 6. DB::Exception: Cannot parse string 'secret'. (CANNOT_PARSE_TEXT) (version 26.1)")
    known = open_store(local)
    assert known.safe_message(about_sql) == 'Binder Error: Referenced column "nope" not found'
    assert known.safe_message(at_run_time).startswith("the query failed while it read rows (Conversion Error):")
    remote = open_store("clickhouse://127.0.0.1:1/otel")
    assert remote.safe_message(clickhouse) == "the query failed (CANNOT_PARSE_TEXT): check its names and types"
    for error in (about_sql, at_run_time, clickhouse):
        assert "secret" not in open_store(memory).safe_message(error)
    missing = StoreMissing("nothing was recorded")
    assert {store.safe_message(missing) for store in (known, remote, open_store(memory))} == {str(missing)}


async def test_the_mcp_server_shows_only_the_safe_part_of_an_error(memory: str) -> None:
    pytest.importorskip("anyio")
    from tooltrace.mcp_server.served_store import ServedStore

    failing = Statement(name="failing", sql="SELECT error('the text of ' || tool) FROM tool_calls")
    with pytest.raises(QueryError) as caught:
        await ServedStore(open_store(memory)).rows(failing)
    assert str(caught.value) == "the query failed: check its names and types"


def test_labels_without_a_call_are_counted_in_every_store(memory: str, local: Path) -> None:
    done = LabelFileReport()
    for outcome in RECORDS[-1:]:
        done.count(outcome)
    done.count(Outcome(call_id="nowhere", correct=True, labeler="me", labeled_at=START))
    assert [unmatched(done, store) for store in (memory, local)] == [1, 1]


def test_an_empty_store_is_reported(local: Path) -> None:
    nowhere = f"memory://{uuid4().hex}"
    with pytest.raises(StoreMissing):
        tt.query("recent", store=nowhere)
    assert query_store(nowhere, "recent", missing_ok=True).rows == []
    assert not open_store(nowhere).exists()
    assert not open_store(local.with_name("none.duckdb")).exists()
    done = command("query", "recent", "--format", "json", "--store", nowhere)
    assert (done.exit_code, done.stdout) == (1, "[]\n")


def test_the_version_changes_with_each_write(memory: str, local: Path) -> None:
    for store in (open_store(memory), open_store(local)):
        before = store.version()
        assert before == open_store(store).version()
        store.write([made(99)])
        assert store.version() != before
    assert open_store("clickhouse://127.0.0.1:1/otel").version() is None


@pytest.mark.long
def test_sql_of_a_user_is_answered_by_the_same_class(memory: str, local: Path) -> None:
    statement = Statement(sql="SELECT tool, count(*) AS n FROM tool_calls GROUP BY ALL ORDER BY ALL")
    for store in map(open_store, (memory, str(local))):
        result = store.query(statement)
        assert result.rows == [("fetch", 6), ("search", 14)]
        with pytest.raises(QueryError, match="nothing"):
            store.query(Statement(sql="SELECT nothing FROM tool_calls"))
    described = open_store(local).query(Statement(sql="DESCRIBE tool_calls"))
    assert described.rows[0][0] == "tool"
    twice = open_store(local).query(Statement(sql="SELECT 1 AS a, 2 AS a"))
    assert (twice.columns, twice.rows) == (["a", "a"], [(1, 2)])
    assert not open_store(local).query(Statement(sql="-- nothing")).fields


@pytest.mark.long
async def test_sql_of_a_visitor_is_answered_by_the_same_class(local: Path) -> None:
    sandbox = open_store(local).sandbox(SandboxLimits(rows=2))
    try:
        result = await sandbox.query("SELECT tool, attempt FROM tool_calls ORDER BY span_id")
    finally:
        await sandbox.close()
    assert type(result) is type(query_store(local, "recent"))
    assert (result.columns, len(result.rows), result.cut) == (["tool", "attempt"], 2, "rows")


def test_a_query_that_is_cancelled_before_it_is_run_is_not_run(memory: str, local: Path) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    for store in (memory, local):
        with pytest.raises(QueryCancelled):
            query_store(store, "recent", cancellation=cancellation)


def test_a_label_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "full.duckdb.journal").write_text("a file where the directory of the journals should be")
    with pytest.raises(StoreError, match="cannot write the journal"):
        open_store(tmp_path / "full.duckdb").write(RECORDS[-1:])


def test_a_store_is_opened_once(local: Path) -> None:
    store = open_store(local)
    assert open_store(store) is store
    assert (store.path, str(store), store.name) == (local, str(local), local.name)


def test_an_address_made_of_an_address_has_its_password() -> None:
    address = Address("clickhouse://u:secret@h/db")
    assert Address(address).url == address.url == "clickhouse://u:secret@h/db"
    assert address_of(address) == address
    assert address_of("nosuch://h/db") is None
    assert place_of(address) == address
    assert place_of("some/t.duckdb") == Path("some/t.duckdb")


def test_a_url_of_an_unknown_scheme_is_refused() -> None:
    """It would pass for a relative path: no store would be found, or one would be made in a folder ``clickhous:``."""
    with pytest.raises(ConfigError, match="unknown scheme: expected .* clickhouse://") as caught:
        tt.query("failure_rate", store="clickhous://user:pw@host/db")
    assert "pw" not in str(caught.value)
    done = CliRunner().invoke(cli, ["query", "failure_rate", "--store", "clickhous://user:pw@host/db"])
    assert done.exit_code == 2
    assert "clickhouse://" in done.stderr
    assert "pw" not in done.stderr


@pytest.mark.processes
def test_an_installed_package_adds_a_store_by_an_entry_point(tmp_path: Path) -> None:
    package = tmp_path / "another_store-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: another-store\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[tooltrace.stores]\nelsewhere = tests.store.memory_store:MemoryStore\n")
    code = (
        "import tooltrace as tt\n"
        "try: tt.query('recent', store='elsewhere://x')\n"
        "except tt.TooltraceError as error: print(error)\n"
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "nothing was recorded in elsewhere://x\n", done.stderr


def test_every_query_has_a_description() -> None:
    for name, query in catalogue().items():
        given = {each.name: "7d" if each.name == "after" else "x" for each in query.header.parameters if each.required}
        statement = query.statement(None, **given)
        assert (statement.name, statement.groups) == (name, query.groups())
