"""Connections of the tests: one to an instance that is used again finds what a new one finds."""

from __future__ import annotations

import os

import duckdb
import pytest

from tests.instances import DATABASES, FUNCTIONS, Instances
from tooltrace.store.database.connection import connect

SETTINGS = "SELECT name, value FROM duckdb_settings()"


@pytest.fixture
def instances(reused_instances: Instances) -> Instances:
    connect().close()  # lets the pool find the instances that earlier tests have closed
    reused_instances.drop_idle()
    return reused_instances


def state(con: duckdb.DuckDBPyConnection) -> list[list[tuple[object, ...]]]:
    return [sorted(con.execute(question).fetchall(), key=str) for question in (SETTINGS, DATABASES, FUNCTIONS)]


def use(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "SET threads = 1; SET memory_limit = '100 MB'; SET wal_autocheckpoint = '1 B'; SET max_vacuum_tasks = 0"
    )
    con.execute("ATTACH ':memory:' AS store; CREATE TABLE store.t (n INTEGER); USE store")
    con.execute(
        "CREATE TABLE memory.t (n INTEGER); CREATE MACRO memory.main.f(a) AS a; CREATE TEMP TABLE own (n INTEGER)"
    )


def test_a_used_instance_is_as_new(instances: Instances) -> None:
    con = connect()
    new = state(con)
    use(con)
    con.close()
    assert len(instances._idle) == 1
    with connect() as con:
        assert instances._idle == []
        assert state(con) == new


def test_connections_that_are_open_at_the_same_time_have_an_instance_each(instances: Instances) -> None:
    first, second = connect(), connect()
    first.execute("CREATE TABLE t (n INTEGER)")
    with pytest.raises(duckdb.CatalogException):
        second.execute("FROM t")
    cursor = first.cursor()
    first.close()
    cursor.close()
    second.close()
    assert len(instances._idle) == 2


@pytest.mark.parametrize("sql", ["SET lock_configuration = true", "BEGIN; CREATE TABLE t (n INTEGER)"])
def test_an_instance_that_cannot_be_restored_is_not_used_again(instances: Instances, sql: str) -> None:
    con = connect()
    con.execute(sql)
    con.close()
    with connect() as con:
        assert con.execute("SELECT current_setting('lock_configuration')").fetchall() == [(False,)]
        assert con.execute("SELECT table_name FROM duckdb_tables()").fetchall() == []


def test_an_instance_with_a_function_in_python_is_not_used_again(instances: Instances) -> None:
    con = connect()
    con.create_function("f", lambda text: text, ["VARCHAR"], "VARCHAR")
    con.close()
    assert instances._idle == []


@pytest.mark.processes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_fork_finds_no_idle_instance(instances: Instances) -> None:
    connect().close()
    assert len(instances._idle) == 1
    if (pid := os.fork()) == 0:
        os._exit(len(instances._idle))
    assert os.waitpid(pid, 0)[1] == 0
    assert instances._idle == []
