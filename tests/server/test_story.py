"""A reader finds which tool broke, since when, with which version and with which message, within the first screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
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
from tooltrace.server.site import Site

from .conftest import running
from .test_browser import until

pytestmark = pytest.mark.long
DESK, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, datetime]]:
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


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_first_screen_says_which_tool_since_when_which_version_and_which_message(page, told, language):
    address, broken_at = told
    page.set_viewport_size(DESK)
    page.goto(f"{address}/?lang={language}")
    page.wait_for_selector(".verdict-box")
    text = on_screen(page, ".verdict-box")
    for fact in (BROKEN_TOOL, BROKEN_VERSION, BROKEN_CODE, BROKEN_MESSAGE, LAST_VERSION, "100.0"):
        assert fact in text, fact
    since = datetime.fromisoformat(page.locator(".verdict-box time").first.get_attribute("datetime"))
    assert abs((since.replace(tzinfo=None) - broken_at).total_seconds()) < 3600
    page.wait_for_selector("table.ranking td.spark svg")
    rows = on_screen(page, "table.ranking tbody tr").splitlines()
    assert rows[0].startswith(BROKEN_TOOL), "the broken tool is first, not the slow one"
    assert BROKEN_MESSAGE in on_screen(page, "table.ranking tbody tr:first-child")


def test_the_phone_keeps_tool_rate_and_message(page, told):
    page.set_viewport_size(PHONE)
    page.goto(told[0])
    page.wait_for_selector("table.ranking")
    page.locator("table.ranking").scroll_into_view_if_needed()
    row = page.locator("table.ranking tbody tr").first
    assert row.locator("a", has_text=BROKEN_TOOL).is_visible()
    assert row.locator("td.rate").is_visible()
    assert row.locator("q.message").is_visible()
    assert page.evaluate("document.querySelector('table.ranking').scrollWidth <= innerWidth")
    page.set_viewport_size(DESK)


def test_tables_sort_by_each_header_with_the_keyboard_and_the_address_keeps_it(page, told):
    page.set_viewport_size(DESK)
    page.goto(told[0])
    page.wait_for_selector("table.ranking .sorter")
    header = page.locator("table.ranking th[data-key=hurt_ms]")
    header.locator("button").focus()
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "descending"
    tools = "[...document.querySelectorAll('table.ranking tbody th a')].map(one => one.textContent)"
    assert page.evaluate(tools)[0] == SLOW_TOOL
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    assert page.evaluate(tools)[-1] == SLOW_TOOL
    assert parse_qs(urlsplit(page.url).query)["sort.tools"] == ["hurt_ms"]
    page.reload()
    page.wait_for_selector("table.ranking th[aria-sort=ascending]")
    assert page.evaluate(tools)[-1] == SLOW_TOOL
    page.locator("table.ranking th[data-key=tool] button").click()
    found = page.evaluate(tools)
    assert found == sorted(found)


def test_the_tool_page_has_the_verdict_and_folds_what_is_not_recorded(page, told):
    page.set_viewport_size(DESK)
    page.goto(f"{told[0]}/tool?name={BROKEN_TOOL}")
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


def test_incidents_are_computed_once_for_the_verdict_the_panel_and_the_marks(told):
    """The addresses of the page have the same parameters, so that the server's cache runs one query."""
    text = httpx.get(told[0]).text.replace("&amp;", "&")
    panel = parse_qs(urlsplit(re.search(r'hx-get="(/panel/incidents[^"]+)"', text)[1]).query)
    marks = parse_qs(
        urlsplit(parse_qs(urlsplit(re.search(r'hx-get="(/panel/timeline[^"]+)"', text)[1]).query)["marks"][0]).query
    )
    assert {name: panel[name] for name in ("since", "failing")} == marks == {"since": ["7d"], "failing": ["5"]}


def test_nothing_wrong_says_how_much_was_seen_and_when_the_last_call_came(told):
    before = httpx.get(f"{told[0]}/verdict?since=28d&until=5d").text
    assert "verdict-box usual" in before
    assert re.search(r"Nothing unusual: .*calls of <strong>.*7.*the last call was at <time", before, re.DOTALL)
    assert "verdict-box empty" in httpx.get(f"{told[0]}/verdict?since=1000d&until=900d").text
