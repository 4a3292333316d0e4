"""Every page and panel shows the results of named queries, and handles empty stores."""

from __future__ import annotations

import html
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.stores import create_empty_store
from tests.waiting import until
from tooltrace.analysis import catalogue
from tooltrace.core.records import Outcome, Span
from tooltrace.server.pages import TOOLS

from .conftest import call, write

ROOT = Path(__file__).parents[2]
PAGES = [
    "/",
    "/tiles",
    "/tiles/gap",
    "/tools",
    "/verdict",
    "/verdict?tool=search",
    "/tool?name=search",
    "/tool/more?name=search",
    "/calls",
    "/calls/newest",
    "/calls/more",
    "/options/tool",
    "/compare",
    "/compare/result?since=7d",
    "/label",
    "/healthz",
]
ASKED = [name for name, query in catalogue().items() if not any(p.required for p in query.header.parameters)]


@pytest.mark.long
def test_everything_answers_where_nothing_is_recorded_and_where_something_is(shown):
    client = shown()
    paths = [*PAGES, *(f"/panel/{name}" for name in ASKED), *(f"/question/{name}" for name in ASKED)]
    assert {path: client.get(path).status_code for path in paths} == dict.fromkeys(paths, 200)
    write(client_store(client), call(), call(status="error", code="GONE"))
    assert {path: client.get(path).status_code for path in paths} == dict.fromkeys(paths, 200)


def client_store(client) -> Path:
    return Path(client.get("/").text.split('<footer><span title="')[1].split('"')[0])


def test_a_store_in_which_nothing_is_recorded_shows_a_command(shown):
    client = shown()
    create_empty_store(client_store(client))
    for path in ("/tiles", "/calls/newest"):
        text = client.get(path).text
        assert "No call has been recorded in this store yet." in text, path
        assert f"tooltrace demo --store {client_store(client)}" in text, path


def test_an_empty_store_shows_a_command(shown):
    client = shown()
    for path in ("/tiles", "/calls/newest"):
        text = client.get(path).text
        assert f"tooltrace demo --store {client_store(client)}" in text, path
        assert "No call has been recorded" in text, path
    assert "tooltrace demo" not in client.get("/panel/failure_rate").text, "once is enough"
    write(client_store(client), call(started_at=datetime.now(UTC) - timedelta(days=400)))
    for path in ("/tiles", "/calls/newest"):
        assert "Choose a longer time range" in client.get(path).text, path
        assert "tooltrace demo" not in client.get(path).text, path


def test_the_figures_are_those_of_the_query(shown):
    early = datetime.now(UTC) - timedelta(hours=30)
    client = shown(
        *(call(status="error" if n < 3 else "success") for n in range(10)),
        *(call(started_at=early) for _ in range(4)),
    )
    text = client.get("/tiles?since=24h").text
    assert 'value="0.3" data-unit="share"' in text
    assert 'value="10" data-unit="count"' in text
    assert 'value="4" data-unit="count"' in text
    answer = client.get("/data/failure_rate?by=none&since=all").json()
    names = [column["name"] for column in answer["columns"]]
    assert dict(zip(names, answer["rows"][0], strict=True))["attempts"] == 14


def test_data_has_the_requested_columns_behind_the_groups(shown):
    client = shown(call(), call(status="error"))
    some = client.get("/data/timeline?by=tool&parts=1&columns=failures,attempts,nosuch").json()
    every = client.get("/data/timeline?by=tool&parts=1").json()
    names = [column["name"] for column in every["columns"]]
    assert [column["name"] for column in some["columns"]] == ["tool", "attempts", "failures"]
    assert some["rows"] == [
        [row[names.index(name)] for name in ("tool", "attempts", "failures")] for row in every["rows"]
    ]
    incidents = client.get("/data/incidents?failing=1&tool=search&columns=started").json()
    assert [column["name"] for column in incidents["columns"]] == ["tool", "started"]


def test_the_share_of_unread_attempts_is_a_figure(shown):
    client = shown(*(call(rule_grade="unread" if n < 4 else "certain") for n in range(5)))
    assert 'value="0.8" data-unit="share"' in client.get("/tiles?since=24h").text


def test_a_panel_has_the_requested_columns_and_an_interval_in_one_cell(shown):
    client = shown(call(), call(status="error"))
    text = client.get("/panel/failure_rate?columns=tool,rate,low,high").text
    assert text.count("<th scope") == 3
    assert text.count('class="range"') == 1


def test_a_long_panel_is_truncated_until_all_rows_are_requested(shown):
    client = shown(*(call(tool=f"t{n}") for n in range(30)))
    assert client.get("/panel/failure_rate").text.count("<tr>") == 13
    assert "rows=all" in client.get("/panel/failure_rate").text
    assert client.get("/panel/failure_rate?rows=all").text.count("<tr>") == 31


@pytest.mark.long
def test_the_sql_shown_for_each_panel_runs_unchanged(shown):
    import duckdb

    import tooltrace as tt

    client = shown(call(status="error"), call())
    store = client_store(client)
    pages = {name: client.get(f"/question/{name}?since=24h&by=none", headers={"hx-request": "true"}) for name in ASKED}
    with tt.connect(store) as db:
        for name, page in pages.items():
            sql = page.text.split("<pre tabindex")[1].split("<code>")[1].split("</code>")[0]
            try:
                db.execute(html.unescape(sql)).fetchall()
            except duckdb.Error as error:
                pytest.fail(f"{name}: {error}")


def test_a_wrong_request_gets_a_client_error(shown):
    client = shown(call())
    assert client.get("/panel/failure_rat").status_code == 404
    assert "did you mean" in client.get("/panel/failure_rat").text
    assert client.get("/tiles?since=yesterday").status_code == 400
    assert (
        client.get("/data/failure_rate?by=nonsense")
        .json()["error"]
        .startswith("parameter 'by' of query failure_rate accepts ")
    )
    assert client.get("/call?id=nothing").status_code == 404
    assert client.get("/no/such/page").status_code == 404
    assert client.get("/tool").status_code == 404


@pytest.mark.long
def test_an_answer_is_fresh_soon_after_its_writing(shown):
    client = shown(call())
    assert 'value="1" data-unit="count"' in client.get("/tiles").text
    write(client_store(client), call(), call())
    until(lambda: 'value="3" data-unit="count"' in client.get("/tiles").text)


def test_pages_are_there_for_all_attempts_of_a_call_and_their_judgement(shown):
    first = call(call_id="c", status="error", code="TIMEOUT", error_message="too slow", attempt=1)
    again = call(call_id="c", attempt=2, started_at=first.started_at + timedelta(seconds=1), text="fine")
    client = shown(
        first, again, Outcome(span_id=again.span_id, correct=False, reason="made up", labeled_at=first.started_at)
    )
    text = client.get("/call?id=c").text
    assert text.count("<article") == 2
    assert "too slow" in text
    assert "made up" in text
    assert 'value="990.0" data-unit="ms"' in text, "the wait between the two"


def test_a_call_shows_its_enclosing_spans(shown):
    turn, one = "f" * 16, call(parent_span_id="f" * 16)
    around = {"trace_id": one.trace_id, "started_at": one.started_at, "duration_ms": 7.0, "scope": "agents"}
    client = shown(
        one,
        Span(name="invoke_agent clerk", span_id=turn, **around),
        Span(name="GET /search", span_id="e" * 16, parent_span_id=one.span_id, **around),
    )
    page = client.get("/call", params={"id": one.span_id}).text
    address = html.unescape(page.split('hx-get="/nearby')[1].split('"')[0])
    text = client.get(f"/nearby{address}").text
    levels = re.findall(r'aria-level="(\d)".*?<span class="name">([^<]*)</span>', text, re.DOTALL)
    assert levels == [("1", "invoke_agent clerk"), ("2", "search"), ("3", "GET /search")]


def test_a_label_is_stored_and_counts(shown):
    one = call(confidence=0.9)
    client = shown(one)
    form = {"span_id": one.span_id, "verdict": "wrong", "score": "", "reason": "not so", "labeler": "ann"}
    answer = client.post("/label", data=form, headers={"hx-request": "true"})
    assert answer.status_code == 200
    assert answer.headers["hx-trigger"] == "labelled"
    assert "not so" in answer.text
    names = client.get("/data/calibration").json()
    row = dict(zip([c["name"] for c in names["columns"]], names["rows"][0], strict=True))
    assert (row["n"], row["accuracy"]) == (1, 0.0)
    plain = client.post("/label", data={**form, "verdict": "correct"})
    assert plain.status_code == 303
    assert client.get("/data/labels", params={"call_id": one.call_id}).json()["rows"][-1][2] is True


@pytest.mark.parametrize(
    "form",
    [
        {"span_id": "x"}, {"span_id": "x", "verdict": "perhaps"}, {"span_id": "x", "score": "2"}, {"span_id": "x", "score": "much"},
        {"verdict": "correct"}, {"span_id": "x", "verdict": "", "score": ""},
    ],
)  # fmt: skip
def test_an_invalid_label_is_rejected_and_not_stored(shown, form):
    client = shown(call())
    answer = client.post("/label", data=form)
    assert answer.status_code == 400
    assert "nothing was recorded" in answer.text
    assert client.post("/label", content=b"a" * 100_000).status_code == 413


def test_the_words_are_those_of_the_reader(shown):
    client = shown(call())
    assert "Attempts over time" in client.get("/").text
    assert "尝试与失败的走势" in client.get("/", headers={"accept-language": "zh-TW,zh;q=0.9,en;q=0.5"}).text
    assert "Attempts over time" in client.get("/", headers={"accept-language": "de, en;q=0.8, zh;q=0.1"}).text
    assert '<html lang="zh-CN">' in client.get("/?lang=zh").text
    assert "尝试与失败的走势" in client.get("/").text, "it is remembered"
    assert "Attempts over time" in client.get("/?lang=en").text


def test_every_word_of_the_templates_is_in_the_table():
    import re

    table = json.loads((ROOT / "dashboards" / "strings" / "en.json").read_text())
    for file in (ROOT / "dashboards").rglob("*.html"):
        for key in re.findall(r"""\bt\('([a-z0-9_.]+)'\s*[,)]""", file.read_text()):
            assert key in table or key.startswith("column."), f"{file.name}: {key}"
    for file in (ROOT / "dashboards" / "scripts").glob("*.js"):
        for key in re.findall(r"""words\("([a-z]+)"\)""", file.read_text()):
            assert f"js.{key}" in table, f"{file.name}: {key}"


def test_server_and_dashboards_contain_no_sql():
    """But Grafana's, whose panels are SQL."""
    import re

    sql = re.compile(r"\bSELECT\b.+\bFROM\b", re.DOTALL)
    for folder in (ROOT / "tooltrace" / "server", ROOT / "dashboards"):
        for file in folder.rglob("*"):
            if "grafana" in file.parts:
                continue
            if file.suffix in (".py", ".html", ".json") or (file.suffix == ".js" and "vendor" not in file.parts):
                assert not sql.search(file.read_text()), file


def test_the_sql_of_a_panel_has_its_time_range(shown):
    one = call(confidence=0.9, started_at=datetime.now(UTC) - timedelta(days=40))
    page = shown(one).get("/call", params={"id": one.span_id}).text
    assert "since=all" in page.split('hx-get="/question/calibration')[1].split('"')[0]
    assert "since=all" in page.split('hx-get="/panel/calibration')[1].split('"')[0]


@pytest.mark.long
def test_a_long_table_of_tools_is_truncated_until_all_rows_are_requested(shown):
    client = shown(*(call(tool=f"tool_{number}") for number in range(TOOLS + 5)))
    assert client.get("/tools").text.count('<th scope="row"') == TOOLS
    assert f"Show all {TOOLS + 5} rows" in client.get("/tools").text
    assert client.get("/tools?rows=all").text.count('<th scope="row"') == TOOLS + 5


def test_every_link_and_panel_preserves_the_end_of_the_time_range(shown):
    at = datetime.now(UTC) - timedelta(days=3)
    client = shown(call(started_at=at, status="error", code="GONE"))
    window = {"since": (at - timedelta(hours=1)).isoformat(), "until": (at + timedelta(hours=1)).isoformat()}
    found = set()
    for path in (
        "/",
        "/tools",
        "/tool?name=search",
        "/calls",
        "/calls/newest",
        "/panel/errors",
        "/panel/ranking",
        "/sql",
    ):
        text = client.get(path, params={**dict(pair.split("=") for pair in path.split("?")[1:]), **window}).text
        found |= {html.unescape(link) for link in re.findall(r'(?:href|hx-get|data-sparks)="([^"]+)"', text)}
    of_windows = {link for link in found if "since=" in link and not re.search(r"since=(1h|24h|7d|30d|all)\b", link)}
    assert len(of_windows) > 20
    assert {link for link in of_windows if "until=" not in link} == set()


@pytest.mark.parametrize("path", ["/state", "/calls/news"])
def test_polling_returns_204_until_something_is_recorded(shown, path):
    client = shown(call())
    store = client_store(client)  # the first query folds the journal, which changes the store
    client.get("/calls/newest")
    page = client.get("/calls/newest" if path != "/state" else "/").text
    address = html.unescape(re.search(rf'hx-get="({path}\?[^"]*)"', page)[1])
    assert client.get(address).status_code == 204
    write(store, call())
    assert client.get(address).status_code == 200


@pytest.mark.long
def test_a_reading_is_corrected_on_the_page_of_the_call(shown):
    one = call(status="error", code="TIMEOUT", rule="error_text", rule_grade="heuristic")
    client = shown(one)
    assert 'action="/correct"' in client.get("/call", params={"id": one.call_id}).text
    form = {"span_id": one.span_id, "status": "success", "code": "", "reason": "a log", "labeler": "ann"}
    answer = client.post("/correct", data=form)
    assert answer.status_code == 303
    page = client.get(answer.headers["location"]).text
    assert "recorded" in page
    found = client.get("/data/failure_rate?by=rule&since=all").json()
    assert [row[:3] for row in found["rows"]] == [["correction", 1, 0]]
    assert client.post("/correct", data={**form, "status": "fine"}).status_code == 400


def test_a_new_tool_is_a_note_and_not_red(shown):
    """Nothing is assumed of a tool without a history."""
    records = [call(tool="new", conversation_id=f"c{n}", status="error" if n < 4 else "success") for n in range(12)]
    text = shown(*records).get("/verdict", params={"since": "1h"}).text
    assert 'class="verdict-box too_few"' in text
    assert "nothing to compare with yet" in text
    assert 'class="status error"' not in text


@pytest.mark.long
def test_tools_without_a_finding_are_folded(shown):
    broken = [call(tool="broken", conversation_id=f"b{n}", status="error", code="DOWN") for n in range(30)]
    text = shown(*broken, *(call(tool="fine", conversation_id=f"c{n}") for n in range(30))).get("/tools").text
    first, _, folded = text.partition('<details class="healthy">')
    assert 'data-value="broken"' in first
    assert "1 tool without a finding" in folded
    assert 'data-value="fine"' in folded


def test_a_message_of_the_errors_of_a_tool_leads_to_its_latest_call(shown):
    client = shown(call(status="error", code="TIME_OUT", error_message="no answer", call_id="call_of_the_error"))
    text = client.get("/panel/errors", params={"tool": "search", "since": "1h"}).text
    assert re.search(
        r'<a class="quoted" href="/call\?id=call_of_the_error&amp;since=1h"><q class="message">no answer</q></a>', text
    )
    assert "<code>TIME_<wbr>OUT</code>" in text


def test_a_blank_name_has_a_sign_in_the_tree_of_steps(shown):
    trace = "ab" * 16
    client = shown(*(call(tool=name, trace_id=trace, span_id=f"{n:016x}") for n, name in enumerate((" ", "", "x"), 1)))
    text = client.get(f"/trace/{trace}").text
    assert re.findall(r'<span class="name">([^<]*)', text) == ["␠", "␠", "x"]
