"""Rows are grouped by whitelisted expressions; an attribute's name is a name, whatever it is made of."""

from __future__ import annotations

import json
from datetime import date, datetime

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.queries.answers import run
from tooltrace.analysis import find
from tooltrace.errors import BadParameter
from tooltrace.store.database.macros import create_macros
from tooltrace.store.database.schema import ATTEMPTS, quote_identifier
from tooltrace.store.database.views import FACTS


def groups(con, by):
    query = find("failure_rate")
    rows = run(con, "failure_rate", by=by).fetchall()
    return {row[: len(query.groups(by))]: row[len(query.groups(by))] for row in rows}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("tool", {("search",): 2, ("fetch",): 1}),
        ("version", {("1",): 1, ("2",): 1, (None,): 1}),
        ("code", {("TIMEOUT",): 1, (None,): 2}),
        ("agent", {("a",): 2, (None,): 1}),
        ("conversation", {("session",): 3}),
        ("day", {(date(2026, 3, 1),): 2, (date(2026, 3, 2),): 1}),
        ("hour", {(datetime(2026, 3, 1, 12),): 2, (datetime(2026, 3, 2, 9),): 1}),
        ("status", {("success",): 2, ("error",): 1}),
        ("attributes.region", {("eu",): 1, ("7",): 1, (None,): 1}),
        ("tool, day", {("search", date(2026, 3, 1)): 2, ("fetch", date(2026, 3, 2)): 1}),
        ([], {(): 3}),
    ],
)
def test_each_dimension(engine, make, by, expected):
    con = engine(
        make(tool_version="1", agent="a", conversation_id="session", attributes='{"region":"eu"}'),
        make(tool_version="2", status="error", code="TIMEOUT", conversation_id="session", attributes='{"region":7}'),
        make(tool="fetch", agent="a", conversation_id="session", started_at=datetime(2026, 3, 2, 9, 59)),
    )
    assert groups(con, by) == expected


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("verson", "did you mean 'version'"),
        ("attributes", "failure_rate accepts tool, version"),
        ("attributes.", "name of an attribute"),
        ("attributes.\0", "name of an attribute"),
        ("attributes.\ud800", "name of an attribute"),
        ("tool; DROP TABLE tool_calls", "failure_rate accepts tool"),
        (["tool", "tool"], "each dimension once"),
        (["attributes.a", "attributes.A"], "each dimension once"),
        ([7], "got 7"),
    ],
)
def test_an_unknown_dimension_is_refused(by, message):
    with pytest.raises(BadParameter, match=message):
        find("failure_rate").render(by)


def test_a_query_without_groups_refuses_by():
    with pytest.raises(BadParameter, match="query recent does not group its rows"):
        find("recent").render("tool")


NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30)
HOSTILE = st.sampled_from([
    "'", '"', "';DROP TABLE tool_calls;--", "*/ 1 /*", "/* end by */", "/* by */", "--", "$since", "$x", "a.b", "$.a", "/", "~1", "~",
    "\\", "\\'", "a'||'b", '"."', "\n", "%s", "{0}", "0", "#1", "[0]", "*",
])  # fmt: skip


CON = duckdb.connect(":memory:", config={"threads": 1})
create_macros(CON)
CON.execute("CREATE TABLE repeated_calls (call_hash UBIGINT)")
CON.execute(
    f"CREATE TABLE attempts ({', '.join(f'{quote_identifier(c.name)} {c.type}' for c in ATTEMPTS.columns)}, call_hash UBIGINT, cluster_hash UBIGINT)"
)
CON.execute(f"CREATE VIEW facts AS {FACTS.sql}")


@given(name=st.one_of(NAMES, HOSTILE, st.tuples(HOSTILE, NAMES, HOSTILE).map("".join)))
def test_any_attribute_name_is_read_and_nothing_else_is_run(name):
    attributes = json.dumps({name: "the value", name + "x": "another"})
    CON.execute("TRUNCATE attempts")
    CON.execute(
        "INSERT INTO attempts (tool, call_id, conversation_id, attempt, status, ending, cached, started_at, attributes, "
        "call_hash, cluster_hash) VALUES ('t', 'c', 's', 1, 'success', 'returned', false, now()::TIMESTAMP, ?, 1, 2)",
        [attributes],
    )
    answer = run(CON, "failure_rate", by=[f"attributes.{name}", "tool"])
    assert answer.columns[0] == f"attributes.{name}"
    assert [row[:3] for row in answer.fetchall()] == [("the value", "t", 1)]
    assert CON.execute("SELECT count(*) FROM attempts").fetchall() == [(1,)]
