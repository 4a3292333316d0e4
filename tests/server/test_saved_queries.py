"""Saved queries: written while others record, listed, run, deleted; on the page, on the command line, in the store."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.stores import create_empty_store
from tooltrace.analysis.saved_queries import (
    MAX_NAME_LENGTH,
    delete_query,
    save_query,
    saved_queries,
    saved_query,
)
from tooltrace.cli import cli
from tooltrace.errors import BadParameter, UnknownQuery, UnsupportedByStore
from tooltrace.store.base import open_store
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.writer import Journal

from .conftest import call, write
from .test_pages import client_store

SQL = "SELECT tool, count(*) AS n FROM tool_calls GROUP BY tool"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = create_empty_store(tmp_path / "s.duckdb")
    write(path, call(), call())
    return path


def test_the_latest_of_a_name_counts_until_it_is_deleted(store):
    backend = open_store(store)
    save_query(backend, "by tool", SQL, saved_by="ann")
    save_query(backend, " by tool ", "SELECT 2", saved_by="bob")
    save_query(backend, "other", "SELECT 3")
    found = saved_queries(backend)
    assert {name: (query.sql, query.saved_by) for name, query in found.items()} == {
        "by tool": ("SELECT 2", "bob"),
        "other": ("SELECT 3", "human"),
    }
    assert found["by tool"].saved_at.tzinfo is not None
    delete_query(backend, "by tool")
    assert list(saved_queries(backend)) == ["other"]
    with pytest.raises(UnknownQuery, match="no query is saved as 'by tool'"):
        saved_query(backend, "by tool")
    save_query(backend, "by tool", SQL)
    assert saved_query(backend, "by tool").sql == SQL


def test_it_is_saved_while_another_process_records(store):
    journal = Journal(StorePaths.of(store).journal)
    try:
        save_query(open_store(store), "mine", SQL)
        assert saved_query(open_store(store), "mine").sql == SQL
    finally:
        journal.close()


@pytest.mark.parametrize(
    ("name", "sql"),
    [("", SQL), ("   ", SQL), ("a" * (MAX_NAME_LENGTH + 1), SQL), ("a\nb", SQL), ("a\u202eb", SQL), ("a", " ")],
)
def test_an_invalid_name_or_text_is_refused(store, name, sql):
    with pytest.raises(BadParameter):
        save_query(open_store(store), name, sql)
    assert saved_queries(open_store(store)) == {}


def test_a_text_with_a_secret_is_refused_and_not_written(store):
    secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ"
    with pytest.raises(BadParameter, match="in the form of a secret"):
        save_query(open_store(store), "a", f"SELECT * FROM tool_calls WHERE text = '{secret}'")
    assert not [file for file in store.parent.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()]


def test_a_store_that_does_not_exist_has_none(tmp_path):
    assert saved_queries(open_store(tmp_path / "none.duckdb")) == {}


def test_clickhouse_refuses_with_a_reason():
    pytest.importorskip("clickhouse_connect")
    store = open_store("clickhouse://127.0.0.1:1/x")
    for ask in (lambda: save_query(store, "a", SQL), lambda: saved_queries(store)):
        with pytest.raises(UnsupportedByStore, match="cannot save queries"):
            ask()


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(cli, [*arguments])
    return done.exit_code, done.stdout, done.stderr


def test_the_command_saves_and_runs(store):
    place = ["--store", str(store)]
    code, out, err = run("sql", SQL, "--save", "by tool", "-f", "csv", *place)
    assert (code, out.splitlines(), err) == (0, ["tool,n", "search,2"], "Saved as by tool.\n")
    assert run("sql", "--saved", "by tool", "-f", "csv", *place)[1] == out
    assert "by tool" in run("sql", "--saved", "?", *place)[1]
    code, _, err = run("sql", "--saved", "by tol", *place)
    assert code != 0
    code, _, err = run("sql", SQL, "--saved", "by tool", *place)
    assert code == 2 or "--saved runs a saved query" in err


def test_a_statement_that_fails_is_not_saved(store):
    assert run("sql", "SELECT nothing", "--save", "wrong", "--store", str(store))[0] != 0
    assert saved_queries(open_store(store)) == {}


@pytest.mark.long
def test_the_page_saves_lists_opens_and_deletes(shown):
    client = shown(call())
    htmx = {"hx-request": "true"}
    form = {"name": "<b>mine</b>", "q": SQL, "saved_by": "ann"}
    text = client.post("/sql/save", data=form, headers=htmx).text
    assert "&lt;b&gt;mine&lt;/b&gt;" in text
    assert "ann" in text
    page = client.get("/sql", params={"saved": "<b>mine</b>"}).text
    assert SQL in page
    plain = client.post("/sql/save", data=form)
    assert plain.status_code == 303
    assert "mine" in client.get("/palette?find=mine").text
    assert client.get("/sql", params={"saved": "no such"}).status_code == 404
    assert client.post("/sql/save", data={**form, "name": ""}).status_code == 400
    assert client.post("/sql/save", data=form, headers={"origin": "https://evil.example"}).status_code == 403
    assert "mine" not in client.post("/sql/delete", data={"name": "<b>mine</b>"}, headers=htmx).text
    assert saved_queries(open_store(client_store(client))) == {}


def test_the_editor_gets_the_tables_and_a_policy_with_a_nonce_for_styles_alone(shown):
    client = shown(call())
    tables = {table["name"]: table["columns"] for table in client.get("/sql/schema").json()}
    assert ["call_id", "VARCHAR"] in [column[:2] for column in tables["tool_calls"]]
    assert "saved_queries" in tables
    first, second = client.get("/sql"), client.get("/sql")
    policies = [answer.headers["content-security-policy"] for answer in (first, second)]
    assert policies[0] != policies[1], "a nonce for each answer"
    assert "style-src 'self' 'nonce-" in policies[0]
    assert "script-src" not in policies[0]
    assert "unsafe" not in policies[0]
    nonce = policies[0].split("'nonce-")[1].split("'")[0]
    assert f'data-nonce="{nonce}"' in first.text
    assert "nonce" not in client.get("/").headers["content-security-policy"]


def test_a_csv_file_of_sql_has_no_formula(shown):
    client = shown(call())
    sql = "SELECT '=1+1' AS a, -1 AS b, '+2'::BLOB AS \"=c\", 'ok' AS d, '-e'::ENUM('-e') AS e"
    text = client.post("/sql/file", data={"form": "csv", "q": sql}).text
    assert text.splitlines() == ["a,b,'=c,d,e", "'=1+1,-1,'+2,ok,'-e"]
