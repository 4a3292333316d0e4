"""The list of conversations and the search page: filters, order, marks of loops, hits; the state is in the address."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.grids import covering
from tests.stores import create_empty_store
from tests.waiting import until_page as until
from tooltrace.core.records import Outcome
from tooltrace.server.conversation_list import PAGE, loop_mark_id
from tooltrace.server.list_state import ConversationListState
from tooltrace.server.site import Site

from .conftest import call, running, write
from .test_browser import AXE, SERIOUS
from .test_hostile import NASTY, Parsed

TALKS = 60


def ago(minutes: float) -> datetime:
    return datetime.now(UTC) - timedelta(minutes=minutes)


def history():
    """Conversations "talk 0" to "talk 59", an hour apart, of which some failed, were labelled or had a loop."""
    for n in range(TALKS):
        known: dict[str, Any] = {"conversation_id": f"talk {n}", "agent": "clerk" if n % 2 else "scout"}
        for step in range(1 + n % 3):
            yield call(tool="fetch", started_at=ago(60 * n + 30 - step), arguments=f'{{"order":"A-{n}"}}', **known)
        if n % 5 == 0:
            yield call(
                tool="refund", started_at=ago(60 * n + 20), status="error", code="TIMEOUT",
                error_message=f"no <i>answer</i> for {n}", **known,
            )  # fmt: skip
        if n in (3, 4):
            yield Outcome(
                call_id=None, conversation_id=f"talk {n}", target_kind="conversation", correct=n == 3, labeler="ann",
                labeled_at=ago(0),
            )  # fmt: skip
    for conversation, minutes in (("talk 0", 0), ("talk 7", 7 * 60)):
        for n in range(4):
            yield call(
                tool="search", conversation_id=conversation, agent="scout", arguments='{"q":"tea"}', text="nothing",
                started_at=ago(minutes) + timedelta(seconds=n),
            )  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("talks") / "talks.duckdb"
    write(create_empty_store(store), *history())
    return store


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    with running(Site.of(store, host="127.0.0.1")) as address:
        yield address


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=None) as client:
        yield client


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a server over conversations whose names, tools and texts are hostile, and each of which has a loop."""
    store = tmp_path_factory.mktemp("hostile") / "hostile.duckdb"
    records = [
        call(
            tool=text, conversation_id=text, agent=text, code=text, error_message=text, text=text, status="error",
            started_at=ago(number), arguments='{"q":1}', result='"same"',
        )
        for text in NASTY
        for number in (1, 2, 3)
    ]  # fmt: skip
    write(create_empty_store(store), *records)
    with running(Site.of(store, host="127.0.0.1")) as address, httpx.Client(base_url=address, timeout=None) as client:
        yield client


def talks(client: httpx.Client, **params: Any) -> list[str]:
    text = client.get("/conversations/rows", params={"since": "all", **params}).text
    return re.findall(r'<th scope="row".*?<a [^>]*>(.*?)</a>', text)


def hits(client: httpx.Client, **params: Any) -> list[tuple[str, ...]]:
    """Text before, in and after each mark."""
    text = client.get("/find/hits", params={"since": "all", **params}).text
    found = re.findall(r'class="around"><span[^>]*>.*?</span> (.*?)<mark>(.*?)</mark>(.*?)</p>', text, re.DOTALL)
    return [tuple(html.unescape(part) for part in hit) for hit in found]


def test_conversations_are_listed_with_the_newest_first(client):
    listed = talks(client)
    assert listed == [f"talk {n}" for n in range(PAGE)]
    text = client.get("/conversations/rows").text
    assert 'href="/conversation/talk%200"' in text
    assert "no &lt;i&gt;answer&lt;/i&gt; for 0" in text


def test_the_next_page_begins_after_the_last_row(client):
    text = client.get("/conversations/rows", params={"since": "all"}).text
    more = html.unescape(re.search(r'<button type="button" hx-get="([^"]+)"', text)[1])
    assert re.findall(r">(talk \d+)<", client.get(more).text) == [f"talk {n}" for n in range(PAGE, TALKS)]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"agent": "clerk", "since": "230m"}, [1, 3]),
        ({"outcome": "right"}, [3]),
        ({"outcome": "wrong"}, [4]),
        ({"tool": "search"}, [0, 7]),
        ({"code": "TIMEOUT", "since": "400m"}, [0, 5]),
        ({"text": "A-17"}, [17]),
        ({"tool": "refund", "text": "for 10"}, [10]),
        ({"text": "nothing"}, [0, 7]),
        ({"loop": "any"}, [0, 7]),
        ({"loop": "running"}, [0]),
        ({"loop": "any", "agent": "clerk"}, [7]),
        ({"loop": "any", "outcome": "right"}, []),
    ],
)
def test_a_filter_keeps_the_conversations_that_match(client, filters, expected):
    assert talks(client, **filters) == [f"talk {n}" for n in expected]


def test_a_click_on_a_head_sorts_and_another_click_reverses(client):
    text = client.get("/conversations", params={"since": "all", "tool": "refund"}).text
    first = html.unescape(re.search(r'class="c-failed num" aria-sort="none"><a href="([^"]+)"', text)[1])
    assert parse_qs(urlsplit(first).query) == {"tool": ["refund"], "sort": ["-failed"], "since": ["all"]}
    text = client.get(first).text
    assert 'class="c-failed num" aria-sort="descending"' in text
    assert "sort=failed" in re.search(r'aria-sort="descending"><a href="([^"]+)"', text)[1]
    assert talks(client, sort="-calls")[0] == "talk 0"
    assert talks(client, sort="started_at")[0] == f"talk {TALKS - 1}"


@pytest.mark.long
def test_every_filter_and_column_is_a_parameter_of_the_query(client):
    for name in ConversationListState.FILTERS:
        value = ConversationListState.CHOICES.get(name, ("none",))[0]
        assert client.get("/conversations/rows", params={name: value}).status_code == 200, name
    for column in ConversationListState.SORTABLE:
        assert len(talks(client, sort=column)) == PAGE, column


@pytest.mark.parametrize("params", [{"outcome": "maybe"}, {"loop": "yes"}, {"sort": "score"}])
def test_a_wrong_value_in_the_address_is_refused(client, params):
    answer = client.get("/conversations", params=params)
    assert answer.status_code == 400
    assert "must be" in answer.text


def test_the_state_is_in_the_fields_and_a_chip_removes_one_filter(client):
    text = client.get("/conversations", params={"agent": "clerk", "outcome": "wrong", "since": "24h"}).text
    assert '<input name="agent" value="clerk"' in text
    assert '<option value="wrong" selected>' in text
    chips = text.partition('<ul class="chips"')[2].partition("</ul>")[0]
    links = {html.unescape(link) for link in re.findall(r'href="([^"]+)"', chips)}
    assert links == {
        "/conversations?outcome=wrong&since=24h", "/conversations?agent=clerk&since=24h", "/conversations?since=24h"
    }  # fmt: skip
    assert "goal missed" in chips


def test_the_page_of_a_conversation_leads_back_to_the_list_with_its_filters(client):
    text = client.get("/conversations/rows", params={"tool": "search", "since": "24h"}).text
    to = html.unescape(re.search(r'href="(/conversation/talk%200[^"]*)"', text)[1])
    crumbs = client.get(to).text.partition('<nav class="crumbs"')[2].partition("</nav>")[0]
    back = html.unescape(re.search(r'href="(/conversations[^"]*)"', crumbs)[1])
    assert parse_qs(urlsplit(back).query) == {"tool": ["search"], "since": ["24h"]}
    assert "talk 0" in crumbs


def test_conversations_in_a_loop_are_marked_and_those_that_run_differ(client):
    text = client.get("/conversations/loops", params={"since": "all"}).text
    assert re.findall(r'hx-target="#([^"]+)"', text) == [loop_mark_id("talk 0"), loop_mark_id("talk 7")]
    running, past = text.split("</hx-partial>")[:2]
    assert "in-loop running" in running
    assert "4 equal calls of" in running
    assert "running" not in past
    listed = client.get("/conversations/rows", params={"since": "all"}).text
    assert f'id="{loop_mark_id("talk 7")}"' in listed
    assert client.get("/conversations/loops", params={"since": "all", "tool": "refund", "code": "x"}).text.strip() == ""


def test_new_conversations_are_counted_and_an_unchanged_store_says_nothing(client):
    text = client.get("/conversations/rows", params={"since": "all", "agent": "clerk"}).text
    news = html.unescape(re.search(r'id="arrivals" role="status" hx-get="([^"]+)"', text)[1])
    assert client.get(news).status_code == 204
    params = {name: value[0] for name, value in parse_qs(urlsplit(news).query).items()}
    counted = client.get("/conversations/news", params={**params, "state": "old"})
    assert 'class="news"' not in counted.text
    earlier = {**params, "state": "old", "top": ago(60 * 4).isoformat().replace("+00:00", "Z")}
    assert "2 new" in client.get("/conversations/news", params=earlier).text, "talk 1 and talk 3 are of the agent clerk"
    assert client.get("/conversations/news", params={"top": "yesterday"}).status_code == 400


def test_an_empty_list_says_why_and_how_ids_are_recorded(client, shown):
    none = client.get("/conversations/rows", params={"agent": "nobody"}).text
    assert "No conversations match" in none
    assert "tt.context" not in none
    early = client.get("/conversations/rows", params={"since": "2001-01-01", "until": "2001-01-02"}).text
    assert "No call in this time range belongs to a conversation" in early
    assert 'tt.context(conversation_id="chat_3"' in early
    assert "found no store" in shown().get("/conversations/rows").text


def test_a_search_shows_the_text_around_each_match(client):
    assert hits(client, q="a-17") == [('{"order":"', "A-17", '"}')] * 3
    assert hits(client, q="ANSWER</i> for 5", field="error")[0] == ("no <i>", "answer</i> for 5", "")
    assert hits(client, q="A-17", field="result") == []
    assert hits(client, q="A-1", words="yes", tool="fetch") == [('{"order":"', "A-1", '"}')] * 2
    assert hits(client, q="A-17", tool="refund") == []


def test_a_hit_links_to_its_call_and_its_conversation(client):
    text = client.get("/find/hits", params={"q": "A-17", "since": "all"}).text
    span = re.search(r'href="/call\?id=(\w+)', text)[1]
    assert f'href="/conversation/talk%2017?span={span}"' in text
    assert client.get("/call", params={"id": span}).status_code == 200


def test_older_hits_follow_the_last_one(client):
    text = client.get("/find/hits", params={"q": "order", "since": "all"}).text
    more = html.unescape(re.search(r'<button type="button" hx-get="([^"]+)"', text)[1])
    spans = re.compile(r'class="hit-head"><a href="/call\?id=(\w+)')
    first, rest = spans.findall(text), spans.findall(client.get(more).text)
    assert len(first) == 50
    assert len(set(first + rest)) == len(first + rest) == 100


def test_the_search_is_in_the_address_and_its_fields(client):
    text = client.get(
        "/find", params={"q": "A-1", "field": "seen", "words": "yes", "tool": "fetch", "since": "1h"}
    ).text
    assert 'name="q" type="search" data-search required value="A-1"' in text
    assert '<option value="seen" selected>' in text
    assert 'value="yes" checked' in text
    assert 'hx-get="/find/hits?q=A-1&amp;field=seen&amp;words=yes&amp;tool=fetch&amp;since=1h"' in text
    assert client.get("/find").text.count('hx-get="/find/hits') == 0, "without a text there is nothing to search"
    for wrong in ({"field": "all"}, {"words": "no"}):
        assert client.get("/find", params={"q": "A", **wrong}).status_code == 400
    assert client.get("/find/hits").status_code == 400


def test_a_search_without_hits_offers_a_wider_one(client):
    text = client.get("/find/hits", params={"q": "no such text", "words": "yes"}).text
    assert "contains “no such text”" in text
    assert 'href="/find?q=no+such+text&amp;words=yes&amp;since=all"' in text
    assert 'href="/find?q=no+such+text&amp;since=7d"' in text


def test_the_palette_and_the_navigation_lead_to_both_pages(client):
    text = client.get("/palette", params={"find": "no such <b>", "since": "24h"}).text
    assert 'data-to="/find?q=no+such+%3Cb%3E&amp;since=24h"' in text
    assert "Search for “no such &lt;b&gt;”" in text
    assert 'data-to="/find' in client.get("/palette", params={"find": "search"}).text
    assert "Search for" not in client.get("/palette").text
    for page in ("/conversations", "/find"):
        assert f'href="{page}" aria-current="page"' in client.get(page).text
        assert f'href="{page}"' in client.get("/calls").text


def test_both_pages_are_in_chinese(client):
    chinese = {"Accept-Language": "zh"}
    assert "<h1>会话</h1>" in client.get("/conversations", headers=chinese).text
    rows = client.get("/conversations/rows", params={"outcome": "wrong"}, headers=chinese).text
    assert "未达目标" in rows
    assert "曾经循环" in client.get("/conversations/loops", params={"since": "all"}, headers=chinese).text
    assert "<h1>搜索</h1>" in client.get("/find", headers=chinese).text
    assert "参数</span>" in client.get("/find/hits", params={"q": "A-3"}, headers=chinese).text
    assert "没有尝试包含“x y z”" in client.get("/find/hits", params={"q": "x y z"}, headers=chinese).text


@pytest.mark.long
def test_hostile_text_is_escaped(hostile):
    for path, params in (
        ("/conversations/rows", {}),
        ("/conversations/loops", {}),
        *(("/find/hits", {"q": text}) for text in NASTY),
    ):
        text = hostile.get(path, params=params).text
        found = Parsed(text)
        assert found.handlers == []
        assert not found.tags & {"script", "img", "svg", "b"}, (path, params)
        assert "\u202e" not in text
        assert "\u0000" not in text
    marked = Parsed(hostile.get("/conversations/loops").text)
    assert "hx-partial" in marked.tags
    for text in NASTY:
        if "\u0000" not in text:
            assert ("", text, "") in hits(hostile, q=text, field="error"), text


@pytest.mark.parametrize(
    "path", ["/conversations/rows", "/conversations/loops", "/conversations/news", "/find/hits?q=a"]
)
def test_another_site_cannot_load_a_part(client, path):
    assert client.get(path, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_a_link_of_another_site_opens_the_pages(client):
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    for path in ("/conversations", "/find"):
        assert client.get(path, headers=link).status_code == 200
    assert client.get("/find/hits?q=a", headers=link).status_code == 403


@pytest.mark.long
def test_addresses_have_the_prefix_of_the_proxy(store):
    with running(Site.of(store, host="127.0.0.1", prefix="/trace")) as address:
        for path in ("/conversations", "/conversations/rows", "/find?q=a", "/find/hits?q=a"):
            text = httpx.get(f"{address}/trace{path}", timeout=None).text
            assert re.findall(r'(?:href|action|hx-get)="/(?!trace/|/)[^"]*"', text) == [], path


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "theme", "width"),
    covering(["/conversations?since=all", "/find?q=order&since=all"], [("light", 360), ("dark", 768), ("light", 1440)]),
)
def test_the_pages_fit_the_screen_and_nothing_is_serious_for_axe(page, address, path, theme, width):
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(address + path)
    page.wait_for_selector("#more button")
    if path.startswith("/conversations"):
        page.wait_for_selector(f"#{loop_mark_id('talk 0')} .running")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(AXE)
    assert page.evaluate(SERIOUS) == []


@pytest.mark.long
def test_more_rows_are_added_below_and_a_row_opens_its_conversation(page, address):
    page.goto(f"{address}/conversations?since=all")
    page.click("#more button")
    until(page, f"document.querySelectorAll('#listed tr').length === {TALKS}")
    page.wait_for_selector("#more .end")
    page.click("#listed tr:nth-child(2) th a")
    page.wait_for_url("**/conversation/talk%201?**")
    page.click(".crumbs a[href^='/conversations']")
    page.wait_for_url("**/conversations?since=all")


COUNTS = "[...document.querySelectorAll('#listed tr')].map(row => [row.querySelector('th a')?.textContent, row.querySelector('td.num')?.textContent])"


def listed(page, expected):
    until(page, f"JSON.stringify({COUNTS}) === '{json.dumps(expected, separators=(',', ':'))}'")


def test_the_list_is_live_and_stands_still_under_the_pointer_and_the_pause(shown, page, tmp_path):
    client = shown(call(conversation_id="first"))
    page.goto(f"{client.base_url}/conversations")
    listed(page, [["first", "1"]])
    page.mouse.move(0, 0)
    write(tmp_path / "shown.duckdb", call(conversation_id="first"))
    listed(page, [["first", "2"]])
    write(tmp_path / "shown.duckdb", call(conversation_id="second"))
    until(page, "document.querySelector('#listed tr.fresh:first-child th a')?.textContent === 'second'")
    listed(page, [["second", "1"], ["first", "2"]])
    page.hover("#listed tr td.c-tools")
    write(tmp_path / "shown.duckdb", call(conversation_id="third"), call(conversation_id="first"))
    page.wait_for_selector("#arrivals >> text=1 new")
    assert page.evaluate(COUNTS) == [["second", "1"], ["first", "2"]]
    page.click("#arrivals button")
    listed(page, [["third", "1"], ["second", "1"], ["first", "3"]])
    page.click("#pause")
    page.mouse.move(0, 0)
    write(tmp_path / "shown.duckdb", call(conversation_id="fourth"))
    page.wait_for_selector("#arrivals >> text=1 new")
    assert len(page.evaluate(COUNTS)) == 3
    page.click("#pause")
    page.mouse.move(0, 0)
    listed(page, [["fourth", "1"], ["third", "1"], ["second", "1"], ["first", "3"]])


@pytest.mark.long
def test_a_text_typed_in_the_palette_is_searched(page, address):
    page.goto(f"{address}/calls?since=all")
    page.keyboard.press("Control+k")
    page.keyboard.type("A-17 nowhere")
    page.wait_for_selector("#palette-list [data-to^='/find?q=A-17+nowhere']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/find?q=A-17+nowhere&since=all")
    page.fill("[data-search]", "A-17")
    page.press("[data-search]", "Enter")
    page.wait_for_selector("#hits mark >> nth=2")
