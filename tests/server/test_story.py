"""A reader finds which tool broke, since when, with which version and with which message, within the first screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from benchmarks.story import (
    BROKEN_CODE,
    BROKEN_MESSAGE,
    BROKEN_TOOL,
    BROKEN_VERSION,
    LAST_VERSION,
    SLOW_TOOL,
    make_story,
)
from tests.waiting import until_page as until
from tooltrace.server import diagnosis
from tooltrace.server.site import Site

from .conftest import running

DESK, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def story_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, datetime]]:
    """The address of a server over the story, and when the tool broke."""
    store = tmp_path_factory.mktemp("story") / "story.duckdb"
    broken_at = make_story(Path(store))
    with running(Site.of(store, host="127.0.0.1")) as address:
        yield address, broken_at


def on_screen(page, selector: str) -> str:
    """The text of what matches and is completely within the window, without scrolling."""
    return page.evaluate(
        """selector => [...document.querySelectorAll(selector)].filter(one => {
            const box = one.getBoundingClientRect();
            return box.width && box.top >= 0 && box.bottom <= innerHeight && box.left >= 0 && box.right <= innerWidth;
        }).map(one => one.innerText).join('\\n')""",
        selector,
    )


@pytest.mark.end_to_end
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_first_screen_says_which_tool_since_when_which_version_and_which_message(page, story_server, language):
    address, broken_at = story_server
    page.set_viewport_size(DESK)
    page.goto(f"{address}/?lang={language}")
    page.wait_for_selector(".verdict-box")
    text = on_screen(page, ".verdict-box")
    for fact in (BROKEN_TOOL, BROKEN_VERSION, BROKEN_CODE, BROKEN_MESSAGE, LAST_VERSION):
        assert fact in text, fact
    since = datetime.fromisoformat(page.locator(".findings time").first.get_attribute("datetime"))
    assert abs((since.replace(tzinfo=None) - broken_at).total_seconds()) < 3600
    page.wait_for_selector("table.ranking td.spark svg")
    rows = on_screen(page, "table.ranking tbody tr").splitlines()
    assert rows[0].startswith(BROKEN_TOOL), "the broken tool is first, not the slow one"
    assert BROKEN_MESSAGE in on_screen(page, "table.ranking tbody tr:first-child")


def test_the_phone_keeps_tool_rate_and_message(page, story_server):
    page.set_viewport_size(PHONE)
    page.goto(story_server[0])
    page.wait_for_selector("table.ranking")
    page.locator("table.ranking").first.scroll_into_view_if_needed()
    row = page.locator("table.ranking tbody tr").first
    assert row.locator("a", has_text=BROKEN_TOOL).is_visible()
    assert row.locator("td.rate").is_visible()
    assert row.locator("q.message").is_visible()
    assert page.evaluate("document.querySelector('table.ranking').scrollWidth <= innerWidth")
    page.set_viewport_size(DESK)


def test_tables_sort_by_each_header_with_the_keyboard_and_the_address_keeps_it(page, story_server):
    page.set_viewport_size(DESK)
    page.goto(story_server[0])
    page.wait_for_selector("table.ranking .sorter")
    header = page.locator("table.ranking[data-sort=tools] th[data-key=hurt_ms]")
    header.locator("button").focus()
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "descending"
    tools = "[...document.querySelectorAll('table.ranking[data-sort=tools] tbody th a')].map(one => one.textContent)"
    assert page.evaluate(tools)[0] == SLOW_TOOL
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    assert page.evaluate(tools)[-1] == SLOW_TOOL
    assert parse_qs(urlsplit(page.url).query)["sort.tools"] == ["hurt_ms"]
    page.reload()
    page.wait_for_selector("table.ranking th[aria-sort=ascending]")
    assert page.evaluate(tools)[-1] == SLOW_TOOL
    page.locator("table.ranking[data-sort=tools] th[data-key=tool] button").click()
    found = page.evaluate(tools)
    assert found == sorted(found)


def test_the_tool_page_has_the_verdict_and_folds_what_is_not_recorded(page, story_server):
    page.set_viewport_size(DESK)
    page.goto(f"{story_server[0]}/tool?name={BROKEN_TOOL}")
    page.wait_for_selector(".verdict-box")
    assert BROKEN_MESSAGE in on_screen(page, ".verdict-box")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_selector(".missing")
    until(page, "document.querySelectorAll('.missing li').length === 6")
    titles = page.evaluate("[...document.querySelectorAll('.panel h2')].map(one => one.textContent)")
    assert not {"Confidence bands", "Confidence thresholds", "Sources", "Human approvals"} & set(titles)
    links = page.eval_on_selector_all(".missing li a", "all => all.map(one => one.href)")
    docs = Path(__file__).parents[2] / "docs"
    for link in links:
        path, _, anchor = link.partition("/docs/")[2].partition("#")
        heading = {
            re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-")
            for line in (docs / path).read_text().splitlines()
            if line.startswith("#")
        }
        assert not anchor or anchor in heading, link


def test_one_diagnosis_feeds_the_findings_the_table_of_tools_and_the_marks(story_server, monkeypatch):
    """All parts of the overview and of a tool's page say the same list, which is computed once."""
    computed: list[object] = []
    real = diagnosis.diagnose_in
    monkeypatch.setattr(diagnosis, "diagnose_in", lambda *args, **named: computed.append(args) or real(*args, **named))
    with httpx.Client(base_url=story_server[0], timeout=None) as client:
        for path in ("/?since=6d", f"/tool?name={BROKEN_TOOL}&since=6d"):
            text = client.get(path).text.replace("&amp;", "&")
            parts = [
                found
                for part in ("verdict", "tools", "panel/timeline")
                for found in re.findall(rf'hx-get="(/{part}\?[^"]+)"', text)
            ]
            marks = parse_qs(urlsplit(parts[-1]).query)["marks"][0]
            answers = [client.get(address).raise_for_status().text for address in (marks, *parts[:-1])]
            assert all(BROKEN_TOOL in answer for answer in answers), path
    assert len(computed) <= 1


@pytest.mark.long
def test_nothing_wrong_says_how_much_was_seen_and_when_the_last_call_came(story_server):
    before = httpx.get(f"{story_server[0]}/verdict?since=28d&until=5d&tool={BROKEN_TOOL}", timeout=None).text
    assert "verdict-box fine" in before
    assert re.search(r"Nothing unusual: .*finished calls of .*the last at <time", before, re.DOTALL)
    assert "verdict-box empty" in httpx.get(f"{story_server[0]}/verdict?since=1000d&until=900d", timeout=None).text


def test_the_chart_of_a_tool_names_the_versions_in_its_legend_and_the_axis_of_durations_has_no_jump(page, story_server):
    page.set_viewport_size(DESK)
    page.goto(f"{story_server[0]}/tool?name={BROKEN_TOOL}")
    page.wait_for_selector("figure[data-chart=timeline] canvas")
    chart = "echarts.getInstanceByDom(document.querySelector('figure[data-chart={}] .canvas')).getOption()"
    legend = page.evaluate(f"{chart.format('timeline')}.legend[0].data")
    assert [f"attempts failed, version {version}" for version in (LAST_VERSION, BROKEN_VERSION)] == legend[-2:]
    page.locator("section:has(> header > h2:text-is('Distribution of durations'))").scroll_into_view_if_needed()
    page.wait_for_selector("figure[data-chart=durations] canvas")
    bins = page.evaluate(f"{chart.format('durations')}.xAxis[0].data")
    assert len(bins) > 20, "ten bins for each factor of ten, from 1 ms to 400 ms"
    assert len(set(bins)) == len(bins)


def test_a_code_is_broken_after_an_underscore(page, story_server):
    page.set_viewport_size(DESK)
    page.goto(f"{story_server[0]}/tool?name={BROKEN_TOOL}")
    panel = page.locator("section:has(> header > h2:text-is('Errors'))")
    panel.scroll_into_view_if_needed()
    row = panel.locator("tbody tr").first
    row.wait_for()
    page.set_viewport_size(PHONE)
    assert row.locator("code").first.inner_text() == BROKEN_CODE
    lines = """code => { const text = [], range = document.createRange(); let top = null;
        for (const node of [...code.childNodes].filter(one => one.data)) for (let at = 0; at < node.length; at++) {
            range.setStart(node, at); range.setEnd(node, at + 1);
            const box = range.getBoundingClientRect();
            if (top === null || box.top > top + 4) text.push("");
            top = box.top; text[text.length - 1] += node.data[at]; }
        return text; }"""
    assert row.locator("code").first.evaluate(lines) in ([BROKEN_CODE], ["PERMISSION_", "DENIED"])
    page.set_viewport_size(DESK)


def test_the_times_of_the_histogram_of_calls_follow_the_zone_of_the_page(browser, story_server):
    context = browser.new_context(timezone_id="Asia/Kolkata", locale="en-GB")
    page = context.new_page()
    page.goto(f"{story_server[0]}/calls")
    page.wait_for_selector(".histogram title", state="attached")
    title = "document.querySelector('.histogram title')"
    at = datetime.fromisoformat(page.evaluate(f"{title}.dataset.at"))
    until(page, f"!{title}.textContent.includes('Z ·')")
    local = page.evaluate(f"{title}.textContent")
    assert f"{(at + timedelta(hours=5, minutes=30)):%H:%M:%S} · " in local
    page.click("#zone")
    assert f"{at:%H:%M:%S} · " in page.evaluate(f"{title}.textContent")
    context.close()


@pytest.mark.parametrize("path", ["/", f"/tool?name={BROKEN_TOOL}", "/paths"])
def test_no_table_is_wider_than_a_phone(page, story_server, path):
    page.set_viewport_size(PHONE)
    page.goto(f"{story_server[0]}{path}")
    until(
        page,
        "(() => { const part = [...document.querySelectorAll('.wait')].find(one => one.getClientRects().length);"
        " part?.scrollIntoView(); return !part && document.querySelector('table') !== null; })()",
    )
    wider = """[...document.querySelectorAll('.scroll:has(> table)')].filter(one => one.scrollWidth > one.clientWidth + 1)
        .map(one => one.getAttribute('aria-label'))"""
    assert page.evaluate(wider) == []
    page.set_viewport_size(DESK)
