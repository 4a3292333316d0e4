"""Grafana's dashboards: made from the queries, as Grafana's schema has them, and right in ClickHouse's own engine."""

from __future__ import annotations

import json
import re
import sys
import typing
from base64 import b64encode
from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cache, partial
from typing import Any
from urllib.parse import quote

import clickhouse_connect
import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import dashboard as schema
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.history import make_history
from dashboards.grafana.generate import DASHBOARDS, overview_panels, tool_panels
from dashboards.grafana.panel_sql import PanelQuery, _merged, qualify_tables
from dashboards.grafana.panels import Panel
from tests.clickhouse.compare import address, differences
from tests.clickhouse.conftest import Fill, exporters_tables, records_of
from tooltrace.analysis import query_store
from tooltrace.clickhouse.attribute_sql import quote_identifier
from tooltrace.clickhouse.query import relation
from tooltrace.clickhouse.sql.rewrites import TempTable
from tooltrace.clickhouse.sql.translate import TranslatedQuery, to_clickhouse
from tooltrace.clickhouse.store import UNITS
from tooltrace.clickhouse.views import apply
from tooltrace.core.records import ToolCall
from tooltrace.errors import QueryError

FULL, EMPTY, HOSTILE = "grafana_full", "grafana_empty", "grafana_hostile"
TOOL = "python"
WHOLE = (datetime(2000, 1, 1), datetime(2100, 1, 1))  # noqa: DTZ001  naive UTC, as parameters are
ALL, ONE = overview_panels(), tool_panels()
PANELS = [pytest.param(panel, id=f"all-{panel.title}") for panel in ALL]
PANELS += [pytest.param(panel, id=f"one-{panel.title}") for panel in ONE]
register_default_plugins()

Window = tuple[datetime, datetime]
Json = dict[str, Any]


@pytest.fixture(scope="module")
def grafana(engine: Any) -> Iterator[Any]:
    """A client as Grafana's plugin is one: no settings, and another database than that of the dashboard."""
    client = clickhouse_connect.get_client(interface="chdb", path=engine.path)
    yield client
    client.close()


@pytest.fixture(scope="module")
def window(engine: Any, fill: Fill, tmp_path_factory: pytest.TempPathFactory) -> Window:
    """A time range with something before it, inside and after, of 8,000 attempts of 30 days and an incident of 20."""
    store = tmp_path_factory.mktemp("grafana") / "history.duckdb"
    make_history(store, 8_000)
    records = records_of(store)
    began = min(record.started_at for record in records if isinstance(record, ToolCall))
    fill(FULL, [*records, *map(partial(_failure, began + timedelta(days=12)), range(20))])
    first = began.replace(tzinfo=None, microsecond=0)
    return first + timedelta(days=3, milliseconds=123), first + timedelta(days=25, milliseconds=456)


def _failure(start: datetime, number: int) -> ToolCall:
    return ToolCall(
        tool=TOOL, call_id=f"incident{number}", span_id=f"{number + 1:016x}", trace_id=f"{number + 1:032x}",
        started_at=start + timedelta(microseconds=number), duration_ms=1.0, status="error", ending="returned", code="TIMEOUT",
    )  # fmt: skip


def millis(at: datetime) -> int:
    return int(at.replace(tzinfo=UTC).timestamp() * 1000 + 0.5)


def as_sent(sql: str, database: str, window: Window, tool: str | None) -> str:
    """Return the SQL that the plugin sends: variables as Grafana's ``percentencode`` and ``raw`` write them, then macros."""
    values = {"database:raw": database, "tool:percentencode": quote(tool or "", safe="-_.~")}
    sql = re.sub(r"\$\{([\w:]+)\}", lambda found: values[found[1]], sql)
    sql = re.sub(r"('(?:[^'\\]|\\.|'')*')|--[^\n]*", lambda found: found[1] or " ", sql)
    ends = {"fromTime_ms": window[0], "toTime_ms": window[1]}
    return re.sub(r"\$__(\w+)", lambda found: f"fromUnixTimestamp64Milli({millis(ends[found[1]])})", sql)


def answer(client: Any, sql: str, query: PanelQuery, database: str, window: Window, tool: str | None) -> Any:
    data = client.raw_query(as_sent(sql, database, window, tool), fmt="Parquet")
    return relation(data, {c.name: UNITS[c.unit] for c in query.definition.header.columns if c.unit in UNITS})


def by_query(engine: Any, query: PanelQuery, database: str, window: Window, tool: str | None) -> Any:
    """The same of the named query."""
    takes = {parameter.name for parameter in query.definition.header.parameters}
    since, until = window
    known = {
        "since": since,
        "until": until,
        "before": since - (until - since),
        "tool": tool if query.one_tool else None,
    }
    params = {**query.params, **{name: value for name, value in known.items() if name in takes}}
    by = query.by if query.definition.header.by else None
    return query_store(address(engine, database), query.name, by=by, **params)


def only(panel: Panel) -> str:
    """The panel's SQL."""
    (target,) = panel.body["targets"]
    return str(target["rawSql"])


@cache
def board(name: str) -> Json:
    return DASHBOARDS[name]()


def dashboards() -> list[Json]:
    return [board(name) for name in DASHBOARDS]


def statements() -> list[str]:
    """Every statement of every dashboard: of panels, variables and annotations."""
    found = []
    for made in dashboards():
        found += [target["rawSql"] for panel in made["panels"] for target in panel["targets"]]
        found += [one["query"]["rawSql"] for one in made["templating"]["list"] if one["type"] == "query"]
        found += [one["target"]["rawSql"] for one in made["annotations"]["list"]]
    return found


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_answers_as_the_query_does(engine: Any, grafana: Any, window: Window, panel: Panel) -> None:
    query, tool = panel.query, TOOL if panel.query.one_tool else None
    found = answer(grafana, only(panel), query, FULL, window, tool)
    expected = by_query(engine, query, FULL, window, tool)
    if panel.body["type"] == "timeseries":
        names = {"time": "started"}
        columns = [names.get(name, name) for name in found.columns]
        assert columns[0] == "started"
        expected = expected.select(*columns)
        assert sorted(row[0] for row in found.fetchall()) == [row[0] for row in found.fetchall()]
        assert not differences(sorted(expected, key=repr), sorted(found.fetchall(), key=repr))
    else:
        assert found.columns == expected.columns
        assert not differences(expected.rows, found.fetchall())
    assert shown(panel) <= set(found.columns)
    assert found.fetchall(), "the history has an answer to every panel"


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_of_nothing(grafana: Any, engine: Any, panel: Panel) -> None:
    if not engine.command(f"EXISTS DATABASE {EMPTY}"):
        apply(engine, exporters_tables(engine, EMPTY), EMPTY)
    found = answer(grafana, only(panel), panel.query, EMPTY, WHOLE, TOOL)
    assert shown(panel) <= set(found.columns)
    assert all(value in (None, 0) or isinstance(value, (str, bool)) for row in found.fetchall() for value in row)


def shown(panel: Panel) -> set[str]:
    """Names of the columns that the panel speaks of."""
    config = panel.body["fieldConfig"]
    names = {one["matcher"]["options"] for one in config["overrides"]}
    for change in panel.body.get("transformations", []):
        first, hidden = set(change["options"]["indexByName"]), set(change["options"]["excludeByName"])
        assert not first & hidden
        names |= first | hidden
    properties = [property_ for one in config["overrides"] for property_ in one["properties"]]
    names |= {one["value"] for one in properties if one["id"] == "custom.fillBelowTo"}
    names |= set(panel.body["options"].get("reduceOptions", {}).get("fields", "").strip("/^$()").split("|"))
    names |= {panel.body["options"].get("xField", "")}
    names |= set(re.findall(r"labels\.(\w+)", config["defaults"].get("displayName", "")))
    return names - {""}


def test_a_table_with_an_interval_shows_both_ends_and_the_figure() -> None:
    for panel in (*ALL, *ONE):
        shown = [name for change in panel.body.get("transformations", []) for name in change["options"]["indexByName"]]
        ends = {c.name: c.end_of for c in panel.query.definition.header.columns if c.end_of is not None}
        for name in set(shown) & set(ends):
            assert ends[name][1] in shown, (panel.title, name)
            assert {end for end, of in ends.items() if of[1] == ends[name][1]} <= set(shown), (panel.title, name)


def test_variables_answer(grafana: Any, window: Window) -> None:
    tool = next(one for one in board("tool.json")["templating"]["list"] if one["name"] == "tool")
    rows = grafana.query(as_sent(tool["query"]["rawSql"], FULL, window, None)).result_rows
    assert len(rows) == 12
    assert (TOOL,) in rows
    database = next(one for one in board("tool.json")["templating"]["list"] if one["name"] == "database")
    assert (FULL,) in grafana.query(database["query"]["rawSql"]).result_rows


@pytest.mark.parametrize("name", DASHBOARDS)
def test_incidents_are_marks(grafana: Any, engine: Any, window: Window, name: str) -> None:
    (marks,) = board(name)["annotations"]["list"]
    query = PanelQuery("incidents", ("tool",), one_tool=name == "tool.json")
    found = answer(grafana, marks["target"]["rawSql"], query, FULL, window, TOOL)
    assert found.columns == ["time", "timeEnd", "title", "text"]
    expected = by_query(engine, query, FULL, window, TOOL).select("started", "ended", "tool", "code").rows
    assert expected
    assert sorted(found.fetchall(), key=repr) == sorted(expected, key=repr)


NAMES = ["it's", "a\\", "\\' OR 1=1 --", "' UNION SELECT 1 --", "日本 語", "100%", "%27", "a+b c", "${database}", "$__toTime_ms", "{x:String}", "x\ny"]  # fmt: skip


def test_a_tool_of_any_name(engine: Any, grafana: Any, fill: Fill) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    calls = [
        ToolCall(tool=name, call_id=f"c{at}", span_id=f"{at + 1:016x}", trace_id=f"{at + 1:032x}", started_at=start,
            duration_ms=float(at), ending="returned")
        for at, name in enumerate(NAMES)
    ]  # fmt: skip
    fill(HOSTILE, list(calls))
    panel = next(panel for panel in ONE if panel.query.name == "recent")
    for at, name in enumerate(NAMES):
        rows = answer(grafana, only(panel), panel.query, HOSTILE, WHOLE, name)
        assert rows.project("tool, call_id").fetchall() == [(name, f"c{at}")]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_special_characters_in_a_name_survive(grafana: Any, name: str) -> None:
    query = PanelQuery("recent", one_tool=True)
    (written,) = set(re.findall(r"decodeURLComponent\('[^']*'\)", query.sql()))
    found = grafana.query("SELECT hex(" + as_sent(written, FULL, WHOLE, name) + ")").result_rows
    assert bytes.fromhex(found[0][0]).decode() == name


def test_grafana_expands_only_our_variables() -> None:
    """Its grammar has ``$name``, ``${name}`` and ``[[name]]``; an expression of a query that looks so would be replaced."""
    variable = re.compile(r"\$(\w+)|\[\[(\w+?)(?::\w+)?\]\]|\$\{(\w+)(?:\.[^:^}]+)?(?::[^}]+)?\}")
    names = {name for sql in statements() for found in variable.findall(sql) for name in found if name}
    assert names == {"database", "tool", "__fromTime_ms", "__toTime_ms"}


def test_each_panel_has_one_commented_statement() -> None:
    for sql in statements():
        assert ";" not in re.sub(r"'(?:[^'\\]|\\.|'')*'", "", sql)
    for panel in (*ALL, *ONE):
        assert only(panel).startswith(f"-- tooltrace query {panel.query.name}")


def test_a_column_that_is_not_there_makes_no_dashboard() -> None:
    with pytest.raises(QueryError, match="query ranking has no column pain, sorrow: use tool, calls"):
        PanelQuery("ranking", ("tool",)).require(["hurt_ms", "pain", "sorrow"])
    with pytest.raises(QueryError, match="query timeline has no column end"):
        PanelQuery("timeline").sql({"time": "end"})


def test_tables_alone_are_placed() -> None:
    sql = qualify_tables(
        "WITH mine AS (SELECT 'FROM attempts' AS attempts FROM attempts) SELECT * FROM mine JOIN outcomes AS o ON 1"
    )
    base = "`${database:raw}`."
    assert sql == (
        f"WITH mine AS (SELECT 'FROM attempts' AS attempts FROM {base}attempts) SELECT * FROM mine JOIN {base}outcomes AS o ON 1"
    )
    with pytest.raises(QueryError, match="gates is a table and a CTE of the query"):
        qualify_tables("WITH gates AS (SELECT 1) SELECT * FROM gates")


def test_panels_do_not_overlap() -> None:
    for made in dashboards():
        taken: set[tuple[int, int]] = set()
        for panel in made["panels"]:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            assert not cells & taken, panel["title"]
            assert max(x for x, _ in cells) < 24
            taken |= cells
        assert len({panel["id"] for panel in made["panels"]}) == len(made["panels"])


@pytest.mark.parametrize("panel", PANELS)
def test_a_step_that_is_used_several_times_is_evaluated_once(panel: Panel) -> None:
    """But where its query prefers to read it again; nothing needs an experimental setting of ClickHouse."""
    by = panel.query.by if panel.query.definition.header.by else None
    sql = only(panel)
    for table in to_clickhouse(panel.query.definition.render(by)).temp_tables:
        assert table.columns, f"{table.name}: the columns are unknown, so that it is planned and executed at each use"
        arrays = sql.count(f") AS {table.name}_rows,")
        assert arrays == (0 if table.read_again else 1), table.name
        assert sql.count(f"{table.name} AS (SELECT {table.name}_row.1 AS ") == arrays, table.name
    assert "MATERIALIZED" not in sql
    assert "enable_" not in sql


def test_a_step_has_one_value_in_all_uses(grafana: Any) -> None:
    """Without the array, a random number is another one at each use."""
    select = "SELECT a.r = b.r FROM kept AS a CROSS JOIN kept AS b"
    kept = [TempTable("kept", "SELECT rand64() AS r", ("r",), read_again) for read_again in (False, True)]
    same, other = (grafana.query(_merged(TranslatedQuery((table,), select), "kept")).result_rows for table in kept)
    assert [bool(row[0]) for row in (*same, *other)] == [True, False]


VALUES = st.tuples(
    st.none() | st.text(max_size=5), st.none() | st.integers(-(2**63), 2**63 - 1), st.none() | st.booleans()
)


@given(st.lists(VALUES, max_size=4))
def test_an_array_has_the_rows_of_its_step(grafana: Any, rows: list[tuple[Any, ...]]) -> None:
    """With NULL, with texts of any kind, of no rows; a column may have any name."""
    types = ("Nullable(String)", "Nullable(Int64)", "Nullable(Bool)")
    names = ("tool", "a `b` 'c'", "r")
    ordered = [*enumerate(rows), (-1, (None, None, None))]
    sql = " UNION ALL ".join(
        f"SELECT {place} AS place, "
        + ", ".join(
            f"CAST({_written(value)} AS {kind}) AS {quote_identifier(name)}"
            for value, kind, name in zip(row, types, names, strict=True)
        )
        for place, row in ordered
    )
    step = TempTable("step", f"SELECT * FROM ({sql}) WHERE place >= 0", ("place", *names), read_again=False)
    found = grafana.query(_merged(TranslatedQuery((step,), "SELECT * FROM step ORDER BY place"), "step"))
    assert found.column_names == (("place", *names) if rows else ())  # an empty result has no header here
    assert found.result_rows == [(place, *row) for place, row in enumerate(rows)]


def _written(value: Any) -> str:
    if isinstance(value, str):
        return f"base64Decode('{b64encode(value.encode()).decode()}')"
    return "NULL" if value is None else str(value)


def test_a_step_is_not_named_like_a_table() -> None:
    with pytest.raises(QueryError, match="gates is a table and a CTE of the query"):
        qualify_tables("WITH gates AS (SELECT 1) SELECT * FROM gates")


def test_bars_are_of_one_unit() -> None:
    charts = [panel for panel in ONE if panel.body["type"] == "barchart"]
    assert charts
    for panel in charts:
        (change,) = panel.body["transformations"]
        across, *figures = change["options"]["indexByName"]
        assert across == panel.body["options"]["xField"]
        units = {c.name: c.unit for c in panel.query.definition.header.columns}
        assert {units[name] for name in figures} == {"share"}
        assert panel.body["fieldConfig"]["defaults"]["unit"] == "percentunit"


def test_links_lead_to_existing_dashboards() -> None:
    boards = {board["uid"]: board for board in dashboards()}
    links = set(re.findall(r'"url": "/d/([^"]+)"', json.dumps(dashboards())))
    assert links
    for link in links:
        uid, _, query = link.partition("?")
        variables = {one["name"] for one in boards[uid]["templating"]["list"]}
        given_ = set(re.findall(r"\$\{(\w+):queryparam\}|var-(\w+)=", query))
        assert {name for pair in given_ for name in pair if name} == variables


# Grafana's schema: every member has a place in the typed models of its own kit, and is of the type that is said there.

KNOWN = re.compile(r"/annotations/list/0/target/\w+")
"""Members that the models lack: the query of an annotation. A comment there states that it should be a query of a panel, as it is."""


def gone(mine: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Where ``theirs``, read from ``mine`` and written again, lacks something or says something else."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for name, value in mine.items():
            yield from gone(value, theirs[name], f"{path}/{name}") if name in theirs else [f"{path}/{name}"]
    elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for at, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            yield from gone(one, other, f"{path}/{at}")
    elif mine != theirs or type(mine) is not type(theirs):
        yield path


def wrong(value: Any, kind: Any, path: str) -> Iterator[str]:
    """Where ``value`` is not of ``kind``, an annotation of the models."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind in (typing.Any, object):
        return
    if origin is typing.Union:
        if value is None and type(None) in inner:
            return
        faults = [list(wrong(value, one, path)) for one in inner if one is not type(None)]
        yield from min(faults, key=len)
    elif origin is typing.Literal:
        yield from [] if value in inner else [f"{path}: {value!r} is none of {inner}"]
    elif origin is list:
        if not isinstance(value, list):
            yield f"{path}: {value!r} is no list"
            return
        for at, one in enumerate(value):
            yield from wrong(one, inner[0], f"{path}/{at}")
    elif origin is dict:
        if not isinstance(value, dict):
            yield f"{path}: {value!r} is no object"
            return
        for name, one in value.items():
            yield from wrong(one, inner[1], f"{path}/{name}")
    elif isinstance(kind, type) and issubclass(kind, Enum):
        yield from [] if value in [one.value for one in kind] else [f"{path}: {value!r} is no {kind.__name__}"]
    elif isinstance(value, dict) and hasattr(kind, "from_json"):  # the models leave some parts unread
        yield from gone(value, json.loads(json.dumps(kind.from_json(value), cls=JSONEncoder)), path)
        yield from wrong(kind.from_json(value), kind, path)
    elif kind is float:
        yield from [] if isinstance(value, (int, float)) and not isinstance(value, bool) else [f"{path}: {value!r}"]
    elif type(value) is not kind and not isinstance(value, kind):
        yield f"{path}: {value!r} is no {kind.__name__}"
    else:
        yield from members(value, path)


def members(value: Any, path: str) -> Iterator[str]:
    """Where a member of a model is not of its type."""
    if not type(value).__module__.startswith("grafana_foundation_sdk.models"):
        return
    for name, kind in hints(type(value)).items():
        yield from wrong(getattr(value, name), kind, f"{path}/{name}")


@cache
def hints(model: type) -> dict[str, Any]:
    return typing.get_type_hints(model, vars(sys.modules[model.__module__]))


@pytest.mark.parametrize("name", DASHBOARDS)
def test_grafanas_models_know_every_member(name: str) -> None:
    made = board(name)
    read = json.loads(json.dumps(schema.Dashboard.from_json(made), cls=JSONEncoder))
    assert {path for path in gone(made, read) if not KNOWN.fullmatch(path)} == set()


@pytest.mark.parametrize("name", DASHBOARDS)
def test_every_member_is_of_its_type(name: str) -> None:
    read = schema.Dashboard.from_json(board(name))
    assert list(members(read, "")) == []
    for panel in read.panels or []:
        assert isinstance(panel, schema.Panel)
        module = type(panel.options).__module__
        assert module.startswith("grafana_foundation_sdk.models"), f"{panel.title}: its options are of no known type"
        assert list(members(panel.options, panel.title or "")) == []
        assert panel.field_config is not None
        assert list(members(panel.field_config.defaults.custom, panel.title or "")) == []


@pytest.mark.parametrize("name", DASHBOARDS)
def test_column_overrides_are_valid_as_defaults(name: str) -> None:
    """To the models an override is a name and anything; the same as a default is typed."""
    made = board(name)
    described = 0
    for panel in made["panels"]:
        for one in (one for override in panel["fieldConfig"]["overrides"] for one in override["properties"]):
            default: Any = one["value"]
            for part in reversed(one["id"].split(".")):
                default = {part: default}
            alone = {"type": panel["type"], "fieldConfig": {"defaults": default, "overrides": []}}
            read = schema.Panel.from_json(alone)
            assert set(gone(alone, json.loads(json.dumps(read, cls=JSONEncoder)))) == set(), one
            assert read.field_config is not None
            assert [*members(read, ""), *members(read.field_config.defaults.custom, "")] == [], one
            described += 1
    assert described


def test_the_type_check_reports_wrong_values() -> None:
    made = deepcopy(board("overview.json"))
    made["panels"][0]["gridPos"]["w"] = "wide"
    made["graphTooltip"] = 7
    made["colour"] = "red"
    read = schema.Dashboard.from_json(made)
    found = list(members(read, ""))
    assert any("wide" in one for one in found)
    assert any("graph_tooltip" in one for one in found)
    assert "/colour" in set(gone(made, json.loads(json.dumps(read, cls=JSONEncoder))))
