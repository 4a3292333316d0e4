"""A result of a query: rows, the types of their columns, data frames, and tables for people."""

from __future__ import annotations

import copy
import pickle
import sys
from datetime import date, datetime
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tooltrace as tt
from tooltrace.analysis import find
from tooltrace.errors import BadParameter, MissingPackage
from tooltrace.store.result import (
    QueryResult,
    ResultColumn,
    Statement,
    limited,
    read,
    result_of,
    with_columns_at,
    with_rows,
)

COLUMNS = [("tool", "VARCHAR"), ("n", "BIGINT"), ("rate", "DOUBLE"), ("at", "TIMESTAMP")]
MADE: list[tuple[Any, ...]] = [("search", 3, 0.5, None), ("fetch", 1, None, datetime(2026, 3, 1))]


def made(rows: list[tuple[Any, ...]] = MADE) -> QueryResult:
    return QueryResult.of_rows(COLUMNS, rows, Statement(sql="", groups=("tool",)))


def test_a_result_is_a_sequence_of_its_rows() -> None:
    result = made()
    assert isinstance(result, tt.QueryResult)
    assert list(result) == result.rows == result[:] == MADE
    assert (result[0], result[-1], len(result), MADE[1] in result) == (MADE[0], MADE[1], 2, True)
    assert result.columns == ["tool", "n", "rate", "at"]
    assert result.types == ["VARCHAR", "BIGINT", "DOUBLE", "TIMESTAMP"]
    assert result.dicts()[0] == {"tool": "search", "n": 3, "rate": 0.5, "at": None}
    assert result.values("n") == [3, 1]
    assert result.select("n", "tool").rows == [(3, "search"), (1, "fetch")]
    assert pickle.loads(pickle.dumps(result)).rows == copy.deepcopy(result).rows == MADE
    assert not QueryResult.of_rows(COLUMNS, [], Statement(sql=""))


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(BadParameter, match="no column 'tol': its columns are tool, n, rate, at; did you mean 'tool'"):
        made().values("tol")
    with pytest.raises(TypeError, match=r"result\.values\('n'\)"):
        made()["n"]  # type: ignore[call-overload]


def test_only_what_is_documented_is_public() -> None:
    documented = {"columns", "rows", "types", "fields", "groups", "cut", "ms", "note", "of_rows"}
    documented |= {"dicts", "values", "select", "df", "pl", "arrow", "show"}
    assert {name for name in dir(made()) if not name.startswith("_")} == documented


FRAME = [("s", "VARCHAR"), ("i", "BIGINT"), ("f", "DOUBLE"), ("b", "BOOLEAN"), ("t", "TIMESTAMP"), ("d", "DATE"), ("l", "INTEGER[]")]  # fmt: skip
values = st.tuples(
    st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.booleans(),
    st.none() | st.datetimes(datetime(1, 1, 1), datetime(9999, 1, 1)),
    st.none() | st.dates(date(1, 1, 1), date(9999, 1, 1)),
    st.none() | st.lists(st.integers(0, 9), max_size=3),
)


@given(st.lists(values, max_size=20))
def test_data_frames_have_the_rows_and_the_types(rows: list[tuple[Any, ...]]) -> None:
    result = QueryResult.of_rows(FRAME, rows, Statement(sql=""))
    names = [name for name, _ in FRAME]
    frame, arrow, pandas = result.pl(), result.arrow(), result.df()
    assert frame.columns == arrow.column_names == list(pandas.columns) == names
    assert [tuple(row) for row in frame.rows()] == rows
    assert [tuple(row[name] for name in names) for row in arrow.to_pylist()] == rows
    assert [str(kind) for kind in frame.dtypes[1:4]] == ["Int64", "Float64", "Boolean"]
    assert pandas["i"].tolist() == [row[1] if row[1] is not None else pandas["i"].dtype.na_value for row in rows]
    assert [str(kind) for kind in pandas.dtypes.iloc[[2, 4, 5]]] == ["float64", "datetime64[us]", "datetime64[us]"]


def test_the_data_frames_of_other_types_have_the_rows() -> None:
    with duckdb.connect() as con:
        found = read(con, Statement(sql="SELECT 1::HUGEINT AS h, 1.50::DECIMAL(9, 2) AS m, {'a': 1} AS s, NULL AS u"))
    assert found.pl().rows() == found.rows
    assert found.arrow().num_rows == len(found.df()) == 1


@pytest.mark.parametrize(("method", "package"), [("df", "pandas"), ("pl", "polars"), ("arrow", "pyarrow")])
def test_a_missing_package_is_named(method: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackage) as caught:
        getattr(made(), method)()
    assert (
        str(caught.value) == f".{method}() needs the package {package}, which is not installed: pip install {package}"
    )


def test_a_table_shows_the_columns_that_fit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert repr(made()).splitlines() == [
        "tool    n  rate  at",
        "search  3   0.5  -",
        "fetch   1     -  2026-03-01 00:00:00",
        "(2 rows)",
    ]
    monkeypatch.setenv("COLUMNS", "16")
    made().show(1)
    assert capsys.readouterr().out.splitlines() == [
        "tool    n  rate",
        "search  3   0.5",
        "(1 of 2 rows; not shown here: at)",
    ]
    monkeypatch.setenv("COLUMNS", "80")
    hostile = repr(made([("\x1b[31m工具\n", 12345.6, True, 1e-7)]))
    assert "\x1b[" not in hostile
    assert hostile.splitlines()[1] == "\\x1b[31m工具\\x0a  12346  True  1e-07"


def test_a_notebook_gets_a_table_without_markup_of_the_data() -> None:
    found = made([("<script>", 1, 0.25, None)])._repr_html_()
    assert "<th title" in found
    assert "<td>&lt;script&gt;</td>" in found
    assert "<script>" not in found
    assert "(1 row)" in found


def test_parts_of_it_are_results() -> None:
    part = with_columns_at(made(), [0, 2])
    assert (part.columns, part.groups, part.rows) == (["tool", "rate"], 1, [("search", 0.5), ("fetch", None)])
    assert with_columns_at(made(), [1]).groups == 0
    assert with_rows(made(), MADE[:1]).rows == MADE[:1]
    for most, cut in ((0, "rows"), (1, "rows"), (2, None)):
        assert (limited(made(), most).rows, limited(made(), most).cut) == (MADE[:most], cut)


def test_columns_have_the_units_of_the_query_and_else_of_their_type() -> None:
    query = find("failure_rate")
    types = ["DATE", *("BIGINT" for _ in query.value_columns(["day"]))]
    found = QueryResult.of_rows(list(zip(query.columns(["day"]), types, strict=True)), [], query.statement(["day"]))
    assert found.fields == (ResultColumn(name="day", unit="time", meaning=""), *query.value_columns(["day"]))
    kinds = [("a", "JSON"), ("b", "TIMESTAMP WITH TIME ZONE"), ("c", "BIGINT")]
    assert [each.unit for each in QueryResult.of_rows(kinds, [], Statement(sql="")).fields] == ["json", "time", "text"]


def test_times_with_a_zone_are_naive_utc_in_rows() -> None:
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    relation = con.sql("SELECT TIMESTAMPTZ '2026-01-02 03:04:05+09' AS at")
    assert result_of(relation, Statement(sql="")).rows == [(datetime(2026, 1, 1, 18, 4, 5),)]
