"""The list of attempts as a workbench: filters in the address, counts, files, the preview, and the announcement of new ones."""

from __future__ import annotations

import csv
import html
import io
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from tooltrace.core.records import Outcome
from tooltrace.errors import BadParameter
from tooltrace.server import list_export
from tooltrace.server.histogram import LENGTHS, PARTS, histogram, interval_of
from tooltrace.server.list_state import CHOICES, FILTERS, SORTABLE, ListState
from tooltrace.server.templates import list_address

from .conftest import call, write
from .test_pages import client_store

TEXTS = st.text(min_size=1).map(str.strip).filter(bool)
STATES = st.builds(
    lambda filters, sort: ListState(filters=filters, sort=sort),
    st.fixed_dictionaries(
        {}, optional={name: st.sampled_from(CHOICES[name]) if name in CHOICES else TEXTS for name in FILTERS}
    ),
    st.sampled_from(["", *SORTABLE, *(f"-{name}" for name in SORTABLE if name != "ended_at")]),
)


def read(query: str) -> ListState:
    return ListState.read(QueryParams(query))


@given(STATES)
def test_a_state_read_from_its_address_is_the_state(state):
    assert read(state.encoded) == state
    assert read(urlencode({**state.address, "since": "7d", "lang": "zh", "preview": "x"})) == state


@given(STATES)
def test_the_way_back_from_a_call_is_the_address_of_its_list(state):
    address = QueryParams(urlencode({"id": "x", "since": "24h", "list": state.encoded}))
    path = urlsplit(list_address(address))
    assert path.path == "/calls"
    assert not path.netloc
    assert read(path.query) == state
    assert parse_qs(path.query)["since"] == ["24h"]


@given(STATES, st.sampled_from(FILTERS))
def test_a_chip_removes_its_filter_alone(state, name):
    rest = read(urlencode(state.with_filter(name, None)))
    assert rest.filters == {key: value for key, value in state.filters.items() if key != name}
    assert rest.sort == state.sort


@given(STATES, st.sampled_from(SORTABLE))
def test_two_clicks_on_a_head_sort_both_ways(state, column):
    first = read(urlencode(state.sorted_by(column)))
    second = read(urlencode(first.sorted_by(column)))
    assert {first.direction(column), second.direction(column)} == {"ascending", "descending"}
    assert first.filters == second.filters == state.filters


@pytest.mark.parametrize("query", ["sort=password", "label=perhaps", "status=fine", "model_saw_error=1"])
def test_an_unknown_value_is_refused(shown, query):
    with pytest.raises(BadParameter):
        read(query)
    assert shown(call()).get(f"/calls?{query}").status_code == 400


def test_a_hostile_way_back_is_ignored(shown):
    one = call()
    text = shown(one).get("/call", params={"id": one.span_id, "list": "sort=//evil.example&status=%3Cscript%3E"}).text
    crumbs = text.split('class="crumbs"')[1].split("</nav>")[0]
    assert "evil" not in crumbs
    assert 'href="/calls"' in crumbs


def hours(*at: int) -> list[dict[str, object]]:
    start = datetime(2026, 3, 1)
    return [
        {"started": start + timedelta(hours=each), "seconds": 3600, "status": "error", "attempts": each + 1}
        for each in at
    ]


@given(st.lists(st.integers(0, 200), min_size=1, unique=True).map(sorted))
def test_every_bar_lies_within_the_drawing(at):
    from tooltrace.report.time_range import TimeRange

    rows = hours(*at)
    shown = histogram(rows, TimeRange(), legend=rows)
    assert shown.total == sum(row["attempts"] for row in rows)
    for bar in shown.bars:
        assert -1e-6 <= bar.left <= bar.left + bar.width <= 100 + 1e-6
        assert -1e-6 <= bar.top <= bar.top + bar.height <= 100 + 1e-6
        assert bar.height > 0


@pytest.mark.parametrize("since", [None, "7d", "1h"])
def test_the_drawing_ends_now_and_not_with_the_interval(since):
    """An interval of a year, or of three hours, ends in the future; the axis must not."""
    from tooltrace.report.time_range import TimeRange

    before = datetime.now(UTC).replace(tzinfo=None)
    rows = [{"started": before - timedelta(seconds=40), "seconds": 31_536_000, "status": None, "attempts": 2}]
    shown = histogram(rows, TimeRange(since=since), legend=rows)
    assert shown.until is not None
    assert before <= shown.until <= datetime.now(UTC).replace(tzinfo=None)
    (bar,) = shown.bars
    assert bar.left + bar.width == pytest.approx(100)


def test_an_attempt_by_a_clock_that_is_ahead_is_in_the_drawing():
    from tooltrace.report.time_range import TimeRange

    rows = [
        {
            "started": datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=2),
            "seconds": 60,
            "status": None,
            "attempts": 1,
        }
    ]
    shown = histogram(rows, TimeRange(since="1h"), legend=rows)
    (bar,) = shown.bars
    assert bar.left + bar.width == pytest.approx(100)


@pytest.mark.parametrize(("since", "seconds"), [("1h", 60), ("24h", 1800), ("7d", 10800), ("30d", 43200)])
def test_the_window_decides_the_length_of_an_interval(since, seconds):
    from tooltrace.report.time_range import TimeRange

    assert interval_of(TimeRange(since=since)) == seconds
    assert seconds in LENGTHS
    assert interval_of(TimeRange()) is None
    assert PARTS == 60


def test_the_total_and_a_status_to_click(shown):
    client = shown(call(), call(), call(status="error"), call(status=None, ending="cancelled"))
    text = client.get("/calls/counts?tool=search").text
    assert 'value="4" data-unit="count"' in text
    assert re.search(r'href="/calls\?tool=search&amp;status=error&amp;since=7d"', text)
    assert text.count('<rect class="h-error"') == 2, "one in the legend, one bar"
    narrowed = client.get("/calls/counts?tool=search&status=error").text
    assert re.search(r'href="/calls\?tool=search&amp;since=7d" aria-current="true"', narrowed), (
        "a second click removes it"
    )
    bar = html.unescape(re.search(r'<a href="([^"]+)" tabindex', narrowed)[1])
    assert "tr id" in client.get(f"/calls/newest?{urlsplit(bar).query}").text


def test_chips_show_and_remove_each_filter(shown):
    text = shown(call()).get("/calls?tool=search&label=none&since=24h").text
    chips = text.split('class="chips"')[1].split("</ul>")[0]
    assert "not labelled" in chips
    links = {html.unescape(link) for link in re.findall(r'href="([^"]+)"', chips)}
    assert links == {"/calls?label=none&since=24h", "/calls?tool=search&since=24h", "/calls?since=24h"}


def spans(text: str) -> list[str]:
    return re.findall(r'data-span="([^"]+)"', text)


def test_the_list_is_sorted_and_its_pages_follow(shown):
    records = [call(duration_ms=float(n % 60)) for n in range(120)]
    client = shown(*records)
    text = client.get("/calls/newest?sort=-duration_ms").text
    found = spans(text)
    pages = [found]
    while more := re.search(r'hx-get="(/calls/more[^"]+)"', text):
        text = client.get(html.unescape(more[1])).text
        pages.append(spans(text))
    by_span = {one.span_id: one.duration_ms for one in records}
    durations = [by_span[span] for page in pages for span in page]
    assert durations == sorted(by_span.values(), reverse=True)
    assert len({span for page in pages for span in page}) == 120


def test_links_keep_the_time_range_and_the_list(shown):
    text = shown(call()).get("/calls/newest?since=24h&status=success&sort=tool").text
    link = html.unescape(re.search(r'href="(/call\?[^"]+)"', text)[1])
    address = parse_qs(urlsplit(link).query)
    assert address["since"] == ["24h"]
    assert read(address["list"][0]) == read("status=success&sort=tool")


def test_new_attempts_are_counted_and_not_those_that_other_filters_hide(shown):
    first = call(status="error")
    client = shown(first, call(status="error", started_at=datetime.now(UTC) - timedelta(hours=1)))
    client.get("/calls/newest")  # the first query folds the journal, which changes the store
    text = client.get("/calls/newest?status=error").text
    news = html.unescape(re.search(r'hx-get="(/calls/news[^"]+)"', text)[1])
    assert client.get(news).status_code == 204
    write(client_store(client), call(), call(status="error"), call(status="error"))
    assert 'data-new="2"' in client.get(news).text
    assert "2 new ↑" in client.get(news).text


def test_a_list_to_which_the_reader_goes_back_has_the_same_rows(shown):
    now = datetime.now(UTC)
    client = shown(*(call(started_at=now - timedelta(seconds=n)) for n in range(130)))
    first = client.get("/calls/newest").text
    older = client.get(html.unescape(re.search(r'hx-get="(/calls/more[^"]+)"', first)[1])).text
    known = spans(first) + spans(older)
    rows = re.findall(r'data-span="([^"]+)" data-at="([^"]+)"', first + older)
    write(client_store(client), call(started_at=now + timedelta(seconds=1)))
    again = client.get(
        "/calls/newest", params={"up_to": rows[0][1], "down_to": rows[-1][1], "down_to_span": rows[-1][0]}
    ).text
    assert spans(again) == known
    assert "/calls/more" in again
    news = html.unescape(re.search(r'hx-get="(/calls/news[^"]+)"', again)[1])
    assert "state=" in news


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"]


def test_a_csv_file_has_the_filtered_rows_and_no_formula(shown):
    client = shown(*(call(tool=text, status="error", error_message=text) for text in FORMULAS), call())
    answer = client.get("/calls/export?format=csv&status=error")
    assert answer.headers["content-disposition"] == 'attachment; filename="calls.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert sorted(row["tool"] for row in rows) == sorted(f"'{text}" for text in FORMULAS)
    assert all(row["message"].startswith("'") for row in rows)
    assert rows[0]["ended_at"].endswith("Z")


def test_the_files_have_the_same_rows_in_the_order_of_the_list(shown, tmp_path):
    import duckdb

    client = shown(*(call(duration_ms=float(n), confidence=0.5) for n in (3, 1, 2)))
    rows = client.get("/calls/export?format=json&sort=duration_ms").json()
    assert [row["duration_ms"] for row in rows] == [1.0, 2.0, 3.0]
    file = tmp_path / "calls.parquet"
    file.write_bytes(client.get("/calls/export?format=parquet&sort=duration_ms").content)
    assert duckdb.sql(f"SELECT span_id FROM '{file}'").fetchall() == [(row["span_id"],) for row in rows]
    assert client.get("/calls/export?format=json&tool=none").json() == []
    assert client.get("/calls/export?format=xlsx").status_code == 400
    assert client.get("/calls/export?format=csv&sort=nothing").status_code == 400


@pytest.mark.parametrize("sort", ["", "duration_ms"])
def test_a_file_is_bounded_and_says_so(shown, monkeypatch, sort):
    monkeypatch.setattr(list_export, "PAGE", 4)
    monkeypatch.setattr(list_export, "MAX_ROWS", 10)
    client = shown(*(call(duration_ms=float(n)) for n in range(12)))
    answer = client.get("/calls/export", params={"format": "json", "sort": sort})
    assert len({row["span_id"] for row in answer.json()}) == 10
    assert answer.headers["tooltrace-full"] == "rows"
    narrowed = client.get("/calls/export", params={"format": "json", "sort": sort, "max_duration_ms": 10})
    assert len(narrowed.json()) == 10
    assert "tooltrace-full" not in narrowed.headers


def test_the_preview_has_the_error_first_and_values_as_filters(shown):
    one = call(status="error", error_message="<b>gone</b>", tool_version="2", agent="scout", arguments='{"q":"x"}')
    client = shown(one)
    text = client.get("/calls/preview", params={"id": one.span_id, "status": "error"}).text
    assert "&lt;b&gt;gone&lt;/b&gt;" in text
    assert text.index("gone") < text.index("Arguments")
    assert re.search(r'href="/calls\?status=error&amp;version=2&amp;since=7d"', text)
    assert client.get("/calls/preview?id=ffff").status_code == 404
    assert client.get("/calls/preview").status_code == 404


def test_labels_and_messages_filter_the_list(shown):
    one, other = call(), call()
    client = shown(one, other, Outcome(span_id=one.span_id, correct=True, labeled_at=datetime.now(UTC)))
    assert spans(client.get("/calls/newest?label=right").text) == [one.span_id]
    assert spans(client.get("/calls/newest?label=none").text) == [other.span_id]


@pytest.mark.long
def test_the_palette_finds_tools_calls_queries_and_settings(shown):
    one = call(tool="search <docs>", call_id="call_abcdef")
    client = shown(one)
    text = client.get("/palette?find=search").text
    assert "search &lt;docs&gt;" in text
    assert 'data-to="/tool?name=search+%3Cdocs%3E"' in text
    assert f'data-to="/call?id={one.span_id}' in client.get("/palette?find=call_abc").text
    assert 'data-to="/sql?query=calibration"' in client.get("/palette?find=calibration").text
    assert 'data-action="theme"' in client.get("/palette?find=theme").text
    assert 'data-action="zone"' in client.get("/palette?find=utc").text
    assert 'data-action="lang=zh"' in client.get("/palette?find=中文").text
    assert "since=24h" in client.get("/palette?find=search&since=24h").text
    only = client.get("/palette?find=zzzzzz").text
    assert only.count('role="option"') == 1
    assert 'data-to="/find?q=zzzzzz"' in only, "a text that nothing matches can be searched for"


def test_the_palette_works_without_a_store(shown):
    assert "Overview" in shown().get("/palette?find=").text


def test_no_script_of_the_pages_loads_another_host():
    folder = Path(__file__).parents[2] / "dashboards" / "scripts"
    for name in ("state.js", "calls.js", "live_list.js", "conversations.js", "palette.js", "editor.js"):
        assert not re.search(r"https?://", (folder / name).read_text()), name


def test_a_missing_store_is_announced_once_on_a_list(shown):
    client = shown()
    parts = ("/calls/counts", "/loops", "/calls/newest")
    texts = {path: client.get(path, headers={"hx-request": "true"}).text.strip() for path in parts}
    assert [path for path, text in texts.items() if text] == ["/calls/newest"]
    assert "tooltrace demo" in texts["/calls/newest"]


def test_the_page_of_a_trace_leads_back_to_its_conversation(shown):
    one = call(conversation_id="session <1>")
    text = shown(one).get(f"/trace/{one.trace_id}").text
    crumbs = text.split('class="crumbs"')[1].split("</nav>")[0]
    assert 'href="/conversation/session%20%3C1%3E"' in crumbs
    assert "session &lt;1&gt;" in crumbs
