"""The time axis in a browser: its window, steps, drags and clicks, and the zone of all times."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, unquote, urlsplit

import httpx
import pytest

from tests.conftest import SCREEN
from tests.grids import covering
from tests.stores import create_empty_store
from tests.waiting import until_page as until
from tooltrace.server.site import Site

from .conftest import call, running, write

LOADING = "[...document.querySelectorAll('.wait')].some(one => one.compareDocumentPosition(document.querySelector('figure[data-chart=timeline]')) & Node.DOCUMENT_POSITION_FOLLOWING)"
"""Whether a part above the chart has not arrived yet, which will move the chart."""
CHART = "echarts.getInstanceByDom(document.querySelector('figure[data-chart=timeline] .canvas'))"
INCIDENTS = f"{CHART}.getOption().series.find((one) => one.name === 'incidents ').markArea?.data ?? []"
DAY = datetime(2026, 3, 2, tzinfo=UTC)
WINDOW = "since=2026-03-02T00:00:00Z&until=2026-03-09T00:00:00Z"
FIRST, SECOND = DAY + timedelta(days=1, hours=5), DAY + timedelta(days=5, hours=13)


@pytest.fixture(scope="module")
def bursts(tmp_path_factory):
    """A server over two bursts of calls, days apart; ``crm`` fails in the whole second one."""
    store = tmp_path_factory.mktemp("bursts") / "bursts.duckdb"
    records = [
        call(
            tool=tool, conversation_id=f"{start:%d}-{n // 2}", trace_id=f"{start:%d}{n // 2:030}", call_id=f"{start:%d}-{tool}-{n}",
            started_at=start + timedelta(minutes=n, milliseconds=123), status="error" if tool == "crm" and start == SECOND else "success",
        )
        for start in (FIRST, SECOND) for tool in ("crm", "search") for n in range(40)
    ]  # fmt: skip
    write(create_empty_store(store), *records)
    with running(Site.of(store, host="127.0.0.1")) as address:
        yield address


@pytest.fixture
def chart(page, bursts):
    """The overview's chart over the week, with its incidents."""

    def opened(path: str = "/", query: str = WINDOW):
        page.goto(f"{bursts}{path}{'&' if '?' in path else '?'}{query}")
        page.wait_for_selector("figure[data-chart=timeline] canvas")
        until(page, f"!({LOADING})")
        return page

    return opened


def axis(page, index: int) -> list[datetime]:
    ends = page.evaluate(f"{CHART}.getModel().getComponent('xAxis', {index}).axis.scale.getExtent()")
    return [datetime.fromtimestamp(end / 1000, UTC) for end in ends]


def position(page, at: datetime, panel: int = 0) -> tuple[float, float]:
    """Where a time is on the screen, near the lower end of a panel; the labels of incidents move the panels down."""
    until(page, f"({INCIDENTS}).length > 0")
    figure = page.locator("figure[data-chart=timeline] .canvas")
    figure.scroll_into_view_if_needed()
    x = page.evaluate(f"{CHART}.convertToPixel({{ xAxisIndex: 1 }}, {at.timestamp() * 1000})")
    y = page.evaluate(f"{CHART}.convertToPixel({{ yAxisIndex: {panel} }}, 0)")
    box = figure.bounding_box()
    return box["x"] + x, box["y"] + y - 6


def address(page) -> tuple[str, dict[str, str]]:
    parts = urlsplit(page.url)
    return parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()}


def test_both_panels_show_the_complete_window_with_silence_hatched(chart):
    page = chart()
    for panel in (0, 1):
        assert axis(page, panel) == [DAY, DAY + timedelta(days=7)]
        plot = page.evaluate(f"{CHART}.getModel().getComponent('grid', {panel}).coordinateSystem.getRect()")
        assert plot["height"] > 80
        marks = f"{CHART}.getOption().series.find((one) => one.name === 'marks {panel} ').markArea.data"
        silent = page.evaluate(
            f"{marks}.filter(([from]) => from.itemStyle?.color?.image).map(([from, to]) => [from.xAxis, to.xAxis])"
        )
        moments = [(datetime.fromtimestamp(a / 1000, UTC), datetime.fromtimestamp(b / 1000, UTC)) for a, b in silent]
        assert moments[0][0] == DAY
        assert moments[-1][1] == DAY + timedelta(days=7)
        assert len(moments) == 3
        assert all(not start <= burst < end for start, end in moments for burst in (FIRST, SECOND))


def test_the_bars_of_a_tool_lie_in_the_complete_window(chart):
    page = chart()
    page.wait_for_selector("table.ranking td.spark svg")
    places = page.eval_on_selector_all(
        "table.ranking[data-sort=tools] tr:first-child td.spark rect.all",
        "bars => bars.map(bar => [+bar.getAttribute('x'), +bar.getAttribute('width')])",
    )
    shares = [(start - DAY) / timedelta(days=7) for start in (FIRST, SECOND)]
    assert len(places) == 2
    for (x, width), share in zip(places, shares, strict=True):
        assert x / 160 <= share <= (x + width + 1) / 160


def test_now_is_marked_if_it_is_in_the_window(chart):
    marks = f"{CHART}.getOption().series.find((one) => one.name === 'marks 1 ').markLine.data"
    assert chart().evaluate(f"{marks}.length") == 0
    at = chart(query="since=2026-03-01&until=2036-01-01").evaluate(f"{marks}[0].xAxis")
    assert abs(at / 1000 - time.time()) < 300


def test_an_incident_is_labelled_with_its_tool_and_duration_and_opens_its_calls(chart):
    page = chart()
    x, _ = position(page, SECOND)
    label, _ = page.evaluate(f"({INCIDENTS})[0]")
    assert label["name"] == "crm 39\u00a0min, open"
    page.mouse.click(x + 2, page.locator("figure .canvas").bounding_box()["y"] + 40)  # the lane above the panels
    page.wait_for_url("**/calls?**")
    path, given = address(page)
    assert (path, given["tool"]) == ("/calls", "crm")
    assert given["since"].startswith("2026-03-07T13:00:00")


def test_a_drag_sets_the_window_and_back_returns_to_it(chart):
    page = chart("/tool?name=crm")
    start, end = position(page, SECOND - timedelta(hours=7)), position(page, SECOND + timedelta(hours=7))
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, start[1] - 10)
    assert page.locator(".selection").count() == 1
    page.mouse.move(*end)
    page.mouse.up()
    page.wait_for_url("**since=2026-03-07**")
    page.wait_for_selector("figure[data-chart=timeline] canvas")
    path, given = address(page)
    assert (path, given["name"]) == ("/tool", "crm")
    since, to = (datetime.fromisoformat(given[name]) for name in ("since", "until"))
    assert since <= SECOND - timedelta(hours=7) < SECOND + timedelta(hours=7) <= to
    assert to - since < timedelta(hours=24)
    page.go_back()
    page.wait_for_selector("figure[data-chart=timeline] canvas")
    assert axis(page, 0) == [DAY, DAY + timedelta(days=7)]


def test_a_click_on_a_bucket_opens_its_calls(chart):
    page = chart("/tool?name=crm")
    page.mouse.click(*position(page, FIRST + timedelta(minutes=30)))
    page.wait_for_url("**/calls?**")
    page.wait_for_selector("#newest tr[id]")
    path, given = address(page)
    assert (path, given["tool"]) == ("/calls", "crm")
    assert datetime.fromisoformat(given["since"]) <= FIRST < datetime.fromisoformat(given["until"])
    assert {row.split("\t")[1].strip() for row in page.locator("#newest tr[id]").all_inner_texts()} == {"crm"}
    assert page.locator("#newest tr[id]").count() == 40


def test_a_click_on_silence_opens_nothing(chart):
    page = chart()
    before = page.url
    page.mouse.click(*position(page, DAY + timedelta(days=3)))
    page.wait_for_timeout(300)
    assert page.url == before


def test_a_row_of_the_table_opens_the_same_calls_without_a_mouse(chart):
    page = chart("/tool?name=crm")
    page.locator("details.data summary").first.press("Enter")
    page.locator("details.data td a", has=page.locator("time")).first.press("Enter")
    page.wait_for_selector("#newest tr[id]")
    assert page.locator("#newest tr[id]").count() == 40


def test_buttons_move_and_zoom_the_window_and_keep_the_page(chart):
    page = chart("/tool?name=crm")

    def press(name: str) -> dict[str, str]:
        with page.expect_navigation():
            page.get_by_role("link", name=name, exact=True).press("Enter")
        return address(page)[1]

    assert press("Earlier") == {"name": "crm", "since": "2026-02-23T00:00:00Z", "until": "2026-03-02T00:00:00Z"}
    assert press("Later")["since"] == "2026-03-02T00:00:00Z"
    assert press("Zoom in") == {"name": "crm", "since": "2026-03-03T18:00:00Z", "until": "2026-03-07T06:00:00Z"}
    assert press("Zoom out") == {"name": "crm", "since": "2026-03-02T00:00:00Z", "until": "2026-03-09T00:00:00Z"}
    page.go_back()
    page.wait_for_url(lambda url: "2026-03-03T18:00:00Z" in unquote(url))


@pytest.mark.parametrize(("zone", "expected"), [("local", "2026-03-02T23:00:00Z"), ("utc", "2026-03-03T00:00:00Z")])
def test_two_fields_take_any_range_in_the_zone_of_the_page(chart, zone, expected):
    page = chart("/tool?name=crm")
    if zone == "utc":
        page.click("#zone")
    page.locator("details.range summary").press("Enter")
    shown = {"local": "2026-03-02T01:00:00", "utc": "2026-03-02T00:00:00"}[zone]
    assert page.input_value(".range input[name=since]").removesuffix(".000") in (shown, shown[:16])
    page.fill(".range input[name=since]", "2026-03-03T00:00:00")
    page.fill(".range input[name=until]", "2026-03-04T00:00:00")
    page.locator(".range button").press("Enter")
    page.wait_for_url(lambda url: expected in unquote(url))
    assert address(page)[1]["since"] == expected
    assert address(page)[1]["name"] == "crm"


def test_the_fields_are_utc_without_a_script(browser, bursts):
    context = browser.new_context(java_script_enabled=False, timezone_id="Asia/Tokyo")
    page = context.new_page()
    page.goto(f"{bursts}/calls?{WINDOW}")
    page.click("details.range summary")
    page.fill(".range input[name=since]", "2026-03-03T00:00:00")
    page.click(".range button")
    given = address(page)[1]
    assert (given["since"][:16], given["until"][:16]) == ("2026-03-03T00:00", "2026-03-09T00:00")
    context.close()


def test_one_switch_shows_all_times_in_utc_and_is_remembered(chart):
    page = chart()
    page.wait_for_selector(".findings time")
    failed = page.locator(".findings time").first
    ticks = f"{CHART}.getModel().getComponent('xAxis', 1).axis.getViewLabels().map((one) => one.formattedLabel)"
    assert page.inner_text("#zone") == "UTC+1"
    assert "14:00:00" in failed.inner_text()
    local = page.evaluate(ticks)
    page.press("#zone", "Enter")
    assert page.inner_text("#zone") == "UTC"
    assert "13:00:00" in failed.inner_text()
    assert failed.get_attribute("datetime").startswith("2026-03-07T13:00:00")
    places = f"{CHART}.getModel().getComponent('xAxis', 1).axis.getTicksCoords().map((one) => one.tickValue)"
    assert page.evaluate(f"{CHART}.getOption().useUTC") is True
    assert any(value % 86_400_000 == 0 for value in page.evaluate(places)), "midnight in UTC"
    assert local
    page.reload()
    page.wait_for_selector(".findings time")
    assert page.inner_text("#zone") == "UTC"
    assert "13:00:00" in failed.inner_text()
    page.press("#zone", "Enter")
    assert "14:00:00" in failed.inner_text()


def test_a_trace_shows_milliseconds(page, bursts):
    page.goto(f"{bursts}/call?id=03-crm-0")
    page.wait_for_selector("main time[data-done]")
    assert "06:00:00.123" in page.locator("main time").first.inner_text()
    page.goto(f"{bursts}/calls?{WINDOW}&tool=crm")
    page.wait_for_selector("#newest time[data-done]")
    assert "." not in page.locator("#newest time").first.inner_text()


def test_a_narrow_window_offers_to_zoom_to_its_calls(chart):
    page = chart(query="since=2026-03-07&until=2026-03-27")
    page.locator(".drag button").press("Enter")
    page.wait_for_url("**since=2026-03-07T*")
    since, to = (datetime.fromisoformat(address(page)[1][name]) for name in ("since", "until"))
    assert since <= SECOND < to <= since + timedelta(days=2)


@pytest.mark.parametrize(("width", "language"), covering([390, 1440], ["en", "zh"]))
def test_the_controls_fit_the_screen(chart, width, language):
    page = chart(query=f"{WINDOW}&lang={language}")
    page.set_viewport_size({"width": width, "height": 900})
    page.click("details.range summary")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    form = page.locator(".range form").bounding_box()
    assert form["x"] >= 0
    assert form["x"] + form["width"] <= width
    page.set_viewport_size(SCREEN)


def test_an_empty_store_has_the_controls_and_no_chart(page, tmp_path):
    with running(Site.of(create_empty_store(tmp_path / "empty.duckdb"), host="127.0.0.1")) as server:
        page.goto(server)
        page.wait_for_selector(".empty", state="attached")
        assert page.locator("figure[data-chart]").count() == 0
        assert page.get_by_role("link", name="Earlier").count() == 1
        page.goto("about:blank")  # a request of a page whose server has stopped is an error


def test_an_invalid_range_is_reported_and_has_no_steps(bursts):
    with httpx.Client(base_url=bursts, timeout=None) as client:
        page = client.get("/", params={"since": "soon"})
        assert page.status_code == 200
        assert 'class="windows steps"' not in page.text
        assert client.get("/tiles", params={"since": "soon"}).status_code == 400


@pytest.mark.parametrize(
    ("oldest_days", "address", "sentence"),
    [
        (2, {"since": "7d"}, "Since the first record: "),
        (20, {"since": "7d"}, "The last 7 days: since "),
        (20, {"since": "all"}, "Since the first record: "),
        (20, {"since": "24h", "lang": "zh"}, "自 "),
    ],
)
def test_every_page_with_a_time_range_states_it(shown, oldest_days, address, sentence):
    now = datetime.now(UTC)
    client = shown(call(started_at=now - timedelta(days=oldest_days), span_id="1" * 16), call(started_at=now))
    assert 'hx-get="/window?since=7d"' in client.get("/").text
    assert client.get("/window", params=address).text.startswith(sentence)


@pytest.mark.parametrize(
    ("oldest_days", "since", "begins_days"), [(2, "7d", 2), (20, "7d", 7), (2, "24h", 1), (2, "30d", 30)]
)
def test_charts_begin_where_the_page_says(shown, oldest_days, since, begins_days):
    """At the first record where the history is shorter than the default window, whose end stays now."""
    now = datetime.now(UTC)
    client = shown(call(started_at=now - timedelta(days=oldest_days), span_id="1" * 16), call(started_at=now))
    panel = client.get("/panel/timeline", params={"since": since, "by": "none", "chart": "timeline", "parts": 60}).text
    sparks = client.get("/data/timeline", params={"since": since, "by": "tool", "parts": 40}).json()
    histogram = client.get("/calls/counts", params={"since": since}).text
    axis = re.search(r'class="axis">(.*?)</p>', histogram, re.DOTALL)[1]
    for begin, end in (
        (re.search(r'data-since="([^"]+)"', panel)[1], re.search(r'data-until="([^"]+)"', panel)[1]),
        (sparks["since"], sparks["until"]),
        re.findall(r'datetime="([^"]+)"', axis),
    ):
        begin, end = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (begin, end))
        assert abs(begin - (now - timedelta(days=begins_days))) < timedelta(hours=1)
        assert abs(end - now) < timedelta(hours=1)
