"""``tt.query`` and ``tt.connect``: what they accept, and what stays open."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tooltrace.analysis.saved_queries import save_query
from tooltrace.errors import BadParameter, StoreMissing, UnknownQuery
from tooltrace.store.base import open_store


@pytest.fixture(autouse=True)
def recorded(store: Path) -> None:
    tt.configure(store=store)
    for tenant in ("a", "b"):
        with tt.context(attributes={"tenant": tenant}):
            tt.trace_tool(name="look")(lambda: 1)()


def test_a_saved_query_and_an_attribute_have_forms_of_their_own(store: Path) -> None:
    save_query(open_store(store), "tools", "SELECT tool, count(*) AS n FROM tool_calls GROUP BY tool;")
    assert tt.query(saved="tools").rows == tt.query(saved="tools", store=store).rows == [("look", 2)]
    grouped = tt.query("failure_rate", by=[tt.attribute("tenant"), "tool"])
    assert grouped.columns[:3] == ["attributes.tenant", "tool", "attempts"]
    assert sorted(row[:3] for row in grouped) == [("a", "look", 1), ("b", "look", 1)]


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda: tt.query(saved="tool"), UnknownQuery, "no query is saved as 'tool'"),
        (lambda: tt.query(), BadParameter, "needs the name of a query"),  # type: ignore[call-overload]
        (lambda: tt.query("errors", saved="tools"), BadParameter, "not both"),  # type: ignore[call-overload]
        (lambda: tt.query(saved="tools", by="tool"), BadParameter, "no parameters: leave by out"),  # type: ignore[call-overload]
        (lambda: tt.query("errors", by="tol"), BadParameter, "did you mean 'tool'"),  # type: ignore[call-overload]
        (lambda: tt.connect("nowhere.duckdb").sql("SELECT 1"), StoreMissing, "found no store"),
        (lambda: tt.connect().table("calls"), AttributeError, r"with tt.connect\(\) as db: db.table\(…\)"),
    ],
)
def test_what_cannot_be_asked_is_refused(ask: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ask()


def test_a_connection_works_without_a_block(store: Path) -> None:
    db = tt.connect()
    count = "SELECT count(*) FROM tool_calls"
    relation = db.sql(count)
    assert relation.fetchall() == db.execute(count).fetchall() == [(2,)]
    assert db.execute("SELECT tool FROM tool_calls WHERE tool = ?", ["look"]).fetchone() == ("look",)
    assert db.sql("SELECT $n AS n", params={"n": 3}).fetchall() == [(3,)]
    assert db.sql("DESCRIBE tool_calls").fetchall()[0][0] == "tool"
    db.close()


def test_nothing_stays_open_without_a_block(store: Path) -> None:
    """The next statement sees the next call, and an other connection may write meanwhile."""
    db = tt.connect()
    before = db.sql("SELECT count(*) FROM tool_calls")
    tt.trace_tool(name="later")(lambda: 1)()
    assert tt.query("failure_rate").values("attempts") == [2, 1]
    assert (before.fetchall(), db.sql("SELECT count(*) FROM tool_calls").fetchall()) == ([(2,)], [(3,)])
    with db as first, db as second:
        assert first.sql("SELECT 1").fetchall() == second.sql("SELECT 1").fetchall()


NOTEBOOK = """
import sys, types
# what DuckDB looks for in order to draw its progress bar, which needs another package
sys.modules["IPython"] = types.ModuleType("IPython")
sys.modules["IPython"].get_ipython = lambda: types.SimpleNamespace(config={"IPKernelApp": {}})
import tooltrace as tt
print(tt.query("failure_rate", store=sys.argv[1]).values("attempts"))
"""


@pytest.mark.processes
def test_a_notebook_without_widgets_can_query(store: Path) -> None:
    tt.flush()
    done = subprocess.run([sys.executable, "-c", NOTEBOOK, str(store)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[2]\n", "")
